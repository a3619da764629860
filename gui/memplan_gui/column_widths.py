"""How columns share the width of a table: what they hold is whole as long as there is room, and headings always are."""

from __future__ import annotations

from collections.abc import Sequence


def shared_widths(wanted: Sequence[int], least: Sequence[int], growing: Sequence[int], room: int) -> list[int]:
    """Give every column what it wants; cut the widest where that is too much; share out what is left.

    Args:
        wanted: the width at which nothing in a column is cut.
        least: what it keeps in any case: where that is too much, the table is wider than the room.
        growing: which columns take what is left, in equal parts.
        room: the width of the table.

    >>> shared_widths([100, 60, 300], [50, 60, 50], [0, 2], 500)
    [120, 60, 320]
    >>> shared_widths([100, 60, 300], [50, 60, 50], [0, 2], 400)
    [100, 60, 240]
    >>> shared_widths([100, 60, 300], [50, 60, 50], [0, 2], 200)
    [70, 60, 70]
    >>> shared_widths([100, 60, 300], [50, 60, 50], [0, 2], 100)
    [50, 60, 50]
    """
    widths = list(wanted)
    spare = room - sum(widths)
    if spare < 0:
        widths = _cut(wanted, least, room)
        spare = max(0, room - sum(widths)) if sum(widths) > sum(least) else 0
    for at, position in enumerate(growing):
        widths[position] += spare // len(growing) + (at < spare % len(growing))
    return widths


def _cut(wanted: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """No column is wider than a bound that is as high as the room allows, unless it cannot do with less."""
    low, high = 0, max(wanted)
    while low < high:
        bound = (low + high + 1) // 2
        if sum(_bounded(wanted, least, bound)) <= room:
            low = bound
        else:
            high = bound - 1
    return _bounded(wanted, least, low)


def _bounded(wanted: Sequence[int], least: Sequence[int], bound: int) -> list[int]:
    return [min(want, max(keep, bound)) for want, keep in zip(wanted, least, strict=True)]
