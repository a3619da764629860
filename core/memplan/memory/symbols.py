"""One walk for every batch and sequence: sizes as polynomials, carried by the whole numbers that a walk computes with.

What a tensor takes is a polynomial in the batch and the sequence, and a walk adds, subtracts and multiplies sizes, no
more. At a batch and a sequence that are powers of two beyond any coefficient it therefore works out the coefficients of
all of them at once: each has binary digits of its own in the result (Kronecker's substitution). Sizes that depend on
either are not rounded up to the allocator's blocks, those that do not are.

Where a walk asks how large a batch or a sequence is (a sliding window that it reaches, a batch of one), the symbol
answers for the region that it stands for, and notes where that region ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any, NamedTuple, TypeAlias

from memplan.memory.storage import Level, Size

DIGITS = 64
"""Binary digits of a coefficient, its sign among them: coefficients are below 2^63."""
_SEQUENCE_POWERS, _BATCH_POWERS = 4, 2
_FIRST_COUNT = _SEQUENCE_POWERS * _BATCH_POWERS
_MOST_COUNTS = 3
_SIGNS = sum(1 << (DIGITS * place + DIGITS - 1) for place in range(_FIRST_COUNT << _MOST_COUNTS))

Rule: TypeAlias = Callable[..., int]
"""(batch, sequence, *numbers) to a whole number; of arrays to an array."""


class Monomial(NamedTuple):
    """batch ** batch_power * sequence ** sequence_power * each of the counts."""

    batch_power: int
    sequence_power: int
    counts: tuple[int, ...]
    """Places in `Symbols.counts`."""


class Symbol(int):
    """A batch or a sequence that stands for a region of numbers.

    Equal to itself alone, so that walks cached under one are not taken for another's.
    """

    example: int
    """One of the region."""
    cuts: set[int]
    """Numbers at which a region starts that the walk might tell from this one."""
    symbols: Symbols

    @classmethod
    def of(cls, value: int, example: int, symbols: Symbols) -> Symbol:
        """A symbol for a number of a map."""
        symbol = cls(value)
        symbol.example, symbol.cuts, symbol.symbols = example, set(), symbols
        return symbol

    @property
    def bounds(self) -> tuple[float, float]:
        """From which number to below which other the walk answers."""
        low = max((cut for cut in self.cuts if cut <= self.example), default=0)
        return float(low), float(min((cut for cut in self.cuts if cut > self.example), default=inf))

    def cut(self, bounds: tuple[float, float]) -> None:
        """Note where a region ends that something was read off for."""
        self.cuts |= {int(bound) for bound in bounds if 0 < bound < inf}

    def __lt__(self, other: int) -> bool:
        self.cuts.add(other)
        return self.example < other

    def __ge__(self, other: int) -> bool:
        return not self < other

    def __gt__(self, other: int) -> bool:
        return not self < other + 1

    def __le__(self, other: int) -> bool:
        return self < other + 1

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Symbol) or not isinstance(other, int):
            return self is other
        self.cuts |= {other, other + 1}
        return self.example == other

    __hash__ = object.__hash__


def digits(number: int, width: int) -> Iterator[tuple[int, int]]:
    """The digits of so many binary digits each that are not zero, signed, and their places.

    >>> list(digits(5 - (3 << 8) + (7 << 24), 8))
    [(0, 5), (1, -3), (3, 7)]
    """
    low, half, place = (1 << width) - 1, 1 << (width - 1), 0
    while number:
        skipped = ((number & -number).bit_length() - 1) // width
        place += skipped
        number >>= skipped * width
        digit = number & low
        if digit >= half:
            digit -= low + 1
        yield place, digit
        number = (number - digit) >> width
        place += 1


class Symbols:
    """The batch and the sequence of a region, and what is counted from both by other rules than polynomials."""

    def __init__(self, batch: int, sequence: int) -> None:
        self.batch = Symbol.of(1 << (_SEQUENCE_POWERS * DIGITS), batch, self)
        self.sequence = Symbol.of(1 << DIGITS, sequence, self)
        self.counts: list[tuple[Rule, tuple[int, ...]]] = []
        """Rules with their further numbers, in the order of their symbols."""

    def counted(self, rule: Rule, numbers: tuple[int, ...]) -> int:
        """A symbol for what a rule counts."""
        one = (rule, numbers)
        if one not in self.counts:
            assert len(self.counts) < _MOST_COUNTS, "a walk counts few things by rules of their own"
            self.counts.append(one)
        return 1 << (DIGITS * (_FIRST_COUNT << self.counts.index(one)))

    def polynomial(self, size: Size) -> dict[Monomial, int]:
        """The coefficients of a size, without those that are zero.

        >>> symbols = Symbols(1, 512)
        >>> found = symbols.polynomial(3 * symbols.batch * symbols.sequence - symbols.sequence**2 + 4096)
        >>> {(one.batch_power, one.sequence_power): number for one, number in found.items()}
        {(0, 0): 4096, (0, 2): -1, (1, 1): 3}
        """
        return {self._monomial(place): digit for place, digit in digits(int(size), DIGITS)}

    def least(self, size: Size) -> int:
        """The least that a size without negative coefficients comes to in the region."""
        batch, sequence = (max(1, int(one.bounds[0])) for one in (self.batch, self.sequence))
        terms = self.polynomial(size).items()
        return sum(n * batch**one.batch_power * sequence**one.sequence_power for one, n in terms if not one.counts)

    def _monomial(self, place: int) -> Monomial:
        powers, counted = place % _FIRST_COUNT, place // _FIRST_COUNT
        counts = tuple(index for index in range(len(self.counts)) if counted >> index & 1)
        return Monomial(powers // _SEQUENCE_POWERS, powers % _SEQUENCE_POWERS, counts)


def counted(batch: Size, sequence: Size, rule: Rule, *numbers: int) -> Any:
    """rule(batch, sequence, *numbers), where that is no polynomial: a quotient rounded up, a power of two.

    >>> counted(3, 100, lambda batch, sequence, parts: -(-batch * sequence // parts), 8)
    38
    """
    if isinstance(batch, Symbol):
        return batch.symbols.counted(rule, numbers)
    return rule(batch, sequence, *numbers)


def has_negative_digits(size: Size) -> bool:
    """Whether a coefficient of a size is negative.

    >>> symbols = Symbols(1, 512)
    >>> has_negative_digits(symbols.sequence - 5), has_negative_digits(5 * symbols.sequence)
    (True, False)
    """
    return bool(size & _SIGNS)


def fullest(levels: Iterable[Level]) -> tuple[Level, ...]:
    """Those that no other reaches in every coefficient, so for every batch and sequence.

    >>> symbols = Symbols(1, 512)
    >>> low, high = 7 * symbols.batch, 7 * symbols.batch + 3
    >>> fullest([Level(low, 0), Level(high, 0)]) == (Level(high, 0),)
    True
    >>> len(fullest([Level(low, 0), Level(symbols.sequence, 0)]))
    2
    """
    kept: list[Level] = []
    for level in sorted(set(levels), reverse=True):  # what reaches a level in all its digits comes before it
        total = level.total
        for other in kept:
            if not has_negative_digits(other.total - total):
                break
        else:
            kept.append(level)
    return tuple(kept)
