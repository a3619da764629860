"""Rotary positions written out for the two halves of what is turned, or for pairs as complex numbers."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.memory import operations as op
from memplan.memory.blocks.joining import joined, sliced, split
from memplan.memory.tape import Grads, Tape, Tensor, given


def turned_in_halves(
    tape: Tape, heads: Sequence[Tensor], cos: Tensor, sin: Tensor, *, sliced_first: bool
) -> tuple[Tensor, Tensor]:
    """first * cos - second * sin and second * cos + first * sin, joined. Slices are taken of all heads first."""
    halves = [_halves(tape, x, as_slices=sliced_first) for x in heads] if sliced_first else []
    results = []
    for index, x in enumerate(heads):
        first, second = halves[index] if halves else _halves(tape, x, as_slices=False)
        results.append(_in_halves(tape, first, second, cos, sin))
    return results[0], results[1]


def turned(tape: Tape, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x * cos + rotate_half(x) * sin."""
    straight = op.mul_by_constant(tape, x, cos, "cosines")
    crossed = op.mul_by_constant(tape, op.rotate_half(tape, x), sin, "sines")
    return op.add(tape, straight, crossed)


def _halves(tape: Tape, x: Tensor, *, as_slices: bool) -> tuple[Tensor, Tensor]:
    half = (*x.shape[:-1], x.shape[-1] // 2)
    if as_slices:
        return sliced(tape, x, half), sliced(tape, x, half)
    first, second = split(tape, x, (half, half))
    return first, second


def _in_halves(tape: Tape, first: Tensor, second: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    left = op.subtract(tape, *(op.mul_by_constant(tape, x, c, "positions") for x, c in ((first, cos), (second, sin))))
    right = op.add(tape, *(op.mul_by_constant(tape, x, c, "positions") for x, c in ((second, cos), (first, sin))))
    return joined(tape, (left, right))


def turned_as_complex(
    tape: Tape, q: Tensor, k: Tensor, angles: Tensor, *, together: bool = False
) -> tuple[Tensor, Tensor]:
    """Pairs as complex numbers, times the angles, in fp32: one after the other (DeepSeek-V2), or together (Llama 4)."""
    wide_q, wide_k = op.to(tape, q, "fp32"), op.to(tape, k, "fp32")
    if together:
        both = _times_angles(tape, wide_q, angles), _times_angles(tape, wide_k, angles)
        return op.to(tape, both[0], q.dtype), op.to(tape, both[1], k.dtype)
    turned_q = op.to(tape, _times_angles(tape, wide_q, angles), q.dtype)
    turned_k = op.to(tape, _times_angles(tape, wide_k, angles), k.dtype)
    return turned_q, turned_k


def _times_angles(tape: Tape, x: Tensor, angles: Tensor) -> Tensor:
    kept = tape.keep(angles, "positions") if tape.needs_grad(x) else None
    output = tape.new(x.shape, "fp32")
    if not tape.needs_grad(x):
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        conjugate = tape.new(angles.shape, angles.dtype)
        result = tape.new(given(grads).shape, "fp32")
        del conjugate, held
        return (result,)

    return tape.record(output, (x,), run)
