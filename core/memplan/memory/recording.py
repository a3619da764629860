"""A walk recorded once, and read off for any batch and sequence that it would be the same walk for.

Which tensors a walk makes and frees, in which order, does not follow from how large they are. So the tape runs once, at
symbols instead of numbers (`symbols`), and notes what grew and shrank; for each batch and sequence the sizes are then
worked out, rounded as the allocator rounds them, and added up at the moments that may be the fullest (`summits`). Where
a walk does ask how large a batch or a sequence is, the recording holds for a region, and the next region gets a
recording of its own.

An amount in a recording is how many there are of each size: a whole number with binary digits for each size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

from memplan.memory.peak import Peak
from memplan.memory.recorder import Recorder
from memplan.memory.storage import Meter, Size, rounded
from memplan.memory.summits import Counts, Course, Summit, counts_of
from memplan.memory.symbols import Monomial, Symbol, Symbols, fullest
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
        self._products = tuple(terms[0] if terms else (0, 0) for terms in self._sizes)  # nothing takes nothing
        self._sums = tuple((place, terms) for place, terms in enumerate(self._sizes) if len(terms) > 1)
        self.course = Course(recorder, symbols)
        self._counts_of: dict[int, Counts] = {}
        self._summits: dict[tuple[int, int], tuple[Summit, ...]] = {}

    def holds(self, batch: Size, sequence: Size) -> bool:
        """Whether the walk is the same at these."""
        (low, high), (short, long) = self._batches, self._sequences
        return bool(low <= _example(batch) < high and short <= _example(sequence) < long)

    def at(self, batch: Size, sequence: Size) -> Reading:
        """Work the sizes out; at symbols they are polynomials, and not rounded where they follow from either."""
        counts = self._counts(batch, sequence)
        values = [value_of(monomial, batch, sequence, counts) for monomial in self._monomials]
        if isinstance(batch, Symbol):
            whole = [sum([number * values[place] for place, number in terms]) for terms in self._sizes]
            batch.cut(self._batches)
            sequence.cut(self._sequences)
            sizes = [rounded(size) if constant else size for size, constant in zip(whole, self._constant, strict=True)]
            return Reading(self, batch, sequence, sizes)
        sizes = [rounded(number * values[place]) for place, number in self._products]
        for at, terms in self._sums:
            sizes[at] = rounded(sum([number * values[place] for place, number in terms]))
        return Reading(self, batch, sequence, sizes)

    def _counts(self, batch: Size, sequence: Size) -> list[Size]:
        """What is counted by rules of its own."""
        if isinstance(batch, Symbol):
            return [batch.symbols.counted(rule, numbers) for rule, numbers in self._symbols.counts]
        return [rule(batch, sequence, *numbers) for rule, numbers in self._symbols.counts]

    def counts_of(self, amount: int) -> Counts:
        """How many of which size an amount is."""
        known = self._counts_of.get(amount)
        if known is None:
            known = self._counts_of[amount] = counts_of(amount)
        return known

    def summits(self, span: tuple[int, int]) -> tuple[Summit, ...]:
        """The moments of a span that may be its fullest, whatever the sizes."""
        known = self._summits.get(span)
        if known is None:
            known = self._summits[span] = self.course.summits(*span)
        return known

    def shape(self, shape: tuple[Size, ...], batch: Size, sequence: Size) -> tuple[Size, ...]:
        """A shape in numbers."""
        counts, found = self._counts(batch, sequence), []
        for one in shape:
            terms = self._symbols.polynomial(one).items()
            found.append(sum(number * value_of(monomial, batch, sequence, counts) for monomial, number in terms))
        return tuple(found)


class Reading:
    """A recording at one batch and sequence."""

    __slots__ = ("_batch", "_recording", "_sequence", "_sizes", "again")

    def __init__(self, recording: Recording[Any], batch: Size, sequence: Size, sizes: list[Size]) -> None:
        self._recording, self._batch, self._sequence, self._sizes = recording, batch, sequence, sizes
        self.again: Callable[[], Reading] = partial(recording.at, batch, sequence)
        """What reads the recording again: walks are cached, and what was worked out on the way would fill memory."""

    def amount(self, amount: Size) -> Size:
        """An amount in bytes."""
        return self._bytes(self._recording.counts_of(amount)) if amount else 0

    def peak(self, noted: Peak) -> Peak:
        """A peak in bytes, or what was alive at a moment."""
        if noted.span is None:
            tally = tuple([self.amount(one) for one in noted.tally])
            return Peak(sum(tally), tally)
        if isinstance(self._batch, Symbol):
            return Peak(0, (0, 0, 0, 0), levels=fullest(self._recording.course.levels(*noted.span, self._sizes)))
        summits = self._recording.summits(noted.span)
        totals = [self._bytes(one.total) for one in summits]
        total = max(totals)
        return Peak(total, tuple([self._bytes(one) for one in summits[totals.index(total)].tally]))

    def ledger(self, held: tuple[Kept, ...]) -> tuple[Kept, ...]:
        """What is held, with shapes in numbers and sizes in bytes."""
        shape, place = self._recording.shape, (self._batch, self._sequence)
        return tuple(
            (module, role, shape(dims, *place), dtype, self.amount(one)) for module, role, dims, dtype, one in held
        )

    def _bytes(self, counts: Counts) -> Size:
        sizes = self._sizes
        return sum([number * sizes[place] for place, number in counts])


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
