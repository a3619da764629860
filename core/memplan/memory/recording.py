"""A walk recorded once, and read off for any batch and sequence that it would be the same walk for.

Which tensors a walk makes and frees, in which order, does not follow from how large they are. So the tape runs once, at
symbols instead of numbers (`symbols`), and notes what grew and shrank; for each batch and sequence the sizes are then
worked out, rounded as the allocator rounds them, and added up along the events. Where a walk does ask how large a batch
or a sequence is, the recording holds for a region, and the next region gets a recording of its own.

An amount in a recording is how many there are of each size: a whole number with binary digits for each size.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any, Generic, TypeVar

from memplan.memory.peak import Peak
from memplan.memory.recorder import AMOUNT_DIGITS, KIND_DIGITS, Recorder
from memplan.memory.storage import GRADIENTS, Level, Meter, Size, rounded
from memplan.memory.symbols import Monomial, Symbol, Symbols, digits, fullest
from memplan.memory.tape import Kept

Walk = TypeVar("Walk")


class Recording(Generic[Walk]):
    """A walk at symbols, and for which batches and sequences it holds."""

    def __init__(self, walk: Walk, symbols: Symbols, recorder: Recorder) -> None:
        self.walk, self._symbols = walk, symbols
        self._batches, self._sequences = symbols.batch.bounds, symbols.sequence.bounds
        polynomials = [symbols.polynomial(size) for size in recorder.sizes]
        self._monomials = tuple({monomial: None for one in polynomials for monomial in one})
        places = {monomial: place for place, monomial in enumerate(self._monomials)}
        self._sizes = tuple(tuple((places[one], number) for one, number in terms.items()) for terms in polynomials)
        self._constant = tuple(all(one == Monomial(0, 0, ()) for one in terms) for terms in polynomials)
        self._amounts = tuple(counts_of(amount) for amount in recorder.amounts)
        self.events = tuple(event >> KIND_DIGITS for event in recorder.events)
        self._of_kind = _by_kind(recorder.events, self.events)

    def holds(self, batch: Size, sequence: Size) -> bool:
        """Whether the walk is the same at these."""
        (low, high), (short, long) = self._batches, self._sequences
        return bool(low <= _example(batch) < high and short <= _example(sequence) < long)

    def at(self, batch: Size, sequence: Size) -> Reading:
        """Work the sizes out; at symbols they are polynomials, and not rounded where they follow from either."""
        counts = self._counts(batch, sequence)
        values = [value_of(monomial, batch, sequence, counts) for monomial in self._monomials]
        sizes = []
        for terms, constant in zip(self._sizes, self._constant, strict=True):
            size = sum([number * values[place] for place, number in terms])
            sizes.append(rounded(size) if constant or not isinstance(batch, Symbol) else size)
        if isinstance(batch, Symbol):
            batch.cut(self._batches)
            sequence.cut(self._sequences)
        return Reading(self, batch, sequence, sizes)

    def _counts(self, batch: Size, sequence: Size) -> list[Size]:
        """What is counted by rules of its own."""
        if isinstance(batch, Symbol):
            return [batch.symbols.counted(rule, numbers) for rule, numbers in self._symbols.counts]
        return [rule(batch, sequence, *numbers) for rule, numbers in self._symbols.counts]

    def changes(self, sizes: list[Size]) -> list[Size]:
        """What each event that grows adds; behind them, in reverse, what each that shrinks takes."""
        grown = [sum([number * sizes[place] for place, number in counts]) for counts in self._amounts]
        return grown + [-one for one in reversed(grown)]

    def prefix(self, kind: int, last: int) -> tuple[int, ...]:
        """Events of a kind up to one of all events, that one included."""
        positions, events = self._of_kind[kind]
        return events[: bisect_right(positions, last)]

    def shape(self, shape: tuple[Size, ...], batch: Size, sequence: Size) -> tuple[Size, ...]:
        """A shape in numbers."""
        counts, found = self._counts(batch, sequence), []
        for one in shape:
            terms = self._symbols.polynomial(one).items()
            found.append(sum(number * value_of(monomial, batch, sequence, counts) for monomial, number in terms))
        return tuple(found)


class Reading:
    """A recording at one batch and sequence."""

    __slots__ = ("_batch", "_changes", "_levels", "_recording", "_sequence", "_sizes")

    def __init__(self, recording: Recording[Any], batch: Size, sequence: Size, sizes: list[Size]) -> None:
        self._recording, self._batch, self._sequence, self._sizes = recording, batch, sequence, sizes
        self._changes = recording.changes(sizes)
        self._levels = list(accumulate(map(self._changes.__getitem__, recording.events), initial=0))

    @property
    def again(self) -> Callable[[], Reading]:
        """What reads the recording again: walks are cached, and what was added up on the way would fill memory."""
        return partial(self._recording.at, self._batch, self._sequence)

    def amount(self, amount: Size) -> Size:
        """An amount in bytes."""
        sizes = self._sizes
        return sum([number * sizes[place] for place, number in counts_of(amount)])

    def peak(self, noted: Peak) -> Peak:
        """A peak in bytes, or what was alive at a moment."""
        if noted.span is None:
            tally = tuple(self.amount(one) for one in noted.tally)
            return Peak(sum(tally), tally)
        first, last = noted.span
        within = self._levels[first : last + 1]
        if isinstance(self._batch, Symbol):
            return Peak(0, (0, 0, 0, 0), levels=self._fullest(first, within))
        total = max(within)
        at = first + within.index(total)
        return Peak(total, tuple(self._of_kind(kind, at) for kind in range(4)))

    def ledger(self, held: tuple[Kept, ...]) -> tuple[Kept, ...]:
        """What is held, with shapes in numbers and sizes in bytes."""
        shape, place = self._recording.shape, (self._batch, self._sequence)
        return tuple(
            (module, role, shape(dims, *place), dtype, self.amount(one)) for module, role, dims, dtype, one in held
        )

    def _of_kind(self, kind: int, at: int) -> Size:
        """Bytes of a kind when so many events were over."""
        return sum(map(self._changes.__getitem__, self._recording.prefix(kind, at - 1)))

    def _fullest(self, first: int, within: list[Size]) -> tuple[Level, ...]:
        events, changes, last = self._recording.events, self._changes, first + len(within) - 1
        tops = (at for at in range(first, last + 1) if at == last or changes[events[at]] < 0)
        return fullest(Level(within[at - first], self._of_kind(GRADIENTS, at)) for at in tops)


class Ledger:
    """What is held for backward, worked out when somebody asks."""

    def __init__(self, held: tuple[Kept, ...], read: Callable[[], Reading] | None = None) -> None:
        self.held, self._read = held, read

    def read(self, reading: Reading) -> Ledger:
        """The same at one batch and sequence."""
        return Ledger(self.held, reading.again)

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Iterator[Kept]:
        return iter(self._read().ledger(self.held) if self._read else self.held)


class Recordings(Generic[Walk]):
    """One walk, whatever batch and sequence: run at numbers when it is asked for once, recorded when it is again.

    A recording takes longer to make than a walk at numbers, and a small part of that to read.
    """

    def __init__(
        self, walk: Callable[[Meter, Size, Size], Walk], read: Callable[[Walk, Reading], Walk], *, asked: bool = False
    ) -> None:
        self._walk, self._read = walk, read
        self._asked = asked
        self._made: list[Recording[Walk]] = []

    def at(self, batch: Size, sequence: Size) -> Walk:
        """The walk at a batch and a sequence, which may be symbols."""
        for known in self._made:
            if known.holds(batch, sequence):
                return self._read(known.walk, known.at(batch, sequence))
        if not (self._asked or isinstance(batch, Symbol)):
            self._asked = True
            return self._walk(Meter(), batch, sequence)
        symbols, recorder = Symbols(_example(batch), _example(sequence)), Recorder()
        made = Recording(self._walk(recorder, symbols.batch, symbols.sequence), symbols, recorder)
        self._made.append(made)
        return self._read(made.walk, made.at(batch, sequence))


def _example(size: Size) -> int:
    """A number; of a symbol, the one that it stands for."""
    return size.example if isinstance(size, Symbol) else size


def value_of(monomial: Monomial, batch: Size, sequence: Size, counts: list[Size]) -> Size:
    """A monomial's value."""
    value = batch**monomial.batch_power * sequence**monomial.sequence_power
    for place in monomial.counts:
        value *= counts[place]
    return value


def counts_of(amount: int) -> tuple[tuple[int, int], ...]:
    """How many of which size."""
    return tuple(digits(amount, AMOUNT_DIGITS))


def _by_kind(events: list[int], places: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """For each kind, the positions of its events among all, and their places."""
    positions: list[list[int]] = [[] for _ in range(1 << KIND_DIGITS)]
    for at, event in enumerate(events):
        positions[event & (1 << KIND_DIGITS) - 1].append(at)
    return tuple((tuple(some), tuple(places[at] for at in some)) for some in positions)
