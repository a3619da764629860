"""The system's way of writing numbers, for the screen."""

from __future__ import annotations

from PySide6.QtCore import QLocale

from memplan import PLAIN_NUMBERS, NumberStyle

DECIMALS = ".,"
GROUPS = ".,'’ \u00a0\u2009\u202f"
"""The marks that a typed number may have: no field may show what it cannot read."""


def numbers_of(locale: QLocale) -> NumberStyle:
    """A locale's marks and groups; the plain ones where it has digits or marks of its own, or is none at all."""
    decimal, group = locale.decimalPoint(), locale.groupSeparator()
    is_known = decimal in tuple(DECIMALS) and group in tuple(GROUPS) and decimal != group
    if locale.language() == QLocale.Language.C or locale.zeroDigit() != "0" or not is_known:
        return PLAIN_NUMBERS
    groups = locale.toString(12_345_678).split(group)
    higher = len(groups[-2]) if len(groups) > 2 else PLAIN_NUMBERS.higher_digits
    least = PLAIN_NUMBERS.least_digits if group in locale.toString(1234) else PLAIN_NUMBERS.least_digits + 1
    return NumberStyle(decimal, group, higher, least)
