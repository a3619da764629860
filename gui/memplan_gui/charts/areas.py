"""Hatching of shapes that are no rectangles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from PySide6.QtCore import QLineF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from memplan_gui.charts.look import HATCH_SPACING

Point: TypeAlias = "tuple[float, float]"
"""Pixels from the left, and from the top. Plain numbers: thousands of them are asked for at each edit."""
SHORTEST = 0.25
"""Pixels of a line that can be seen; less is a corner that a diagonal touches."""


def hatch_area(painter: QPainter, shape: Sequence[Point], colour: QColor) -> None:
    """Hatch a closed shape as `look.hatch` does a rectangle: by arithmetic, clip paths do not survive."""
    draw_hatch(painter, hatch_lines(shape, rising=True, spacing=HATCH_SPACING), colour, 1.0)


def draw_hatch(painter: QPainter, lines: Sequence[QLineF], colour: QColor, width: float) -> None:
    """Draw the lines of a hatching."""
    pen = QPen(colour, width)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(pen)
    painter.drawLines(list(lines))


def hatch_lines(shape: Sequence[Point], *, rising: bool, spacing: float) -> list[QLineF]:
    """The parts of diagonals inside a closed shape.

    On a diagonal x + y (rising) or x - y (falling) is a multiple of the spacing. Each edge of the shape crosses the
    diagonals between its ends' values; along a diagonal every other stretch between crossings is inside.

    >>> square = [(0, 0), (10, 0), (10, 10), (0, 10)]
    >>> [(line.x1(), line.y1(), line.x2(), line.y2()) for line in hatch_lines(square, rising=True, spacing=15)]
    [(5.0, 10.0, 10.0, 5.0)]
    """
    sign = 1.0 if rising else -1.0
    crossings: dict[int, list[float]] = {}
    x0, y0 = shape[-1]
    for x1, y1 in shape:
        before, after = x0 + sign * y0, x1 + sign * y1
        low, high = (before, after) if before < after else (after, before)
        # An end counts with one of its two edges: from low on, up to but not including high.
        first, end = math.ceil(low / spacing), math.ceil(high / spacing)
        if first < end:
            step = (x1 - x0) * spacing / (after - before)
            x = x0 + (first * spacing - before) / spacing * step
            for diagonal in range(first, end):
                if diagonal in crossings:
                    crossings[diagonal].append(x)
                else:
                    crossings[diagonal] = [x]
                x += step
        x0, y0 = x1, y1
    lines = []
    for diagonal, places in crossings.items():
        places.sort()
        value = diagonal * spacing
        for left, right in zip(places[::2], places[1::2], strict=False):
            if right - left > SHORTEST:
                lines.append(QLineF(left, sign * (value - left), right, sign * (value - right)))
    return lines
