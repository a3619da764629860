"""Amounts of memory as messages state them: a figure with its precision, so that nothing is read into it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

NUMBER = r"(?<!\d)(?<!\d[.,])((?:\d|(?<![a-z])[oil|](?=[oil|.,]{0,2}\d))[\dolis|]{0,24}(?:[.,][\dolis|]{1,24}){0,6})"
"""A number in text without spaces; letters that readers of pictures take for digits are let in. It begins where no
number goes on and is bounded, so that text that is all digits is passed over as fast as any other."""
UNIT = r"(bytes?|[kmgcte][il1|]?[b8](?!yte)|[kmgtb](?=[^a-z]|free|reserv|at|of|hbm|[vsc]mem|$))"
"""A unit; `cib` and `gi8` are what readers of pictures make of GiB."""
AMOUNT = f"{NUMBER}{UNIT}"

_DIGITS = str.maketrans("olis|", "01151")
_POWERS = {"b": 0, "k": 1, "m": 2, "g": 3, "c": 3, "t": 4, "e": 6}


@dataclass(frozen=True, slots=True)
class Amount:
    """What a message says of an amount: its own words, and the bytes between which the amount lies."""

    text: str
    """As it is written: "2.00 GiB"; empty for what follows from other amounts."""
    low_bytes: int
    high_bytes: int

    @property
    def middle_bytes(self) -> int:
        """The middle of the range: what the figure says if it is taken as exact."""
        return (self.low_bytes + self.high_bytes) // 2

    def holds(self, num_bytes: int) -> bool:
        """Whether so many bytes would be written like this.

        >>> amount("11.27", "gib").holds(12_105_000_000), amount("11.27", "gib").holds(12_000_000_000)
        (True, False)
        """
        return self.low_bytes <= num_bytes <= self.high_bytes

    def plus(self, other: Amount) -> Amount:
        """The sum, between the sums of the ends."""
        return Amount("", self.low_bytes + other.low_bytes, self.high_bytes + other.high_bytes)

    def minus(self, other: Amount) -> Amount:
        """The difference, no less than nothing."""
        return Amount("", max(0, self.low_bytes - other.high_bytes), max(0, self.high_bytes - other.low_bytes))


def amount(number: str, unit: str, *, thousand: int = 1024) -> Amount | None:
    """Read a figure and its unit, in lower case; None where no number comes of it.

    PyTorch writes two decimals and divides by 1024, whether it then says GiB or (on Apple's devices) GB.

    >>> found = amount("2.00", "gib")
    >>> found.text, found.low_bytes, found.high_bytes
    ('2.00 GiB', 2142114939, 2152852357)
    >>> amount("256", "bytes").low_bytes, amount("11,27", "gib").text, amount("l6.00", "mib").text
    (256, '11.27 GiB', '16.00 MiB')
    """
    digits = _plain(number)
    if digits is None:
        return None
    letter = unit[0]
    step = thousand ** _POWERS[letter] if letter in _POWERS else 1
    value = Fraction(digits) * step
    decimals = digits.partition(".")[2]
    text = f"{digits} {_unit_title(unit)}"
    if letter == "b" and not decimals:
        return Amount(text, int(value), int(value))
    half = Fraction(step, 2 * 10 ** len(decimals))
    low = max(0, -((half - value) // 1))
    return Amount(text, low, max(low, int(value + half)))


def total_of(amounts: Iterable[Amount]) -> Amount | None:
    """The sum of amounts; None of none."""
    whole: Amount | None = None
    for one in amounts:
        whole = one if whole is None else whole.plus(one)
    return whole


def _plain(number: str) -> str | None:
    """Digits with at most one point. A comma before three digits stands between thousands, another is a point."""
    digits = number.translate(_DIGITS)
    if ("." in digits and "," in digits) or re.fullmatch(r"\d{1,3}(,\d{3})+", digits):
        digits = digits.replace(",", "")
    digits = digits.replace(",", ".")
    return digits if digits.count(".") <= 1 and len(digits) <= 25 else None


def _unit_title(unit: str) -> str:
    if unit.startswith("byte") or unit == "b":
        return "bytes"
    letter = "G" if unit[0] == "c" else unit[0].upper()
    return letter if len(unit) == 1 else f"{letter}iB" if len(unit) == 3 else f"{letter}B"
