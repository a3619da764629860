"""The chunked form of the gated delta rule: products within chunks of 64 positions, then a walk from chunk to chunk."""

from __future__ import annotations

from typing import NamedTuple

from memplan.architecture.linear_parts import GatedDelta
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.joining import sliced
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Tape, Tensor, given

CHUNK = 64


def chunks_of(batch: int, sequence: int) -> int:
    """Chunks of one sequence of a batch.

    >>> chunks_of(8, 64), chunks_of(8, 65)
    (1, 2)
    """
    return -(-sequence // CHUNK)


class _Sizes(NamedTuple):
    """Shapes of one call: all positions, padded, in chunks."""

    rows: tuple[Size, ...]
    chunks: Size
    padded: Size

    def of(self, width: Size) -> tuple[Size, ...]:
        """A value of this width for each position, in chunks."""
        return (*self.rows, self.chunks, CHUNK, width)


def chunked_rule(
    ctx: Context, spec: GatedDelta, q: Tensor, k: Tensor, v: Tensor, beta: Tensor, decay: Tensor
) -> Tensor:
    """Queries, keys, values, learning rates and log decays to outputs in the input's dtype."""
    tape, dtype = ctx.tape, q.dtype
    heads, key_dim, value_dim = spec.value_heads, spec.key_dim, spec.value_dim
    chunks = ctx.counted(chunks_of)
    sizes = _Sizes((ctx.batch, heads), chunks, chunks * CHUNK)
    if spec.key_heads != heads:
        wide = (ctx.batch, ctx.sequence, heads, key_dim)
        q, k = op.copied(tape, q, wide), op.copied(tape, k, wide)
    q, k, v, beta, decay = (op.to(tape, one, "fp32") for one in (q, k, v, beta, decay))
    q, k = op.times(tape, _unit(tape, q)), _unit(tape, k)
    q, k, v = (
        _padded(tape, q, sizes.of(key_dim)),
        _padded(tape, k, sizes.of(key_dim)),
        _padded(tape, v, sizes.of(value_dim)),
    )
    beta, decay = _padded(tape, beta, sizes.of(1)), _padded(tape, decay, sizes.of(1))
    v_beta, k_beta = _by_row(tape, v, beta), _by_row(tape, k, beta)
    so_far = cumulated(tape, decay)
    square = sizes.of(CHUNK)
    pairwise = _pairwise(tape, so_far, square)
    system = op.mul(tape, products.matmul(tape, k_beta, k, square, "keys", "keys"), pairwise)
    intra = op.mul(tape, products.matmul(tape, q, k, square, "queries", "keys"), pairwise)
    decayed = _by_row(tape, k_beta, _exponential(tape, so_far))
    values, corrections = _solved(tape, system, v_beta), _solved(tape, system, decayed)
    held = tape.new(sizes.of(value_dim), "fp32")
    q = _by_row(tape, q, _exponential(tape, so_far))
    k = _by_row(tape, k, _exponential(tape, op.plus_constant(tape, so_far)))
    output = _scanned(tape, sizes, (intra, corrections, values, q, k), held)
    del held
    output = op.copied(tape, output)
    output = sliced(tape, output, (ctx.batch, heads, ctx.sequence, value_dim))
    result = tape.new((ctx.batch, ctx.sequence, heads, value_dim), dtype)
    if tape.needs_grad(output):
        tape.record(result, (output,), lambda grads: (tape.new(given(grads).shape, "fp32"),))
    return result


def _unit(tape: Tape, x: Tensor) -> Tensor:
    """x over its length: x * rsqrt(sum(x * x))."""
    squares = op.mul(tape, x, x, role_a="heads in fp32", role_b="heads in fp32")
    total = tape.new((*x.shape[:-1], 1), "fp32")
    if tape.needs_grad(squares):
        wide = squares.shape
        tape.record(total, (squares,), lambda grads: (Tensor(given(grads).storage, wide, "fp32"),))
    del squares
    return op.mul_by_row_scalar(tape, x, op.rsqrt(tape, op.plus_constant(tape, total)))


def _padded(tape: Tape, x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """Zeros behind the last position, to whole chunks; a copy, whose gradient is cut again."""
    return op.copied(tape, x, shape)


def _by_row(tape: Tape, x: Tensor, numbers: Tensor) -> Tensor:
    """x times one number a row; keeps both."""
    return op.mul_by_row_scalar(tape, x, numbers)


def cumulated(tape: Tape, x: Tensor) -> Tensor:
    """Sums of all positions of a chunk up to each: nothing is kept."""
    output = tape.new(x.shape, x.dtype)
    if not tape.needs_grad(x):
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        steps = [tape.new(given(grads).shape, "fp32") for _ in range(2)]
        result = tape.new(given(grads).shape, "fp32")
        del steps
        return (result,)

    return tape.record(output, (x,), run)


def _exponential(tape: Tape, x: Tensor) -> Tensor:
    return op.pointwise_by_output(tape, x, "decay")


def _pairwise(tape: Tape, so_far: Tensor, square: tuple[Size, ...]) -> Tensor:
    """exp of the differences of all pairs in a chunk, masked."""
    differences = tape.new(square, "fp32")
    if tape.needs_grad(so_far):
        narrow = so_far.shape

        def run(grads: list[Tensor | None]) -> Grads:
            negative = tape.new(given(grads).shape, "fp32")
            result = tape.new(narrow, "fp32")
            del negative
            return (result,)

        tape.record(differences, (so_far,), run)
    masked = op.times(tape, differences)
    del differences
    return _exponential(tape, masked)


def _solved(tape: Tape, system: Tensor, right: Tensor) -> Tensor:
    """A triangular system for each chunk; keeps the system and the solution."""
    output = tape.new(right.shape, "fp32")
    if not tape.needs_grad(system, right):
        return output
    kept, square, shape = (
        (tape.keep(system, "triangular system"), tape.keep(output, "solution")),
        system.shape,
        right.shape,
    )

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        grad_right = tape.new(shape, "fp32")
        product = tape.new(square, "fp32")
        negative = tape.new(square, "fp32")
        del product
        grad_system = tape.new(square, "fp32")
        del negative, held
        return grad_system, grad_right

    return tape.record(output, (system, right), run)


def _less_one(shape: tuple[Size, ...]) -> tuple[Size, ...]:
    """The same for all chunks but one."""
    return (*shape[:2], shape[2] - 1, *shape[3:])


def _scanned(tape: Tape, sizes: _Sizes, parts: tuple[Tensor, ...], output: Tensor) -> Tensor:
    """From chunk to chunk, each keeping its state and new values; one step here, however many chunks there are."""
    intra, corrections, values, q, k = parts
    state = (*sizes.rows, sizes.chunks, q.shape[-1], values.shape[-1])
    one = (*state[:2], 1, *state[3:]), (*values.shape[:2], 1, *values.shape[3:])
    passing = [tape.new(shape, "fp32") for shape in (one[0], one[1], one[1], one[0], one[0], one[0])]
    del passing  # of one chunk: its states, old and new, and its values
    if not tape.holding or not tape.needs_grad(*parts):
        states, new_values = tape.new(one[0], "fp32"), tape.new(one[1], "fp32")
    else:
        states, new_values = tape.new(state, "fp32"), tape.new(values.shape, "fp32")
    if not tape.needs_grad(*parts):
        return output
    read: tuple[Tensor, ...] = (states, new_values, intra, corrections, q, k)
    if tape.autocast is not None:  # products read casts, of states and new values one for each use
        every, later = (states, states, new_values, intra), (new_values, corrections, q, k)
        shapes = [one.shape for one in every] + [_less_one(one.shape) for one in later]  # the first state is zero
        read = (tape.new(_less_one(state), "fp32"), *(tape.new(shape, tape.autocast) for shape in shapes))
    kept = [tape.keep(one, "of the walk over chunks") for one in read]
    del read
    whole = [part.shape for part in parts]

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        results = [tape.new(shape, "fp32") for shape in whole]
        adding = [tape.new(whole[0], "fp32") for _ in range(2)]  # a chunk's gradient in zeros, and the new sum
        del adding, held
        return tuple(results)

    return tape.record(output, parts, run)
