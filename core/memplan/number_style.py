"""How numbers look to a person: on screen in the system's form, in all that leaves the window as programs write them.

A style is the screen's, set once. Whatever writes a file, the clipboard or paper does so inside `plain_numbers`; what
no window runs, the command line above all, knows of no other style than the plain one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TypeVar, TypeVarTuple

from memplan.translation import Catalog, current_catalog

_Made = TypeVar("_Made")
_Asked = TypeVarTuple("_Asked")
MOST_KNOWN = 512
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+")


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """The marks in a number, and where its groups end."""

    decimal: str = "."
    group: str = ","
    higher_digits: int = 3
    """Digits of every group but the last, which has three: two in India."""
    least_digits: int = 4
    """Whole numbers of fewer digits have no groups: 5 in Spain, where 1234 stands whole."""

    def __hash__(self) -> int:
        return hash(self.group)  # it is asked for each cell that is painted

    @property
    def is_regular(self) -> bool:
        """Whether groups end where they do in the plain style."""
        return (self.higher_digits, self.least_digits) == (3, 4)


PLAIN_NUMBERS = NumberStyle()
"""131,072 and 75.1."""

_screen = PLAIN_NUMBERS
_leaving: ContextVar[bool] = ContextVar("_leaving", default=False)


def set_screen_numbers(style: NumberStyle) -> None:
    """Write numbers for the screen so, in every thread. An application does it before it writes the first."""
    global _screen  # one screen, one style
    _screen = PLAIN_NUMBERS if style == PLAIN_NUMBERS else style


def screen_numbers() -> NumberStyle:
    """The screen's style, which numbers that are typed there have as well."""
    return _screen


def current_style() -> NumberStyle:
    """The style in force here."""
    return PLAIN_NUMBERS if _leaving.get() else _screen


@contextmanager
def plain_numbers() -> Iterator[None]:
    """Write numbers plainly meanwhile: what is made leaves the window. Threads begun inside are not inside.

    >>> with plain_numbers():
    ...     number(131072)
    '131,072'
    """
    token = _leaving.set(True)
    try:
        yield
    finally:
        _leaving.reset(token)


def number(value: float | Decimal, spec: str = ",") -> str:
    """Write a number for a person: as `format` does, with the marks of the style in force.

    >>> number(131072), number(75.125, ".1f"), number(0.0345, ".1%"), number(-12345.6, ",.1f")
    ('131,072', '75.1', '3.5%', '-12,345.6')
    >>> set_screen_numbers(NumberStyle(",", "."))
    >>> number(131072), number(75.125, ".1f"), number(-12345.6, ",.1f")
    ('131.072', '75,1', '-12.345,6')
    >>> set_screen_numbers(PLAIN_NUMBERS)
    """
    text = format(value, spec)
    if _screen is PLAIN_NUMBERS or _leaving.get():
        return text
    return styled(text, _screen)


def styled(text: str, style: NumberStyle) -> str:
    """A plain number in another style.

    >>> styled("1234567.8", NumberStyle(",", ".")), styled("1,234,567.8", NumberStyle(",", "."))
    ('1234567,8', '1.234.567,8')
    >>> styled("1,234,567", NumberStyle(higher_digits=2)), styled("1,234", NumberStyle(",", ".", least_digits=5))
    ('12,34,567', '1234')
    """
    if not style.is_regular:
        text = _GROUPED.sub(lambda found: _in_groups(found[0].replace(",", ""), style), text)
    return text.translate({44: style.group, 46: style.decimal})


def _in_groups(digits: str, style: NumberStyle) -> str:
    if len(digits) < style.least_digits:
        return digits
    rest, groups = digits[:-3], [digits[-3:]]
    while rest:
        rest, group = rest[: -style.higher_digits], rest[-style.higher_digits :]
        groups.insert(0, group)
    return ",".join(groups)


def once_a_style(make: Callable[[*_Asked], _Made]) -> Callable[[*_Asked], _Made]:
    """What makes words with numbers, called once for each style and language they are asked for in.

    None gets the words of another.

    Args:
        make: pure; called with hashable arguments. Its last `MOST_KNOWN` answers are remembered.

    >>> words = once_a_style(lambda count: f"{number(count)} tokens")
    >>> words(4096), words(4096) is words(4096)
    ('4,096 tokens', True)
    """

    @lru_cache(maxsize=MOST_KNOWN)
    def known(_: NumberStyle, __: Catalog | None, *asked: *_Asked) -> _Made:
        return make(*asked)

    last: tuple[NumberStyle, Catalog | None, _Made] | None = None

    def in_style(*asked: *_Asked) -> _Made:
        nonlocal last
        style, catalog = current_style(), current_catalog()
        if asked:
            return known(style, catalog, *asked)
        if last is None or last[0] is not style or last[1] is not catalog:  # a table asks so for each of its cells
            last = style, catalog, known(style, catalog)
        return last[2]

    return in_style
