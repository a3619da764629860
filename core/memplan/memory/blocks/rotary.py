"""Rotary positions: heads times cosines, plus heads with their halves swapped times sines."""

from __future__ import annotations

from memplan.architecture.parts import Attention
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.joining import joined as side_by_side
from memplan.memory.blocks.joining import sliced
from memplan.memory.blocks.turning import turned_as_complex, turned_in_halves
from memplan.memory.tape import Tape, Tensor


def rotary(
    ctx: Context, spec: Attention, q: Tensor, k: Tensor, held: list[Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Queries and keys, turned by their positions. What the caller holds until it returns is added to `held`."""
    cos, sin = ctx.cos, ctx.sin
    assert cos is not None, "the walk makes positions first"
    assert sin is not None, "the walk makes positions first"
    how = spec.rotary
    if how.form == "half_cosines":
        return turned_in_halves(ctx.tape, (q, k), cos, sin, sliced_first=False)
    if how.form == "complex":
        return turned_as_complex(ctx.tape, q, k, cos, together=True)
    if how.spread != "no":
        shape = (1, ctx.sequence, spec.rotary_dim)
        cos, sin = ctx.tape.new(shape, cos.dtype), ctx.tape.new(shape, sin.dtype)
    if joined(spec):
        return _partly_turned(ctx, spec, q, k, cos, sin, held)
    dtypes = q.dtype, k.dtype
    if how.fp32_heads:
        q, k = op.to(ctx.tape, q, "fp32"), op.to(ctx.tape, k, "fp32")
    q, k = (_turned(ctx.tape, one, cos, sin, cast=how.fp32_products) for one in (q, k))
    if how.fp32_heads or how.fp32_tables or how.fp32_products:
        q, k = op.to(ctx.tape, q, dtypes[0]), op.to(ctx.tape, k, dtypes[1])
    return q, k


def turned_alone(ctx: Context, x: Tensor) -> Tensor:
    """Queries or keys by themselves, turned in their own dtype and the tables'."""
    assert ctx.cos is not None, "the walk makes positions first"
    assert ctx.sin is not None, "the walk makes positions first"
    return _turned(ctx.tape, x, ctx.cos, ctx.sin)


def joined(spec: Attention) -> bool:
    """Whether rotary positions turn parts of each head, which are then joined: new tensors, head by head."""
    joins = spec.rotary.joins or spec.rotary.form == "half_cosines"
    return spec.rotary_dim > 0 and (spec.rotary_dim < spec.head_dim or joins)


def _turned(tape: Tape, x: Tensor, cos: Tensor, sin: Tensor, *, cast: bool = False) -> Tensor:
    straight = op.mul_by_constant(tape, op.to(tape, x, "fp32") if cast else x, cos, "cosines")
    return op.add(tape, straight, _crossed(tape, x, sin, cast=cast))


def _crossed(tape: Tape, x: Tensor, sin: Tensor, *, cast: bool) -> Tensor:
    halves = op.rotate_half(tape, x)
    halves = op.to(tape, halves, "fp32") if cast else halves
    return op.mul_by_constant(tape, halves, sin, "sines")


def _partly_turned(
    ctx: Context, spec: Attention, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, held: list[Tensor] | None
) -> tuple[Tensor, Tensor]:
    """The turned parts of both are made, then each is joined with its rest, even when the rest is empty."""
    parts = [(_turned_part(ctx, spec, x, cos, sin), _rest(ctx, spec, x)) for x in (q, k)]
    if held is not None:
        held += [turned for turned, _ in parts]
    results = [_joined_again(ctx.tape, *part) for part in parts]
    if spec.rotary.fp32_tables:
        return op.to(ctx.tape, results[0], q.dtype), op.to(ctx.tape, results[1], k.dtype)
    return results[0], results[1]


def _turned_part(ctx: Context, spec: Attention, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    tape = ctx.tape
    if spec.rotary.spread == "each":
        cos, sin = tape.new(cos.shape, cos.dtype), tape.new(sin.shape, sin.dtype)
    return _turned(tape, sliced(tape, x, (*x.shape[:-1], spec.rotary_dim)), cos, sin)


def _rest(ctx: Context, spec: Attention, x: Tensor) -> Tensor:
    return sliced(ctx.tape, x, (*x.shape[:-1], x.shape[-1] - spec.rotary_dim))


def _joined_again(tape: Tape, turned: Tensor, rest: Tensor) -> Tensor:
    both = op.promoted(turned.dtype, rest.dtype)
    return side_by_side(tape, (turned, op.to(tape, rest, both)))
