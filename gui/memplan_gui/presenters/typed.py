"""Typed numbers, read as they are written here and elsewhere: 8,192 and 8.192 tokens, 12.3 and 12,3 GiB. Without Qt."""

from __future__ import annotations

import re

from memplan import NumberStyle, parse_count, screen_numbers, tr

_NUMBER = re.compile(r"^\s*([0-9][0-9.,_'’ \u00a0\u2009\u202f]*[0-9]|[0-9])(.*)$", re.DOTALL)
_BLANKS = re.compile(r"(?<=[0-9])[_'’ \u00a0\u2009\u202f](?=[0-9]{3}(?:[^0-9]|$))")
"""Between groups of three digits: blanks of every width, apostrophes, underscores."""


def plain_number(text: str, *, whole: bool = False) -> str:
    """Return the text with its number as memplan writes one: no signs between groups, a point before the fraction.

    What can be read in one way alone is read in that way. Of a point and a comma the later one is before the fraction;
    what stands twice is between groups; so is what three digits follow in a `whole` number. What the screen writes
    before a fraction is always read so: whatever a field shows can be typed again.

    >>> plain_number("12,3 GiB"), plain_number("1.234,5 GiB"), plain_number("1,234.5 GiB"), plain_number("1.234.567")
    ('12.3 GiB', '1234.5 GiB', '1234.5 GiB', '1234567')
    >>> plain_number("8.192", whole=True), plain_number("8,192", whole=True), plain_number("131 072", whole=True)
    ('8192', '8192', '131072')
    >>> plain_number("1,5M", whole=True), plain_number("1.500"), plain_number("many")
    ('1.5M', '1.500', 'many')

    Raises:
        ValueError: the number means one thing here and another elsewhere: "1,500 GiB".
    """
    style = screen_numbers()
    found = _NUMBER.match(text)
    if not found:
        return text
    number, rest = _BLANKS.sub("", found[1]), found[2]
    signs = [sign for sign in number if sign in ".,"]
    if not signs:
        return number + rest
    last = signs[-1]
    if len(set(signs)) == 2:  # both stand there: the later one is before the fraction
        is_group = False
    elif len(signs) > 1:
        is_group = True
    elif len(number) - number.rindex(last) != 4:  # groups have three digits
        is_group = False
    elif whole and not rest.strip():
        is_group = True
    elif last != style.decimal and number[0] != "0":
        words = tr("{text} can be read in two ways; write {one} or {other}.")
        one, other = number.replace(last, ""), number.replace(last, style.decimal)
        raise ValueError(words.format(text=repr(text.strip()), one=one, other=other))
    else:
        is_group = False
    if is_group:
        return _joined(text, number, last, style) + rest
    other = "," if last == "." else "."
    before, _, after = number.rpartition(last)
    return f"{_joined(text, before, other, style)}.{after}{rest}"


def _joined(text: str, number: str, sign: str, style: NumberStyle) -> str:
    """The digits of a number without the sign between its groups: threes, or as the screen has them."""
    groups = number.split(sign)
    lengths = {len(group) for group in groups[1:-1]}
    are_groups = lengths <= {3} or (sign == style.group and lengths == {style.higher_digits})
    is_last = len(groups) == 1 or len(groups[-1]) == 3
    if not all(group.isdecimal() for group in groups) or not (are_groups and is_last):
        raise ValueError(tr("{text} is not a number.").format(text=repr(text.strip())))
    return "".join(groups)


def typed_count(text: str, unit: str = "", most: float | None = None) -> int:
    """Read a count in any of these forms; `most` so many suit the field.

    >>> typed_count("8.192", "tokens"), typed_count("8k", "tokens"), typed_count("1,5M")
    (8192, 8192, 1500000)

    Raises:
        ValueError: what was found and what can be read.
    """
    return parse_count(plain_number(text, whole=True), unit, most)
