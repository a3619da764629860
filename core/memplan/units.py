"""Bytes and counts: constants, reading what people type, writing what people read.

Bytes are `int` everywhere inside. GB is 10**9 and GiB is 2**30; the two never mix.
"""

from __future__ import annotations

import re
from typing import Literal

from memplan.number_style import number
from memplan.translation import tr

KIB, MIB, GIB = 2**10, 2**20, 2**30
MB, GB = 10**6, 10**9

Unit = Literal["gib", "gb"]
UNIT_BYTES: dict[Unit, int] = {"gib": GIB, "gb": GB}
UNIT_NAMES: dict[Unit, str] = {"gib": "GiB", "gb": "GB"}

_COUNT = re.compile(r"^\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*([kKmMbBtT]?)(i?)\s*$")
_MEMORY = re.compile(r"[0-9]\s*(?:[kKmMtT]i?[bB]|[gG]i?[bB]?)\s*$")
"""An amount of memory, or the beginning of one: nobody counts in G."""
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_BINARY = {"k": 2**10, "m": 2**20, "t": 2**40}
_COUNT_SIZES = ((999_500_000_000, 10**12, "T"), (999_500_000, 10**9, "B"), (999_500, 10**6, "M"), (10_000, 10**3, "k"))
"""From which count on (what would be rounded to a thousand of the smaller size), the size, its letter."""


def to_unit(num_bytes: float, unit: Unit) -> float:
    """Return bytes in the unit.

    >>> to_unit(3 * 2**30, "gib")
    3.0
    """
    return num_bytes / UNIT_BYTES[unit]


def format_bytes(num_bytes: float, unit: Unit = "gib", *, signed: bool = False) -> str:
    """Write bytes for a person: three significant figures, never fewer than the whole units,
    with commas from 10,000 on.

    >>> format_bytes(84_900_000_000, "gb"), format_bytes(5 * 2**30 + 2**29), format_bytes(0)
    ('84.9 GB', '5.50 GiB', '0 GiB')
    >>> format_bytes(9_999 * 2**30), format_bytes(23_128 * 2**30)
    ('9999 GiB', '23,128 GiB')
    >>> format_bytes(7 * 2**20), format_bytes(-15 * 2**30, signed=True)
    ('0.01 GiB', '−15.0 GiB')
    """
    value = abs(to_unit(num_bytes, unit))
    if value == 0:
        text = "0"
    elif value < 9.995:
        text = number(value, ".2f") if value >= 0.005 else f"<{number(0.01, '.2f')}"
    elif value < 99.95:
        text = number(value, ".1f")
    else:
        text = number(value, ",.0f") if value >= 9999.5 else f"{value:.0f}"
    sign = "−" if num_bytes < 0 else "+" if signed and num_bytes > 0 else ""
    return f"{sign}{text} {UNIT_NAMES[unit]}"


def format_count(count: int) -> str:
    """Write a count short.

    >>> format_count(8_030_261_248), format_count(1_235_814_400), format_count(512), format_count(1_000_000_000_000)
    ('8.03B', '1.24B', '512', '1.00T')
    >>> format_count(999_885_952), format_count(9_996_000)
    ('1.00B', '10.0M')
    """
    for least, size, letter in _COUNT_SIZES:
        if count >= least:
            value = count / size
            decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{number(value, f'.{decimals}f')}{letter}"
    return str(count)


def counted(count: int, thing: str) -> str:
    """Write a count with what is counted, in the singular where it is one.

    >>> counted(1, "layer"), counted(8_030_261_248, "parameter")
    ('1 layer', '8.03B parameters')
    """
    return f"{format_count(count)} {thing}" if count == 1 else f"{format_count(count)} {thing}s"


SMALL_COUNT = 1_000_000
"""Of what comes in no more than that (devices, sequences, layers), nobody writes billions."""


def count_forms(unit: str = "", most: float | None = None) -> str:
    """What can be written for a count, for one of tokens, and for one of `most` so many: for error messages and help.

    >>> count_forms(), count_forms("tokens")
    ('4096, 8k, 8ki (8192), 1.5M, 7B or 15T', '4096, 8k (8192), 128k (131,072) or 1M (1,048,576)')
    >>> count_forms("sequences", 1_000_000)
    'a whole number, such as 8'
    """
    if most is not None and most <= SMALL_COUNT:
        return tr("a whole number, such as 8")
    if unit == "tokens":
        return tr("4096, 8k (8192), 128k ({short}) or 1M ({long})").format(short=number(2**17), long=number(2**20))
    return f"4096, 8k, 8ki (8192), {number(1.5, '.1f')}M, 7B or 15T"


def parse_count(text: str, unit: str = "", most: float | None = None) -> int:
    """Read a count as people write it: "4096", "8k" (8000), "8ki" (8192), "1.5M", "7B", "15T".

    Lengths in tokens are powers of two by custom ("8k context" is 8192), so there k is 1024 and M is 1024².

    >>> parse_count("8k"), parse_count("8k", "tokens"), parse_count("1M", "tokens"), parse_count("8000", "tokens")
    (8000, 8192, 1048576, 8000)

    Args:
        text: what was typed.
        unit: of the field.
        most: how many there can be; it decides which forms an error names, and nothing is held against it.

    Raises:
        ValueError: what was found and what can be read.
    """
    found, in_tokens = _COUNT.match(text), unit == "tokens"
    forms = count_forms(unit, most)
    letter = found[2].lower() if found else ""
    if _MEMORY.search(text):
        raise ValueError(f"{text.strip()!r} is an amount of memory, and this is a count; write {forms}.")
    if not found or (found[3] and letter not in _BINARY):
        raise ValueError(f"{text.strip()!r} is not a count; write {forms}.")
    sizes = _BINARY if found[3] or (in_tokens and letter in _BINARY) else _DECIMAL
    value = float(re.sub(r"[_,]", "", found[1])) * sizes[letter]
    if value != int(value):
        raise ValueError(f"{text.strip()!r} is not a whole number.")
    return int(value)
