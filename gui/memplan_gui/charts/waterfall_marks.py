"""The marks of the waterfall: the peak now, what each lever takes away of it, the peak then."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from memplan import TERM_LOOKS, format_bytes, text_on
from memplan_gui.charts.axis import AXIS_HEIGHT, paint_axis, paint_grid
from memplan_gui.charts.legend import BEYOND, legend_height, paint_legend, place_entries
from memplan_gui.charts.look import ChartLook, TextKind, fill_term, hatch
from memplan_gui.charts.scale import Scale, axis_end
from memplan_gui.icons import paint_icon
from memplan_gui.presenters.make_fit import Waterfall, WaterfallRow
from memplan_gui.presenters.stack import Segment
from memplan_gui.presenters.verdict import ICONS

TOP = 20.0
ROW_HEIGHT = 30.0
BAR_HEIGHT = 20.0
ICON = 14.0
GAP = 8.0
MOST_NAME_SHARE = 0.3
OVER_SPACING = 13.0
LEGEND_GAP = 4.0


@dataclass(frozen=True, slots=True)
class WaterfallMarks:
    """What is painted where."""

    chart: Waterfall
    area: QRectF
    """Inside the axes: bars start at its left."""
    scale: Scale
    look: ChartLook

    def bar_rect(self, row: int, start: float, end: float) -> QRectF:
        """Where a part of a bar stands."""
        top = self.area.top() + row * ROW_HEIGHT + (ROW_HEIGHT - BAR_HEIGHT) / 2
        left, right = self.scale.x(start), self.scale.x(end)
        return QRectF(left, round(top) + 0.5, right - left, BAR_HEIGHT)

    def row_at(self, point: QPointF) -> int | None:
        """The row under a point."""
        row = int((point.y() - self.area.top()) // ROW_HEIGHT)
        return row if 0 <= row < len(self.chart.rows) else None


def height_of(chart: Waterfall, look: ChartLook, width: float) -> int:
    """The height that all rows, the axis and the legend take in a width."""
    legend = legend_height(place_entries(_legend_texts(chart), look, width))
    return round(TOP + len(chart.rows) * ROW_HEIGHT + AXIS_HEIGHT + LEGEND_GAP + legend)


def _legend_texts(chart: Waterfall) -> list[str]:
    return [*chart.terms, *([BEYOND] if chart.overflows else [])]


def marks_of(chart: Waterfall, look: ChartLook, width: float) -> WaterfallMarks:
    """Lay the chart out in a width."""
    names = max(look.width("bold", row.title) for row in chart.rows)
    left = min(names, width * MOST_NAME_SHARE) + ICON + 3 * GAP
    figures = max(look.width("bold", row.figure) for row in chart.rows) + 2 * GAP
    area = QRectF(left, TOP, max(width - left - 2 * GAP, 40.0), len(chart.rows) * ROW_HEIGHT)
    end = axis_end(chart.longest, chart.usable, figures / area.width())
    return WaterfallMarks(chart, area, Scale(0.0, end, area.left(), area.right()), look)


def paint_waterfall(painter: QPainter, marks: WaterfallMarks) -> None:
    """Paint names, bars, the lines that join them, the usable line, figures and the axis."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    paint_grid(painter, marks.chart.unit, marks.area, marks.scale, marks.look)
    paint_axis(painter, marks.chart.unit, marks.area, marks.scale, marks.look)
    for row, one in enumerate(marks.chart.rows):
        _paint_name(painter, marks, row, one)
        _paint_bar(painter, marks, row, one)
        _paint_join(painter, marks, row)
    _paint_usable(painter, marks)
    for row, one in enumerate(marks.chart.rows):
        _paint_figure(painter, marks, row, one)
    entries = place_entries(_legend_texts(marks.chart), marks.look, marks.area.right())
    paint_legend(painter, entries, QPointF(0, marks.area.bottom() + AXIS_HEIGHT + LEGEND_GAP), marks.look)
    painter.restore()


def _paint_name(painter: QPainter, marks: WaterfallMarks, row: int, one: WaterfallRow) -> None:
    look, top = marks.look, marks.area.top() + row * ROW_HEIGHT
    sign = QRectF(GAP / 2, top + (ROW_HEIGHT - ICON) / 2, ICON, ICON)
    if one.is_whole:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        paint_icon(painter, ICONS[one.verdict], sign, look.colour(one.verdict))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    kind: TextKind = "bold" if one.is_whole else "body"
    place = QRectF(sign.right() + GAP, top, marks.area.left() - sign.right() - 2 * GAP, ROW_HEIGHT)
    painter.setPen(look.colour("text"))
    look.write(painter, kind, look.elided(kind, one.title, place.width()), place)


