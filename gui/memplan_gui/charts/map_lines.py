"""Lines of equal need over a map: at which batch, as a real number, each sequence needs as much. No Qt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from memplan import UNIT_BYTES, MemoryMap, Unit

Line = list[tuple[float, float]]
"""Points: sequence and batch."""
FARTHEST = 8
"""Lines are drawn up to this many times what is usable: what is beyond helps nobody."""
LOWEST = 2**-0.5
"""The lower edge of the map: a batch of one has room around it."""


def frontier_line(found: MemoryMap) -> Line:
    """Along the edges of the last cells that fit; empty where none do, or all."""
    return _edge(found, found.verdicts == 0)


def last_line(found: MemoryMap) -> Line:
    """Along the edges of the last cells that are tight."""
    return _edge(found, found.verdicts <= 1)


def between(numbers: Sequence[int]) -> NDArray[np.float64]:
    """Half-way between neighbours on a logarithmic axis: where one cell ends and the next begins."""
    whole = np.array(numbers, dtype=np.float64)
    return np.asarray(np.sqrt(whole[1:] * whole[:-1]))


def _edge(found: MemoryMap, inside: NDArray[np.bool_]) -> Line:
    """The upper edge of cells that lie in all columns at the bottom."""
    counts = inside.sum(axis=0)
    if not counts.any() or (counts == len(found.batches)).all():
        return []
    tops = np.array([LOWEST, *between(found.batches), float(found.batches[-1])])[counts]
    sides = [float(found.sequences[0]), *between(found.sequences).tolist(), float(found.sequences[-1])]
    line: Line = []
    for column, top in enumerate(tops.tolist()):
        line += [(sides[column], top), (sides[column + 1], top)]
    # Where it would run along the map's own edge there is nothing to see: the ends stay, so that it reaches that edge.
    inner = [place for place, (_, batch) in enumerate(line) if LOWEST < batch < found.batches[-1]]
    first, last = (inner[0], inner[-1]) if inner else (int((tops == tops[0]).sum()) * 2, 0)
    return line[max(0, first - 1) : max(last, first) + 2]


def need_lines(found: MemoryMap, unit: Unit) -> Iterator[tuple[int, Line]]:
    """Lines of equal need at powers of two of the unit, with how much that is."""
    size = UNIT_BYTES[unit]
    amount = 1
    while amount * size <= min(int(found.need_bytes.max()), found.usable_bytes * FARTHEST):
        line = line_of(found, found.need_bytes, amount * size)
        if len(line) > 1:
            yield amount * size, line
        amount *= 2


def line_of(found: MemoryMap, cells: NDArray[np.int64], amount: int) -> Line:
    """Where cells come to an amount, from the shortest sequence that leaves the map at its top to where it ends.

    Between two batches need is a straight line but for kinks, so that is where the line is drawn.
    """
    batches = np.array(found.batches, dtype=np.float64)
    line: Line = []
    for column, sequence in enumerate(found.sequences):
        needs = cells[:, column]
        if needs[0] > amount:
            if line:  # it leaves the map at the bottom, between this sequence and the one before
                before, last = float(cells[0, column - 1]), float(found.sequences[column - 1])
                share = (amount - before) / (float(needs[0]) - before)
                line.append((last + share * (sequence - last), float(batches[0])))
            break
        if needs[-1] < amount:
            line = [(float(sequence), float(batches[-1]))]
            continue
        line.append((float(sequence), float(np.interp(amount, needs, batches))))
    return line if line and line[-1][1] < batches[-1] else []
