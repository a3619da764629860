"""The delta rule with a decay for each channel, in chunks of 64 positions: decays between all pairs of a chunk, kept.

Source: transformers 5.24, models/kimi_linear/modeling_kimi_linear.py (chunk_kimi_delta_attention).
"""

from __future__ import annotations

from memplan.architecture.linear_parts import KimiDelta
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.channel_scan import ChannelSizes, scanned
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.delta_chunks import CHUNK, cumulated
from memplan.memory.blocks.joining import sliced
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Tape, Tensor, given


def channel_rule(ctx: Context, spec: KimiDelta, parts: tuple[Tensor, ...]) -> Tensor:
    """Queries, keys, values, learning rates and log decays of each channel to outputs in the queries' dtype."""
    tape, dtype, width = ctx.tape, parts[0].dtype, spec.head_dim
    sizes = ChannelSizes.of(ctx, spec)
    q, k, v, beta, decay = (op.to(tape, op.copied(tape, one), "fp32") for one in parts)
    q, k = _unit(tape, q), _unit(tape, k)
    q = op.times(tape, op.copied(tape, q, sizes.each(width)))
    k, v, decay = (op.copied(tape, one, sizes.each(width)) for one in (k, v, decay))
    beta = op.copied(tape, beta, sizes.each(1))
    v_beta, k_beta = op.mul_by_row_scalar(tape, v, beta), op.mul_by_row_scalar(tape, k, beta)
    so_far = cumulated(tape, decay)
    del decay
    masks = [tape.new((CHUNK, CHUNK), "bool") for _ in range(2)]
    between = _between(tape, so_far, sizes.pairs, masks[1])
    attn = _system(tape, (k_beta, k, between), sizes, masks[0])
    attn, locals_of_loop = _inverted(tape, attn, sizes)
    attn = op.plus_constant(tape, attn)
    v = products.matmul(tape, attn, v_beta, sizes.each(width), "inverse", "values")
    opened = op.mul(tape, k_beta, op.pointwise_by_output(tape, so_far, "decay"), role_a="keys", role_b="decay")
    decayed = products.matmul(tape, attn, opened, sizes.each(width), "inverse", "keys")
    del opened
    output = scanned(tape, sizes, (v, decayed, q, k, so_far, between))
    output = sliced(tape, output, (ctx.batch, spec.heads, ctx.sequence, width))
    result = op.to(tape, op.copied(tape, output), dtype)
    del q, k, v, beta, v_beta, k_beta, so_far, masks, between, attn, locals_of_loop, decayed, output
    return op.view(result, (ctx.batch, ctx.sequence, spec.heads, width))


def _unit(tape: Tape, x: Tensor) -> Tensor:
    """x over its length, by a root and a quotient, which keeps both its sides."""
    squares = op.mul(tape, x, x, role_a="heads in fp32", role_b="heads in fp32")
    total = tape.new((*x.shape[:-1], 1), "fp32")
    if tape.needs_grad(squares):
        wide = squares.shape
        tape.record(total, (squares,), lambda grads: (Tensor(given(grads).storage, wide, "fp32"),))
    del squares
    return _over(tape, x, op.pointwise_by_output(tape, op.plus_constant(tape, total), "length"))


def _over(tape: Tape, x: Tensor, length: Tensor) -> Tensor:
    output = tape.new(x.shape, "fp32")
    if not tape.needs_grad(x):
        return output
    kept, shape, narrow = (tape.keep(x, "heads in fp32"), tape.keep(length, "length")), x.shape, length.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        quotient = tape.new(shape, "fp32")
        steps = [tape.new(shape, "fp32") for _ in range(4)]  # -grad * ((x / length) / length), one expression
        of_length = tape.new(narrow, "fp32")
        del steps, held
        return quotient, of_length

    return tape.record(output, (x, length), run)


def _between(tape: Tape, so_far: Tensor, pairs: tuple[Size, ...], mask: Tensor) -> Tensor:
    """exp of the differences of all pairs of a chunk's positions, for each channel, masked."""
    differences, narrow = tape.new(pairs, "fp32"), so_far.shape
    if tape.needs_grad(so_far):

        def run(grads: list[Tensor | None]) -> Grads:
            negative = tape.new(pairs, "fp32")
            results = tape.new(narrow, "fp32"), tape.new(narrow, "fp32")
            del negative
            return results

        tape.record(differences, (so_far, so_far), run)
    masked = op.mul_by_constant(tape, differences, mask, "triangle")
    del differences
    return op.pointwise_by_output(tape, masked, "decay between positions")


