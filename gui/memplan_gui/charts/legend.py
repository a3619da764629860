"""The legend: terms in stack order, the need's band, what is beyond usable. Painted on screen and in exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter, QPen

from memplan import tr_later, translated
from memplan_gui.charts.look import ChartLook, fill_term, hatch
from memplan_gui.charts.row_pieces import usable_pen
from memplan_gui.presenters.stack import StackChart

SWATCH = 11.0
GAP = 6.0
BETWEEN = 18.0
LINE_HEIGHT = 20.0
NEED = tr_later("need, low to high")
BEYOND = tr_later("beyond usable")
MEASURED = tr_later("measured")
USABLE = tr_later("usable")
"""The dashed line, where it has no words of its own."""
DIAMOND_HALF = 5.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry, placed."""

    text: str
    left: float
    line: int


def legend_texts(chart: StackChart) -> list[str]:
    """What the legend names, in stack order: terms and marks as they stand in the code."""
    measured = [MEASURED] if chart.measured else []
    return [*chart.terms, NEED, *measured, *([BEYOND] if chart.overflows else [])]


def paint_diamond(painter: QPainter, look: ChartLook, centre: QPointF) -> None:
    """The mark of what was measured."""
    x, y, half = centre.x(), centre.y(), DIAMOND_HALF
    corners = ((x - half, y), (x, y - half), (x + half, y), (x, y + half))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(look.colour("window"), 1.5))
    painter.setBrush(look.colour("text"))
    painter.drawPolygon([QPointF(*corner) for corner in corners])
    painter.restore()


def place_entries(texts: Sequence[str], look: ChartLook, width: float) -> list[Entry]:
    """Put entries side by side, in as few lines as they take, and those about equally long: none stands alone."""
    widths = tuple(SWATCH + GAP + look.width("caption", translated(text)) for text in texts)
    lines = even_lines(widths, width)
    entries, left = [], 0.0
    for at, (text, needed, line) in enumerate(zip(texts, widths, lines, strict=True)):
        left = left if at and lines[at - 1] == line else 0.0
        entries.append(Entry(text, left, line))
        left += needed + BETWEEN
    return entries


@lru_cache(maxsize=64)
def even_lines(widths: tuple[float, ...], room: float) -> tuple[int, ...]:
    """The line of each entry: as few lines as the room needs, and the longest of them as short as it can be.

    >>> even_lines((100, 50, 80, 40, 30), 280), even_lines((100, 50, 80, 40, 30), 1000)
    ((0, 0, 1, 1, 1), (0, 0, 0, 0, 0))
    """
    lines = lines_of(widths, room)
    if lines and lines[-1]:
        ends = range(1, len(widths) + 1)
        rooms = sorted(sum(widths[start:end]) + BETWEEN * (end - 1 - start) for end in ends for start in range(end))
        lines = next(found for narrower in rooms if (found := lines_of(widths, narrower))[-1] == lines[-1])
    return tuple(lines)


def lines_of(widths: Sequence[float], room: float) -> list[int]:
    """The line of each entry, where a line takes as many as it has room for, and one at least.

    >>> lines_of([100, 50, 80, 40], 200)
    [0, 0, 1, 1]
    """
    lines, left, line = [], 0.0, 0
    for needed in widths:
        if left and left + needed > room:
            left, line = 0.0, line + 1
        lines.append(line)
        left += needed + BETWEEN
    return lines


def legend_height(entries: Sequence[Entry], look: ChartLook) -> float:
    """The height of the placed entries."""
    return (entries[-1].line + 1) * LINE_HEIGHT * look.zoom if entries else 0.0


def paint_legend(painter: QPainter, entries: Sequence[Entry], origin: QPointF, look: ChartLook) -> None:
    """Paint the placed entries."""
    line_height = LINE_HEIGHT * look.zoom
    painter.save()
    for entry in entries:
        top = origin.y() + entry.line * line_height
        middle = round(top + line_height / 2) + 0.5
        swatch = QRectF(round(origin.x() + entry.left) + 0.5, middle - SWATCH // 2 - 0.5, SWATCH, SWATCH)
        _paint_swatch(painter, entry.text, swatch, look)
        painter.setPen(look.colour("muted"))
        look.write(painter, "caption", translated(entry.text), QRectF(swatch.right() + GAP, top, 0, line_height))
    painter.restore()


def _paint_swatch(painter: QPainter, text: str, swatch: QRectF, look: ChartLook) -> None:
    if text == BEYOND:
        hatch(painter, swatch, look.colour("does_not_fit"), rising=False, width=2)
        painter.setPen(QPen(look.colour("does_not_fit"), 1))
        painter.drawRect(swatch)
    elif text == MEASURED:
        paint_diamond(painter, look, swatch.center())
    elif text == USABLE:
        painter.setPen(usable_pen(look))
        painter.drawLine(
            QPointF(swatch.center().x(), swatch.top() - 2), QPointF(swatch.center().x(), swatch.bottom() + 2)
        )
    elif text == NEED:
        middle = swatch.center().y()
        painter.setPen(QPen(look.colour("text"), 2))
        painter.drawLine(QPointF(swatch.left(), middle), QPointF(swatch.right(), middle))
        for x in (swatch.left(), swatch.right()):
            painter.drawLine(QPointF(x, middle - 4), QPointF(x, middle + 4))
    else:
        fill_term(painter, swatch, text, look.colour("outline"))
