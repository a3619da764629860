"""How columns share the width of a table: as many cells as possible are whole, and headings always are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

MOST_STEPS = 8
"""At so many widths of a column it is looked at how many of its cells would be whole."""


def shared_widths(
    wanted: Sequence[int],
    least: Sequence[int],
    growing: Sequence[int],
    room: int,
    cells: Sequence[Sequence[int]] = (),
) -> list[int]:
    """Give every column what it wants; where that is too much, make most cells whole; share out what is left.

    A single long cell takes no room from another column of which many cells would be cut for it.

    Args:
        wanted: the width at which nothing in a column is cut.
        least: what it keeps in any case: where that is too much, the table is wider than the room.
        growing: which columns take what is left, in equal parts.
        room: the width of the table.
        cells: the width at which each cell of a column is whole; without, a column is whole or cut.

    >>> shared_widths([100, 60, 300], [50, 60, 50], [0, 2], 500)
    [120, 60, 320]
    >>> shared_widths([100, 60, 300], [50, 60, 50], [0, 2], 400)
    [100, 60, 240]
    >>> shared_widths([100, 60, 300], [50, 60, 50], [0, 2], 200)
    [70, 60, 70]
    >>> shared_widths([100, 60, 300], [50, 60, 50], [0, 2], 100)
    [50, 60, 50]
    >>> shared_widths([200, 180], [50, 50], [0, 1], 300, [[90, 95, 200], [160, 170, 180]])
    [120, 180]
    """
    widths = list(wanted)
    spare = room - sum(widths)
    if spare < 0:
        widths = _cut(wanted, _whole_cells(wanted, least, room, cells), room)
        spare = max(0, room - sum(widths)) if sum(widths) > sum(least) else 0
    for at, position in enumerate(growing):
        widths[position] += spare // len(growing) + (at < spare % len(growing))
    return widths


def _whole_cells(
    wanted: Sequence[int], least: Sequence[int], room: int, cells: Sequence[Sequence[int]]
) -> Sequence[int]:
    """The widths at which most cells are whole, as far as there is room; of those as few pixels as that takes."""
    left = room - sum(least)
    if left <= 0:
        return least
    best: list[tuple[int, int, list[int]]] = [(0, 0, [])]
    """Pixels beyond the least, cells that are whole for them, widths so far: each more of both than the one before."""
    for at, keep in enumerate(least):
        column = sorted(cells[at]) if cells else [wanted[at]]
        steps = [keep, *(step for step in _steps(column, keep) if step - keep <= left)]
        found = [
            (pixels + step - keep, whole + bisect_right(column, step), [*widths, step])
            for pixels, whole, widths in best
            for step in steps
            if pixels + step - keep <= left
        ]
        best = []
        for one in sorted(found, key=lambda one: (one[0], -one[1])):
            if not best or one[1] > best[-1][1]:
                best.append(one)
    return best[-1][2]


def _steps(column: Sequence[int], width: int) -> Sequence[int]:
    """Widths at which more cells of a column are whole than now."""
    wider = sorted(set(column[bisect_right(column, width) :]))
    return wider[:: max(1, len(wider) // MOST_STEPS)]


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
