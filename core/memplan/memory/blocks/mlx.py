"""Attention as MLX runs it in training: scores, softmax and product one after the other, whatever a plan says.

Source: mlx 0.32, the fallback of scaled_dot_product_attention and the vjp of softmax. Measured in runs of mlx-lm under
LoRA in bf16: each layer keeps 2 bytes a score, and about 6 more are alive in one layer's backward.
"""

from __future__ import annotations

from memplan.architecture.parts import Attention
from memplan.memory import products
from memplan.memory.blocks.context import Context
from memplan.memory.tape import Grads, Tape, Tensor, given


def unfused_attention(ctx: Context, spec: Attention, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Queries are grouped by the keys that they share, so keys and values are not repeated."""
    tape, square = ctx.tape, (ctx.batch, spec.heads, ctx.sequence, ctx.sequence)
    scores = products.matmul(tape, q, k, square, "queries", "keys")
    weights = _softmax(tape, scores)
    del scores
    return products.matmul(tape, weights, v, (*q.shape[:-1], v.shape[-1]), "weights", "values")


def _softmax(tape: Tape, scores: Tensor) -> Tensor:
    """Keeps its result; backward makes the product of result and gradient, and what is left of it."""
    output = tape.new(scores.shape, scores.dtype)
    if not tape.needs_grad(scores):
        return output
    kept = tape.keep(output, "softmax")

    def run(grads: list[Tensor | None]) -> Grads:
        held, grad = kept, given(grads)
        product = tape.new(grad.shape, grad.dtype)
        result = tape.new(grad.shape, grad.dtype)
        del held, product
        return (result,)

    return tape.record(output, (scores,), run)
