"""Mamba 2's scan as transformers runs it without fused kernels: products within chunks of positions, in fp32.

Source: transformers 5.24, models/mamba2/modeling_mamba2.py (mamba2_chunk_scan), the same in every family that has it.
"""

from __future__ import annotations

from typing import NamedTuple

from memplan.architecture.linear_parts import Mamba2
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.gating import clamped
from memplan.memory.blocks.joining import sliced
from memplan.memory.norms import as_tensor
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Tape, Tensor, given


def chunks_of(batch: int, sequence: int, chunk: int) -> int:
    """Chunks of one sequence of a batch.

    >>> chunks_of(8, 256, 256), chunks_of(8, 257, 256)
    (1, 2)
    """
    return -(-sequence // chunk)


def chunk_pairs_of(batch: int, sequence: int, chunk: int) -> int:
    """Pairs of a sequence's chunks, with the state before the first among them.

    >>> chunk_pairs_of(8, 512, 256)
    9
    """
    chunks = chunks_of(batch, sequence, chunk) + 1
    return chunks * chunks


class _Sizes(NamedTuple):
    """Shapes of one call."""

    batch: Size
    sequence: Size
    heads: int
    chunk: int
    chunks: Size
    pairs: Size

    def rows(self, *width: Size) -> tuple[Size, ...]:
        """A value of this width for each position and head."""
        return (self.batch, self.sequence, self.heads, *width)

    def padded(self, *width: Size) -> tuple[Size, ...]:
        """The same in whole chunks."""
        return (self.batch, self.chunks * self.chunk, self.heads, *width)

    def square(self) -> tuple[Size, ...]:
        """A number for each pair of positions in each chunk."""
        return self.padded(self.chunk)

    def states(self, more: int, width: int, state: int) -> tuple[Size, ...]:
        """A state for each chunk and head."""
        return (self.batch, self.chunks + more, self.heads, width, state)


def chunk_scan(ctx: Context, spec: Mamba2, parts: tuple[Tensor, Tensor, Tensor], dt: Tensor, rate: Tensor) -> Tensor:
    """Heads, inputs and outputs of the state (B and C), time steps and log decays to outputs in fp32."""
    tape, width = ctx.tape, spec.head_dim
    chunks, pairs = ctx.counted(chunks_of, spec.chunk), ctx.counted(chunk_pairs_of, spec.chunk)
    sizes = _Sizes(ctx.batch, ctx.sequence, spec.heads, spec.chunk, chunks, pairs)
    dt = _time_steps(ctx, spec, dt)
    x = op.to(tape, op.view(parts[0], sizes.rows(width)), "fp32")
    b, c = _repeated(tape, spec, sizes, parts[1]), _repeated(tape, spec, sizes, parts[2])
    skipped = _skipped(ctx, spec, x, sizes)
    x, decay, b, c = _in_chunks(tape, sizes, x, b, c, dt, rate)
    output, held = _chunks(tape, spec, sizes, (x, decay, b, c))
    output = op.add(tape, op.view(output, skipped.shape), skipped)
    del held, x, decay, b, c, skipped
    return sliced(tape, output, sizes.rows(width))


def _time_steps(ctx: Context, spec: Mamba2, dt: Tensor) -> Tensor:
    """softplus(dt + bias), clamped."""
    tape = ctx.tape
    bias = ctx.parameter(f"{spec.name}.dt_bias", (spec.heads,))
    dt = op.plus_row(tape, dt, bias if bias.dtype == dt.dtype else as_tensor(tape, bias, dt.dtype))
    if tape.autocast is not None:
        dt = op.to(tape, dt, "fp32")
    return clamped(tape, op.pointwise(tape, dt, "softplus input"), sides=2)


def _repeated(tape: Tape, spec: Mamba2, sizes: _Sizes, x: Tensor) -> Tensor:
    """In fp32, a group's values for each of its heads."""
    x = op.to(tape, op.view(x, (sizes.batch, sizes.sequence, spec.groups, spec.state_size)), "fp32")
    return op.copied(tape, x, sizes.rows(spec.state_size))


def _skipped(ctx: Context, spec: Mamba2, x: Tensor, sizes: _Sizes) -> Tensor:
    """D * x, in whole chunks."""
    skip = ctx.parameter(f"{spec.name}.D", (spec.heads,))
    return op.scale(ctx.tape, op.copied(ctx.tape, x, sizes.padded(spec.head_dim)), skip)


def _in_chunks(
    tape: Tape, sizes: _Sizes, x: Tensor, b: Tensor, c: Tensor, dt: Tensor, rate: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x * dt, rate * dt, B and C, padded to whole chunks: each a copy, made before what they are of goes."""
    x = op.mul_by_row_scalar(tape, x, op.to(tape, op.view(dt, sizes.rows(1)), "fp32"))
    decay = op.scale(tape, op.to(tape, dt, "fp32"), rate)
    padded = [op.copied(tape, one, sizes.padded(*one.shape[3:])) for one in (x, decay, b, c)]
    return padded[0], padded[1], padded[2], padded[3]


def _chunks(
    tape: Tape, spec: Mamba2, sizes: _Sizes, parts: tuple[Tensor, Tensor, Tensor, Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """What chunks make of their own positions and of the states before them; and the locals of the function."""
    x, decay, b, c = parts
    width, state = spec.head_dim, spec.state_size
    so_far = _cumulated(tape, decay)
    within = _decays(tape, decay, sizes.square(), (sizes.chunk, sizes.chunk))
    scores = products.matmul(tape, c, b, sizes.square(), "C", "B", copies=(True, True))
    weights = op.mul(tape, scores, within, role_a="C · B", role_b="decay")
    diagonal = _product(tape, weights, x, sizes.padded(width), ("weights", "heads"), (False, True))
    left = op.pointwise_by_output(
        tape, _to_the_end(tape, so_far, (sizes.batch, sizes.heads, sizes.chunks)), "decay to the end"
    )
    b_decayed = op.mul_by_row_scalar(tape, b, op.view(left, sizes.padded(1)))
    states = _product(tape, x, b_decayed, sizes.states(0, width, state), ("heads", "decayed B"), (True, True))
    first = tape.new((sizes.batch, 1, sizes.heads, width, state), "fp32")
    states = _with_first(tape, states, sizes.states(1, width, state))
    between = _decays(tape, _last_of(tape, so_far, sizes), (sizes.batch, sizes.heads, sizes.pairs), (sizes.pairs,))
    new_states = _product(tape, between, states, states.shape, ("decay", "states"), (False, True))
    states = sliced(tape, new_states, sizes.states(0, width, state))
    opened = op.pointwise_by_output(tape, so_far, "decay from the start")
    read = _product(tape, c, states, sizes.padded(width), ("C", "states"), (True, True))
    before = op.mul_by_row_scalar(tape, read, op.view(opened, sizes.padded(1)))
    output = op.copied(tape, op.add(tape, diagonal, before))
    return output, [so_far, within, scores, weights, diagonal, left, b_decayed, first, new_states, opened, read, before]


def _product(
    tape: Tape,
    a: Tensor,
    b: Tensor,
    shape: tuple[Size, ...],
    roles: tuple[str, str],
    copies: tuple[bool, bool],
) -> Tensor:
    """A product whose gradient comes position by position, and is put in order head by head."""
    return op.view_with_copied_gradient(tape, products.matmul(tape, a, b, shape, *roles, copies=copies), shape)


def _cumulated(tape: Tape, x: Tensor) -> Tensor:
    output = tape.new(x.shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    return tape.record(output, (x,), lambda grads: (_cumulated_back(tape, given(grads)),))


def _cumulated_back(tape: Tape, grad: Tensor) -> Tensor:
    """Flipped, summed up, flipped again."""
    steps = [tape.new(grad.shape, grad.dtype) for _ in range(2)]
    result = tape.new(grad.shape, grad.dtype)
    del steps
    return result


def _decays(tape: Tape, decay: Tensor, pairs: tuple[Size, ...], mask: tuple[Size, ...]) -> Tensor:
    """exp of the decays summed up between each two positions: spread out, masked, summed up, masked again."""
    spread_out = op.spread(tape, decay, pairs)
    masks = [tape.new(mask, "bool")]
    entered = _masked(tape, spread_out, mask)
    sums = _cumulated(tape, entered)
    masks = [tape.new(mask, "bool")]
    sums = _masked(tape, sums, mask)
    del masks, entered, spread_out
    return op.pointwise_by_output(tape, sums, "decay")


def _masked(tape: Tape, x: Tensor, mask: tuple[Size, ...]) -> Tensor:
    """x where a triangle lets it be; keeps the triangle."""
    triangle = tape.new(mask, "bool")
    return op.mul_by_constant(tape, x, triangle, "triangle")


def _to_the_end(tape: Tape, so_far: Tensor, narrow: tuple[Size, ...]) -> Tensor:
    """The last sum of each chunk minus each."""
    last = sliced(tape, so_far, narrow)
    output = tape.new(so_far.shape, so_far.dtype)
    if not tape.needs_grad(so_far):
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        negative = tape.new(grad.shape, grad.dtype)
        return tape.new(narrow, grad.dtype), negative

    return tape.record(output, (last, so_far), run)


def _last_of(tape: Tape, so_far: Tensor, sizes: _Sizes) -> Tensor:
    """The last sum of each chunk, with a zero before the first."""
    shape = (sizes.batch, sizes.heads, sizes.chunks)
    return op.copied(tape, sliced(tape, so_far, shape), (sizes.batch, sizes.heads, sizes.chunks + 1))


def _with_first(tape: Tape, states: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """A state of zeros before the others: a copy, whose gradient is cut again."""
    output, before = tape.new(shape, states.dtype), states.shape
    if not tape.needs_grad(states):
        return output
    return tape.record(output, (states,), lambda grads: (Tensor(given(grads).storage, before, given(grads).dtype),))
