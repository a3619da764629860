"""Attention with a sink: one more score for each head, learned, that takes weight and gives nothing (GPT-OSS)."""

from __future__ import annotations

from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.joining import sliced
from memplan.memory.tape import Grads, Tensor, given


def weights_beside_sink(ctx: Context, name: str, heads: int, scores: Tensor) -> tuple[Tensor, Tensor]:
    """Softmax over scores and sink; the weights without the sink's, and the scores that the function holds."""
    tape, narrow = ctx.tape, scores.shape
    combined = beside_sink(ctx, name, heads, scores)
    shifted = less_the_largest(ctx, combined)
    del combined
    probabilities = products.softmax(tape, shifted, shifted.dtype)
    return sliced(tape, probabilities, narrow), shifted


def beside_sink(ctx: Context, name: str, heads: int, scores: Tensor) -> Tensor:
    """Scores and the sink's, joined."""
    tape = ctx.tape
    sinks = ctx.parameter(f"{name}.sinks", (heads,))
    shape = (*scores.shape[:-1], scores.shape[-1] + 1)
    dtype = op.promoted(scores.dtype, sinks.dtype)
    combined, narrow = tape.new(shape, dtype), scores.shape
    if tape.needs_grad(scores, sinks):

        def run(grads: list[Tensor | None]) -> Grads:
            grad = given(grads)
            return Tensor(grad.storage, narrow, grad.dtype), tape.new((heads,), sinks.dtype)

        tape.record(combined, (scores, sinks), run)
    return combined


def less_the_largest(ctx: Context, x: Tensor) -> Tensor:
    """Scores less the largest of each row; keeps its place."""
    tape = ctx.tape
    column = (*x.shape[:-1], 1)
    largest, places = tape.new(column, x.dtype), tape.new(column, "int64")
    if tape.needs_grad(x):
        kept, shape = tape.keep(places, "places of the largest"), x.shape

        def run(grads: list[Tensor | None]) -> Grads:
            held, dtype = kept, given(grads).dtype
            zeros = tape.new(shape, dtype)
            result = tape.new(shape, dtype)
            del zeros, held
            return (result,)

        tape.record(largest, (x,), run)
    return op.minus_row_scalar(tape, x, largest)
