"""What charts of named rows share: names and signs, what is beyond usable, the dashed line, a figure after a bar."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from memplan import TERM_LOOKS, text_on
from memplan_gui.charts.look import ChartLook, TextKind, hatch
from memplan_gui.icons import paint_icon

ICON = 14.0
GAP = 8.0
CLEAR = 5.0
"""How far the dashed line ends from a figure that it would cross."""
_TOP = 20.0
OVER_SPACING = 13.0
_MOST_NAME_SHARE = 0.4


def top_of(look: ChartLook) -> float:
    """The room above the rows, for the words of the usable line."""
    return _TOP * look.zoom


def names_width(look: ChartLook, names: list[str], width: float) -> float:
    """The room left of the bars: the longest name, two fifths of the chart at most, and the sign before it."""
    longest = max((look.width("bold", name) for name in names), default=0.0)
    return min(longest, width * _MOST_NAME_SHARE) + ICON * look.zoom + 3 * GAP


def paint_name(
    painter: QPainter, look: ChartLook, strip: QRectF, name: str, *, bold: bool, sign: tuple[str, str] | None
) -> None:
    """Write a row's name at the right of its sign: an icon and the role that colours it. The strip ends at the bars."""
    size = ICON * look.zoom
    place = QRectF(strip.left() + GAP / 2, strip.center().y() - size / 2, size, size)
    if sign is not None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        paint_icon(painter, sign[0], place, look.colour(sign[1]))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    kind: TextKind = "bold" if bold else "body"
    left = place.right() + GAP
    words = QRectF(left, strip.top(), strip.right() - left - GAP, strip.height())
    painter.setPen(look.colour("text"))
    look.write(painter, kind, look.elided(kind, name, words.width()), words)


def paint_over(painter: QPainter, look: ChartLook, over: QRectF) -> None:
    """Hatch the part of a bar that is beyond usable."""
    hatch(painter, over, look.colour("does_not_fit"), rising=False, width=2, spacing=OVER_SPACING)
    painter.setPen(QPen(look.colour("does_not_fit"), 2))
    painter.drawRect(over)


def paint_size(painter: QPainter, look: ChartLook, rect: QRectF, term: str, figure: str, line: float) -> None:
    """Write a segment's size on it, where it has room.

    A patch of its colour keeps hatching away from the digits; where the line of what is usable crosses the segment,
    they stand on its wider side.
    """
    if rect.left() < line < rect.right():
        left, right = line - rect.left(), rect.right() - line
        rect = QRectF(rect.left() if left > right else line, rect.top(), max(left, right), rect.height())
    width, colour = look.width("caption", figure), TERM_LOOKS[term].colour
    if width + GAP > rect.width():
        return
    patch = QRectF(rect.center().x() - width / 2 - 3, rect.top() + 2, width + 6, rect.height() - 4)
    painter.fillRect(patch, look.colour(colour))
    painter.setPen(look.colour(text_on(colour)))
    look.write(painter, "caption", figure, rect, "centre")


def usable_pen(look: ChartLook) -> QPen:
    """The dashed line of what a device gives."""
    pen = QPen(look.colour("text"), 2)
    pen.setStyle(Qt.PenStyle.CustomDashLine)
    pen.setDashPattern([3, 2])
    return pen


def paint_usable_label(painter: QPainter, look: ChartLook, area: QRectF, x: float, text: str) -> None:
    """Name the dashed line at x, above the rows and within their width."""
    text = look.elided("caption", text, area.width())
    width = look.width("caption", text)
    left = min(max(x - width / 2, area.left()), area.right() - width)
    painter.setPen(look.colour("text"))
    look.write(painter, "caption", text, QRectF(left, 0, width, top_of(look) - 4))


def figure_place(look: ChartLook, kind: TextKind, figure: str, bar: QRectF) -> QRectF:
    """The rectangle that a bar's figure is written in, directly behind it; of the bar, its right edge counts.

    It is as high as its text: a dashed line that runs through it is seen above and below.
    """
    height = min(look.height(kind), bar.height())
    return QRectF(bar.right() + GAP, bar.center().y() - height / 2, look.width(kind, figure), height)


def paint_figure(painter: QPainter, look: ChartLook, bar: QRectF, figure: str, *, bold: bool) -> None:
    """Write a figure behind a bar, on the chart's ground: a line that would run through it makes room."""
    kind: TextKind = "bold" if bold else "body"
    place = figure_place(look, kind, figure, bar)
    clear_line(painter, look, place)
    painter.setPen(look.colour("text"))
    look.write(painter, kind, figure, place)


def clear_line(painter: QPainter, look: ChartLook, place: QRectF) -> None:
    """Paint the chart's ground under a figure and a little beside it: the dashed line ends before the digits."""
    painter.fillRect(place.adjusted(-CLEAR, 0, CLEAR, 0), look.colour("window"))
