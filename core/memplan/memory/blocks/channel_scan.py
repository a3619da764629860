"""The walk from chunk to chunk of a delta rule with a decay for each channel, one step here, however many chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from memplan.architecture.linear_parts import KimiDelta
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.delta_chunks import CHUNK, chunks_of
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Tape, Tensor, given


def has_chunk_before_last(batch: int, sequence: int) -> int:
    """1 where a sequence has more than one chunk.

    >>> has_chunk_before_last(8, 64), has_chunk_before_last(8, 320)
    (0, 1)
    """
    return int(chunks_of(batch, sequence) > 1)


class ChannelSizes(NamedTuple):
    """Shapes of one call: all positions, padded, in chunks."""

    rows: tuple[Size, ...]
    chunks: Size
    second: Size
    """1 where there is a chunk before the last."""
    rest: Size
    """How many chunks are before that."""
    width: int

    @classmethod
    def of(cls, ctx: Context, spec: KimiDelta) -> ChannelSizes:
        """For the batch and the sequence of a pass."""
        chunks, second = ctx.counted(chunks_of), ctx.counted(has_chunk_before_last)
        return cls((ctx.batch, spec.heads), chunks, second, chunks - 1 - second, spec.head_dim)

    def chunked(self, *shape: Size) -> tuple[Size, ...]:
        """Of this shape for each chunk."""
        return (*self.rows, self.chunks, *shape)

    def each(self, width: Size) -> tuple[Size, ...]:
        """A value of this width for each position, in chunks."""
        return self.chunked(CHUNK, width)

    @property
    def pairs(self) -> tuple[Size, ...]:
        """A value for each channel of each pair of positions in a chunk."""
        return self.chunked(CHUNK, CHUNK, self.width)


class _Chunks:
    """What so many chunks make, one after the other."""

    def __init__(self, tape: Tape, sizes: ChannelSizes, count: Size, after_first: Size, dtype: str) -> None:
        self.tape, self.lead, self.count, self.dtype, self.width = tape, sizes.rows, count, dtype, sizes.width
        self.after_first = after_first
        """How many of them read a state that earlier ones made: all but the first of the sequence."""

    def new(self, *shape: Size, dtype: str = "fp32") -> Tensor:
        """Of this shape for each of them."""
        return self.tape.new((*self.lead, self.count, *shape), dtype)

    def row(self, dtype: str = "fp32") -> Tensor:
        """A value for each channel of each position."""
        return self.new(CHUNK, self.width, dtype=dtype)

    def square(self, dtype: str = "fp32") -> Tensor:
        """A number for each pair of positions."""
        return self.new(CHUNK, CHUNK, dtype=dtype)

    def pairs(self) -> Tensor:
        """A value for each channel of each pair of positions."""
        return self.new(CHUNK, CHUNK, self.width)

    def state(self, dtype: str = "fp32") -> Tensor:
        """A state."""
        return self.new(self.width, self.width, dtype=dtype)

    def later(self, *shape: Size, dtype: str = "fp32") -> Tensor:
        """Of this shape for each that reads a state that was made."""
        return self.tape.new((*self.lead, self.after_first, *shape), dtype)


class _Kept(NamedTuple):
    """What chunks hold for backward, in the order in which they make it."""

    start: list[Tensor | None]
    pairs: list[Tensor | None]
    """queries · keys, by far the largest."""
    values: list[Tensor | None]
    update: list[Tensor | None]
    """What the state needs."""


def scanned(tape: Tape, sizes: ChannelSizes, parts: tuple[Tensor, ...]) -> Tensor:
    """From chunk to chunk. `parts`: values, keys of corrections, queries, keys, decays, decays between positions."""
    dtype, needs = parts[0].dtype, tape.needs_grad(*parts)
    one = _Chunks(tape, sizes, 1, sizes.second, dtype)
    locals_of_loop = [one.state(dtype)]
    output = tape.new(parts[0].shape, dtype)
    triangle = tape.new((CHUNK, CHUNK), "bool")
    second = _Chunks(tape, sizes, sizes.second, sizes.second, dtype)
    groups = [_Chunks(tape, sizes, sizes.rest, sizes.rest - sizes.second, dtype), second, one]
    kept = [_forward(group, locals_of_loop, needs=needs) for group in groups]
    if not needs:
        return output
    held = [tape.keep(part, "of the walk over chunks") for part in (triangle, *parts[1:4], parts[5])]
    kept[-1].update.clear()  # what the last chunk adds to the state is read by nobody
    del locals_of_loop
    shapes = [part.shape for part in parts]

    def run(grads: list[Tensor | None]) -> Grads:
        here, back = held, _Back(tape, shapes, grads)
        back.output_of(one, kept[-1])
        back.update_of(second, kept[1])
        back.output_of(second, kept[1])
        del here
        return back.sums

    return tape.record(output, parts, run)


def _forward(chunks: _Chunks, names: list[Tensor], *, needs: bool) -> _Kept:
    """Their tensors in order. `names` are the state and what the loop's names hold until they are given anew."""
    tape, dtype, width, kept = chunks.tape, chunks.dtype, chunks.width, _Kept([], [], [], [])

    def keep(to: list[Tensor | None], *some: Tensor) -> None:
        if needs:
            to.extend(tape.keep(one, "of the walk over chunks") for one in some)

    casts = tape.autocast is not None
    opened, decayed = chunks.row(), chunks.row()
    keep(kept.start, opened, names[0])
    read = [chunks.row(dtype)] if casts else []
    if needs and casts:
        keep(kept.start, chunks.later(width, width, dtype=dtype))
    if needs:
        keep(kept.start, chunks.later(CHUNK, width, dtype=dtype))
    inter = chunks.row(dtype)
    del opened, decayed, read
    names[1:2] = [inter]
    pairs = chunks.pairs()
    keep(kept.pairs, pairs)
    weighed = chunks.pairs()
    del pairs
    summed = chunks.square()
    del weighed
    intra = chunks.square()
    names[2:3] = [intra]
    del summed
    if needs and casts:
        keep(kept.values, chunks.later(width, width, dtype=dtype))
    names[3:4] = [chunks.row(dtype)]
    names[4:5] = [chunks.row(dtype)]
    read = [chunks.square(dtype)] if casts else [intra]
    keep(kept.values, names[4], *read)
    found = [chunks.row(dtype) for _ in range(2)]
    del found, read, intra, inter
    _pass_on(chunks, names, kept, keep)
    return kept