def _system(tape: Tape, parts: tuple[Tensor, Tensor, Tensor], sizes: ChannelSizes, mask: Tensor) -> Tensor:
    """-sum(k_beta * k * decay) for each pair of positions, masked."""
    k_beta, k, between = parts
    product = op.mul(tape, _of_pairs(tape, k_beta, k, sizes.pairs), between, role_a="keys · keys", role_b="decay")
    summed = _summed(tape, product, sizes.each(CHUNK))
    del product
    return op.times(tape, op.mul_by_constant(tape, summed, mask, "triangle"))


def _of_pairs(tape: Tape, a: Tensor, b: Tensor, pairs: tuple[Size, ...]) -> Tensor:
    """Each row of a times each row of b."""
    if not tape.needs_grad(a, b):
        return tape.new(pairs, "fp32")
    kept, shapes = (tape.keep(a, "keys"), tape.keep(b, "keys")), (a.shape, b.shape)
    output = tape.new(pairs, "fp32")

    def run(grads: list[Tensor | None]) -> Grads:
        held, full = kept, [tape.new(pairs, "fp32") for _ in range(2)]
        results = []
        for shape in shapes:
            results.append(tape.new(shape, "fp32"))
            full.pop()
        del held
        return tuple(results)

    return tape.record(output, (a, b), run)


def _summed(tape: Tape, x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """Sums whose gradient is spread out as a view."""
    output, wide = tape.new(shape, x.dtype), x.shape
    if not tape.needs_grad(x):
        return output
    return tape.record(output, (x,), lambda grads: (Tensor(given(grads).storage, wide, given(grads).dtype),))


def _inverted(tape: Tape, attn: Tensor, sizes: ChannelSizes) -> tuple[Tensor, list[Tensor]]:
    """Row by row in place, each read off those before it: what is read is copied, and the copies are kept."""
    row = rows_before = attn
    for index in range(1, CHUNK):
        line, square = sizes.chunked(index), sizes.chunked(index, index)
        row = _cut(tape, attn, line, sizes.chunked(CHUNK))
        rows_before = _cut(tape, attn, square, sizes.chunked(index, CHUNK))
        found = _summed(tape, _by_column(tape, row, rows_before), line)
        attn = _put(tape, attn, op.add(tape, row, found))
    return attn, [row, rows_before]


def _cut(tape: Tape, x: Tensor, shape: tuple[Size, ...], half_cut: tuple[Size, ...]) -> Tensor:
    """A copy of a part, cut along two axes one after the other."""
    output, whole = tape.new(shape, "fp32"), x.shape
    if not tape.needs_grad(x):
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        part = tape.new(half_cut, "fp32")
        grads.clear()
        result = tape.new(whole, "fp32")
        del part
        return (result,)

    return tape.record(output, (x,), run)


def _by_column(tape: Tape, row: Tensor, square: Tensor) -> Tensor:
    """Each column of a square times a row's numbers."""
    needs = tape.needs_grad(row, square)
    kept = (tape.keep(square, "rows before"), tape.keep(row, "row")) if needs else None
    output, narrow = tape.new(square.shape, "fp32"), row.shape
    if not needs:
        return output
    shape = square.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, full = kept, tape.new(shape, "fp32")
        of_square, of_row = tape.new(shape, "fp32"), tape.new(narrow, "fp32")
        del full, held
        return of_row, of_square

    return tape.record(output, (row, square), run)


def _put(tape: Tape, x: Tensor, row: Tensor) -> Tensor:
    """A row written in place; autograd cuts its gradient out of a copy of the whole."""
    output = Tensor(x.storage, x.shape, x.dtype)
    if not tape.needs_grad(x, row):
        return output
    whole, narrow = x.shape, row.shape

    def run(grads: list[Tensor | None]) -> Grads:
        result = tape.new(whole, "fp32")
        part, zeros = tape.new(narrow, "fp32"), tape.new(narrow, "fp32")
        del zeros
        return result, part

    return tape.record(output, (x, row), run)
