"""Of the events of a recorded walk, the moments that may be the fullest, whatever the sizes turn out to be.

Memory is fullest just before something goes, and a moment is never the fullest that another one exceeds at every batch
and sequence. Few moments are left of a walk's hundreds; which of them is the fullest depends on batch and sequence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from memplan.memory.recorder import AMOUNT_DIGITS, KIND_DIGITS, Recorder
from memplan.memory.storage import BLOCK_BYTES, GRADIENTS, Level, Size
from memplan.memory.symbols import Symbols, digits, has_negative_digits

Counts: TypeAlias = "tuple[tuple[int, int], ...]"
"""How many there are of which size: (place among the sizes, number)."""

_KINDS = (1 << KIND_DIGITS) - 1


class Summit(NamedTuple):
    """A moment that may be the fullest."""

    total: Counts
    tally: tuple[Counts, ...]
    """The same by kind."""


class _Top(NamedTuple):
    """A moment before something goes."""

    tally: tuple[int, ...]
    """Amounts held, by kind."""
    polynomial: int
    """What they take before tensors are rounded up to blocks."""
    least: int
    """What they take at the least batch and sequence, without what is counted by rules."""
    inexact: int
    """The amounts of those tensors alone whose sizes may be rounded up."""


class Course:
    """What a walk held after each of its events."""

    def __init__(self, recorder: Recorder, symbols: Symbols) -> None:
        self._events, sizes = tuple(recorder.events), tuple(recorder.sizes)
        least = [symbols.least(size) for size in sizes]
        inexact = [_is_inexact(symbols, size) for size in sizes]
        self._counts = tuple(map(counts_of, recorder.amounts))
        grown: list[tuple[int, int, int, int]] = []
        for amount, counts in zip(recorder.amounts, self._counts, strict=True):
            polynomial = sum(number * sizes[place] for place, number in counts)
            low = sum(number * least[place] for place, number in counts)
            some = sum(number << AMOUNT_DIGITS * place for place, number in counts if inexact[place])
            grown.append((amount, polynomial, low, some))
        taken = (tuple(-one for one in change) for change in reversed(grown))
        self._changes: tuple[tuple[int, ...], ...] = (*grown, *taken)
        """What events that grow add; behind them, in reverse, what those that shrink take."""

    def summits(self, first: int, last: int) -> tuple[Summit, ...]:
        """From what is held after `first` events to what is held after `last`; of equal ones the first."""
        tops, kept = list(self._tops(first, last)), list[int]()
        for at in sorted(range(len(tops)), key=lambda at: -tops[at].least):  # what is reached comes after what reaches
            if not any(_reaches(tops[other], tops[at]) for other in kept):
                kept.append(at)
        fullest = (tops[at].tally for at in sorted(kept))
        return tuple(Summit(counts_of(sum(tally)), tuple(map(counts_of, tally))) for tally in fullest)

    def levels(self, first: int, last: int, sizes: list[Size]) -> Iterator[Level]:
        """What is held at every top of a span, and its gradients: bounding those makes another one the fullest."""
        grown = [sum([number * sizes[place] for place, number in counts]) for counts in self._counts]
        changes = grown + [-one for one in reversed(grown)]
        total, gradients, came = 0, 0, True
        for at, event in enumerate(self._events[:last]):
            if event < 0 and came and at >= first:
                yield Level(total, gradients)
            came = event >= 0 or at < first
            change = changes[event >> KIND_DIGITS]
            total += change
            if event & _KINDS == GRADIENTS:
                gradients += change
        yield Level(total, gradients)

    def _tops(self, first: int, last: int) -> Iterator[_Top]:
        """The moments before something goes after something came, and the last one."""
        tally, polynomial, least, inexact = [0] * (1 << KIND_DIGITS), 0, 0, 0
        changes, came = self._changes, True
        for at, event in enumerate(self._events[:last]):
            if event < 0 and came and at >= first:
                yield _Top(tuple(tally), polynomial, least, inexact)
            came = event >= 0 or at < first
            amount, more, low, some = changes[event >> KIND_DIGITS]
            tally[event & _KINDS] += amount
            polynomial += more
            least += low
            inexact += some
        yield _Top(tuple(tally), polynomial, least, inexact)


def _reaches(one: _Top, other: _Top) -> bool:
    """Whether a moment holds as much as another at every batch and sequence, however tensors are rounded up.

    The difference of the polynomials is least at the least batch and sequence, where no coefficient is negative.
    Rounding adds less than a block to each tensor of the other, and nothing to those that both have.
    """
    least = one.least - other.least
    if least < 0 or has_negative_digits(one.polynomial - other.polynomial):
        return False
    if one.inexact == other.inexact:
        return True
    more = -sum(number for _, number in digits(one.inexact - other.inexact, AMOUNT_DIGITS) if number < 0)
    return least >= (BLOCK_BYTES - 1) * more


def _is_inexact(symbols: Symbols, size: int) -> bool:
    return any(number % BLOCK_BYTES for number in symbols.polynomial(size).values())


def counts_of(amount: int) -> Counts:
    """How many of which size."""
    return tuple(digits(amount, AMOUNT_DIGITS))