def _paint_bar(painter: QPainter, marks: WaterfallMarks, row: int, one: WaterfallRow) -> None:
    look = marks.look
    for segment in one.segments:
        rect = marks.bar_rect(row, segment.start, segment.end)
        fill_term(painter, rect, segment.term, look.colour("text"))
    if not one.segments:  # the lever takes more, or nothing: an empty bar says so
        painter.setPen(QPen(look.colour("text"), 1))
        painter.drawRect(marks.bar_rect(row, one.start, one.end))
    if one.is_whole and one.end > marks.chart.usable:
        over = marks.bar_rect(row, marks.chart.usable, one.end)
        hatch(painter, over, look.colour("does_not_fit"), rising=False, width=2, spacing=OVER_SPACING)
        painter.setPen(QPen(look.colour("does_not_fit"), 2))
        painter.drawRect(over)
    for segment in one.segments:
        _paint_size(painter, marks, row, segment)


def _paint_size(painter: QPainter, marks: WaterfallMarks, row: int, segment: Segment) -> None:
    """A segment's size on it; a patch of its colour keeps hatching and the usable line away from the digits."""
    look, term = marks.look, TERM_LOOKS[segment.term]
    rect = marks.bar_rect(row, segment.start, segment.end)
    line = marks.scale.x(marks.chart.usable)
    if rect.left() < line < rect.right():  # the usable line must not cross the digits: they go to its wider side
        left, right = line - rect.left(), rect.right() - line
        rect = QRectF(rect.left() if left > right else line, rect.top(), max(left, right), rect.height())
    figure = format_bytes(segment.size, marks.chart.unit).split(" ")[0]
    width = look.width("caption", figure)
    if width + GAP > rect.width():
        return
    patch = QRectF(rect.center().x() - width / 2 - 3, rect.top() + 2, width + 6, rect.height() - 4)
    painter.fillRect(patch, look.colour(term.colour))
    painter.setPen(look.colour(text_on(term.colour)))
    look.write(painter, "caption", figure, rect, "centre")


def _paint_join(painter: QPainter, marks: WaterfallMarks, row: int) -> None:
    """A line from where a bar leaves the need to the next bar."""
    rows = marks.chart.rows
    if row + 1 == len(rows):
        return
    one, following = rows[row], rows[row + 1]
    level = one.end if one.is_whole else one.start if one.segments else one.end
    x = round(marks.scale.x(level)) + 0.5
    painter.setPen(QPen(marks.look.colour("muted"), 1))
    top, bottom = marks.bar_rect(row, 0, 0).bottom(), marks.bar_rect(row + 1, following.start, following.end).top()
    painter.drawLine(QPointF(x, top), QPointF(x, bottom))


def _paint_usable(painter: QPainter, marks: WaterfallMarks) -> None:
    chart, look, area = marks.chart, marks.look, marks.area
    x = round(marks.scale.x(chart.usable)) + 0.5
    pen = QPen(look.colour("text"), 2)
    pen.setStyle(Qt.PenStyle.CustomDashLine)
    pen.setDashPattern([3, 2])
    painter.setPen(pen)
    painter.drawLine(QPointF(x, area.top() - 2), QPointF(x, area.bottom()))
    text = look.elided("caption", f"{format_bytes(chart.usable, chart.unit)} usable · {chart.device}", area.width())
    width = look.width("caption", text)
    left = min(max(x - width / 2, area.left()), area.right() - width)
    look.write(painter, "caption", text, QRectF(left, 0, width, TOP - 4))


def _paint_figure(painter: QPainter, marks: WaterfallMarks, row: int, one: WaterfallRow) -> None:
    look = marks.look
    kind: TextKind = "bold" if one.is_whole else "body"
    end = marks.bar_rect(row, one.end, one.end)
    place = QRectF(end.left() + GAP, end.top(), look.width(kind, one.figure), end.height())
    painter.fillRect(place.adjusted(-2, 2, 2, -2), look.colour("window"))
    painter.setPen(look.colour("text"))
    look.write(painter, kind, one.figure, place)
