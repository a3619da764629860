"""Rotary positions: heads times cosines, plus heads with their halves swapped times sines."""

from __future__ import annotations

from memplan.architecture.parts import Attention
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.tape import Grads, Tape, Tensor, given


def rotary(ctx: Context, spec: Attention, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Queries and keys, turned by their positions."""
    cos, sin = ctx.cos, ctx.sin
    assert cos is not None, "the walk makes positions first"
    assert sin is not None, "the walk makes positions first"
    how = spec.rotary
    if how.spread != "no":
        shape = (1, ctx.sequence, spec.rotary_dim)
        cos, sin = ctx.tape.new(shape, cos.dtype), ctx.tape.new(shape, sin.dtype)
    if joined(spec):
        return tuple(_partly_turned(ctx, spec, one, cos, sin) for one in (q, k))  # type: ignore[return-value]
    dtypes = q.dtype, k.dtype
    if how.fp32_heads:
        q, k = op.to(ctx.tape, q, "fp32"), op.to(ctx.tape, k, "fp32")
    q, k = (_turned(ctx.tape, one, cos, sin, cast=how.fp32_products) for one in (q, k))
    if how.fp32_heads or how.fp32_tables or how.fp32_products:
        q, k = op.to(ctx.tape, q, dtypes[0]), op.to(ctx.tape, k, dtypes[1])
    return q, k


def joined(spec: Attention) -> bool:
    """Whether rotary positions turn a part of each head, which is then joined with the rest."""
    return spec.rotary_dim > 0 and (spec.rotary_dim < spec.head_dim or spec.rotary.joins)


def _turned(tape: Tape, x: Tensor, cos: Tensor, sin: Tensor, *, cast: bool = False) -> Tensor:
    straight = op.mul_by_constant(tape, op.to(tape, x, "fp32") if cast else x, cos, "cosines")
    crossed = op.rotate_half(tape, x)
    turned = op.mul_by_constant(tape, op.to(tape, crossed, "fp32") if cast else crossed, sin, "sines")
    return op.add(tape, straight, turned)


def _partly_turned(ctx: Context, spec: Attention, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The turned part and the rest are joined again, even when the rest is empty."""
    tape, width = ctx.tape, spec.rotary_dim
    if spec.rotary.spread == "each":
        cos, sin = tape.new(cos.shape, cos.dtype), tape.new(sin.shape, sin.dtype)
    head, whole = (*x.shape[:-1], width), x.shape
    rest_shape = (*x.shape[:-1], x.shape[-1] - width)
    turning, rest = Tensor(x.storage, head, x.dtype), Tensor(x.storage, rest_shape, x.dtype)
    if tape.needs_grad(x):
        for part in (turning, rest):
            tape.record(part, (x,), lambda grads: (tape.new(whole, given(grads).dtype),))
    turned = _turned(tape, turning, cos, sin)
    output = tape.new(whole, op.promoted(turned.dtype, rest.dtype))
    if tape.needs_grad(turned, rest):
        # The join's gradient is cut into views of itself.
        def run(grads: list[Tensor | None]) -> Grads:
            grad = given(grads)
            return (
                Tensor(grad.storage, head, grad.dtype),
                Tensor(grad.storage, rest_shape, grad.dtype),
            )

        tape.record(output, (turned, rest), run)
    return output