def _pass_on(chunks: _Chunks, names: list[Tensor], kept: _Kept, keep: Callable[..., None]) -> None:
    """The state that the next chunk reads: this one's, decayed, and what this one's keys and values add."""
    left = chunks.new(chunks.width)
    keep(kept.update, left)
    passed = chunks.state()
    difference, to_the_end = chunks.row(), chunks.row()
    keep(kept.update, to_the_end)
    grown = chunks.row()
    if chunks.tape.autocast is not None:
        grown = chunks.row(chunks.dtype)
    keep(kept.update, grown)
    added = chunks.state(chunks.dtype)
    names[0] = chunks.state()
    del left, passed, difference, to_the_end, grown, added


class _Back:
    """The way back through chunks: gradients of what all of them read, each chunk's put in zeros and added.

    The last two are walked, for the peak is there. Where there are no more, the first of them needs no gradient of its
    state and lets some values go earlier than here: up to 0.5% for sequences of at most 128 positions.
    """

    def __init__(self, tape: Tape, shapes: list[tuple[Size, ...]], grads: list[Tensor | None]) -> None:
        self.tape, self.shapes, self.dtype = tape, shapes, given(grads).dtype
        self.output = [given(grads)]
        grads.clear()
        self.sums: list[Tensor | None] = [None] * len(shapes)
        self.state: list[Tensor] = []
        self.waiting: list[Tensor] = []
        """Gradients of one chunk's values, keys and decays, which wait for more."""

    def _spread(self, chunks: _Chunks, index: int, own: list[Tensor]) -> None:
        """One chunk's gradient in zeros, added to that of the chunks after it."""
        shape, dtype = self.shapes[index], self.dtype if index < 2 else "fp32"
        zeros = self.tape.new((chunks.count, *shape), dtype)
        own.clear()
        if self.sums[index] is None:
            self.sums[index] = Tensor(zeros.storage, shape, dtype)
            return
        added = self.tape.new((chunks.count, *shape), dtype)
        del zeros, added

    def output_of(self, chunks: _Chunks, kept: _Kept) -> None:
        """From the gradient of all chunks' output to those of what made one's."""
        whole = self.tape.new((chunks.count, *self.shapes[0]), self.dtype)
        if self.sums[0] is None:
            self.output[:] = [whole]
        del whole
        own, zeros = chunks.row(self.dtype), chunks.row(self.dtype)
        del zeros
        of_values, of_weights = chunks.row(self.dtype), chunks.square(self.dtype)
        if self.tape.autocast is not None:
            of_weights = chunks.square()
        if self.waiting:
            of_values = chunks.row(self.dtype)
            del self.waiting[0]
        negative = chunks.row(self.dtype)
        of_corrections, self.state[:] = [chunks.row(self.dtype)], [chunks.state(self.dtype)]
        kept.values.clear()
        self._spread(chunks, 1, of_corrections)
        del negative
        of_weights = chunks.square()
        of_pairs, of_decays = chunks.pairs(), [chunks.pairs()]
        del of_weights
        kept.pairs.clear()
        self._spread(chunks, 5, of_decays)
        queries, keys = self._of_pairs(chunks, of_pairs)
        del of_pairs
        of_read = chunks.row()
        self.state.append(chunks.state())
        self.state[:] = [chunks.state()]
        del own
        of_opened, more = chunks.row(), chunks.row()
        kept.start.clear()
        del of_read
        queries = chunks.row()
        del more
        of_opened = chunks.row()
        self._spread(chunks, 4, [of_opened])
        del of_opened
        self._spread(chunks, 0, [of_values])
        del of_values
        self._spread(chunks, 3, [keys])
        del keys
        self._spread(chunks, 2, [queries])
        self.waiting.clear()

    def _of_pairs(self, chunks: _Chunks, of_pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Of queries and keys: both as wide as their product, then summed."""
        full = [chunks.pairs(), chunks.pairs()]
        queries = chunks.row()
        full.pop()
        keys = chunks.row()
        del full, of_pairs
        return queries, keys

    def update_of(self, chunks: _Chunks, kept: _Kept) -> None:
        """From the gradient of the state that a chunk passed on."""
        of_values, of_grown = chunks.row(self.dtype), chunks.row(self.dtype)
        of_keys, of_decay = chunks.row(), chunks.row()
        del of_grown
        exponent = chunks.row()
        of_decay = chunks.row()
        del exponent
        kept.update.clear()
        self.state.append(chunks.state())
        self.waiting[:] = [of_values, of_keys, of_decay]
