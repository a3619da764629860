"""Differential attention (DiffLlama): two answers of the same scores, one taken off the other by a learned number."""

from __future__ import annotations

from collections.abc import Callable

from memplan.architecture.parts import Attention
from memplan.memory import norms
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.joining import joined, split
from memplan.memory.tape import Grads, Tensor, given

Scores = Callable[[Context, Attention, Tensor, Tensor, Tensor], Tensor]


def differential(ctx: Context, spec: Attention, q: Tensor, k: Tensor, v: Tensor, scores: Scores) -> Tensor:
    """(batch, heads / 2, sequence, 2 x width): each half of the values is found by all heads, and the answers of the
    second half of the heads are taken off those of the first.
    """
    tape = ctx.tape
    halves = split(tape, v, [(v.shape[0], spec.kv_heads // 2, *v.shape[2:])] * 2)
    first_values, second_values = (op.copied(tape, half, v.shape) for half in halves)
    first = scores(ctx, spec, q, k, first_values)
    weights_of_first = ctx.returned_weights
    second = scores(ctx, spec, q, k, second_values)
    both = joined(tape, (first, second))
    del first, second
    half_of_heads = (both.shape[0], spec.heads // 2, *both.shape[2:])
    kept, taken = split(tape, both, [half_of_heads] * 2)
    difference = op.subtract(tape, kept, op.scale(tape, taken, _number(ctx, spec)))
    normed = norms.norm(tape, "rms", difference, None, None)
    del weights_of_first
    return op.times(tape, normed)


def _number(ctx: Context, spec: Attention) -> Tensor:
    """The number that the second answers are multiplied by, made of four vectors as wide as a head."""
    vectors = [ctx.parameter(f"{spec.name}.{weight.name}", weight.shape) for weight in spec.vectors()]
    number = ctx.tape.new((1,), ctx.setup.unpacked_dtype)
    if not ctx.tape.needs_grad(*vectors):
        return number

    def run(grads: list[Tensor | None]) -> Grads:
        dtype = given(grads).dtype
        return tuple(ctx.tape.new(vector.shape, dtype) for vector in vectors)

    return ctx.tape.record(number, tuple(vectors), run)
