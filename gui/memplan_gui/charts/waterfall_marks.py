"""The marks of a waterfall: one peak, what each step takes away or adds, another peak."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter, QPen

from memplan import format_bytes
from memplan_gui.charts.axis import axis_height, paint_axis, paint_grid
from memplan_gui.charts.legend import BEYOND, USABLE, Entry, legend_height, paint_legend, place_entries
from memplan_gui.charts.look import ChartLook, fill_term
from memplan_gui.charts.picture import wrap
from memplan_gui.charts.row_pieces import (
    GAP,
    names_width,
    paint_figure,
    paint_name,
    paint_over,
    paint_size,
    paint_usable_label,
    top_of,
    usable_pen,
)
from memplan_gui.charts.scale import Scale, axis_end
from memplan_gui.presenters.labels import usable_label
from memplan_gui.presenters.verdict import ICONS
from memplan_gui.presenters.waterfall import Waterfall, WaterfallRow

ROW_HEIGHT = 30.0
BAR_HEIGHT = 20.0
LEGEND_GAP = 4.0


@dataclass(frozen=True, slots=True)
class WaterfallMarks:
    """What is painted where."""

    chart: Waterfall
    area: QRectF
    """Inside the axes: bars start at its left."""
    scale: Scale
    look: ChartLook

    @property
    def row_height(self) -> float:
        """The height of a row."""
        return ROW_HEIGHT * self.look.zoom

    def bar_rect(self, row: int, start: float, end: float) -> QRectF:
        """Where a part of a bar stands."""
        height = BAR_HEIGHT * self.look.zoom
        top = self.area.top() + row * self.row_height + (self.row_height - height) / 2
        left, right = self.scale.x(start), self.scale.x(end)
        return QRectF(left, round(top) + 0.5, right - left, height)

    def row_at(self, point: QPointF) -> int | None:
        """The row under a point."""
        row = int((point.y() - self.area.top()) // self.row_height)
        return row if 0 <= row < len(self.chart.rows) else None


def height_of(chart: Waterfall, look: ChartLook, width: float) -> int:
    """The height that all rows, the axis, the legend and the note take in a width."""
    marks = marks_of(chart, look, width)
    lines = len(_note_lines(marks))
    note = lines * _line_height(look) + (LEGEND_GAP if lines else 0)
    return round(_legend_top(marks) + legend_height(legend_of(marks), look) + note)


def legend_of(marks: WaterfallMarks) -> list[Entry]:
    """What the legend names, placed: terms, what is beyond usable, the dashed line where each peak has its own."""
    chart = marks.chart
    texts = [*chart.terms, *([BEYOND] if chart.overflows else []), *([] if chart.device else [USABLE])]
    return place_entries(texts, marks.look, marks.area.right())


def _legend_top(marks: WaterfallMarks) -> float:
    return marks.area.bottom() + axis_height(marks.look) + LEGEND_GAP


def _note_lines(marks: WaterfallMarks) -> list[str]:
    note = marks.chart.note
    return wrap(marks.look, "caption", note, marks.area.right()) if note else []


def _line_height(look: ChartLook) -> float:
    return look.height("caption") + 2


def _paint_note(painter: QPainter, marks: WaterfallMarks, top: float) -> None:
    """What colours cannot say of the bars, under what they are named by."""
    height = _line_height(marks.look)
    painter.setPen(marks.look.colour("muted"))
    for at, line in enumerate(_note_lines(marks)):
        place = QRectF(0, top + at * height, marks.area.right(), height)
        marks.look.write(painter, "caption", line, place)


def marks_of(chart: Waterfall, look: ChartLook, width: float) -> WaterfallMarks:
    """Lay the chart out in a width."""
    left = names_width(look, [row.title for row in chart.rows], width)
    figures = max(look.width("bold", row.figure) for row in chart.rows) + 2 * GAP
    rows = len(chart.rows) * ROW_HEIGHT * look.zoom
    area = QRectF(left, top_of(look), max(width - left - 2 * GAP, 40.0), rows)
    end = axis_end(chart.longest, chart.usable, figures / area.width())
    return WaterfallMarks(chart, area, Scale(0.0, end, area.left(), area.right()), look)


def paint_waterfall(painter: QPainter, marks: WaterfallMarks) -> None:
    """Paint names, bars, the lines that join them, the usable line, figures and the axis."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    paint_grid(painter, marks.chart.unit, marks.area, marks.scale, marks.look)
    paint_axis(painter, marks.chart.unit, marks.area, marks.scale, marks.look)
    for row, one in enumerate(marks.chart.rows):
        strip = QRectF(0, marks.area.top() + row * marks.row_height, marks.area.left(), marks.row_height)
        sign = (ICONS[one.verdict], one.verdict) if one.is_whole else None
        paint_name(painter, marks.look, strip, one.title, bold=one.is_whole, sign=sign)
        _paint_bar(painter, marks, row, one)
        _paint_join(painter, marks, row)
    _paint_usable(painter, marks)
    for row, one in enumerate(marks.chart.rows):
        paint_figure(painter, marks.look, marks.bar_rect(row, one.end, one.end), one.figure, bold=one.is_whole)
    legend = legend_of(marks)
    paint_legend(painter, legend, QPointF(0, _legend_top(marks)), marks.look)
    _paint_note(painter, marks, _legend_top(marks) + legend_height(legend, marks.look) + LEGEND_GAP)
    painter.restore()


def _paint_bar(painter: QPainter, marks: WaterfallMarks, row: int, one: WaterfallRow) -> None:
    look = marks.look
    for segment in one.segments:
        rect = marks.bar_rect(row, segment.start, segment.end)
        fill_term(painter, rect, segment.term, look.colour("outline"))
    if not one.segments:  # nothing moves: an empty bar says so
        painter.setPen(QPen(look.colour("text"), 1))
        painter.drawRect(marks.bar_rect(row, one.start, one.end))
    if one.usable is not None and one.end > one.usable:
        paint_over(painter, look, marks.bar_rect(row, one.usable, one.end))
    for segment in () if one.is_scaled else one.segments:
        rect = marks.bar_rect(row, segment.start, segment.end)
        figure = format_bytes(segment.size, marks.chart.unit).split(" ")[0]
        usable = marks.chart.usable if one.usable is None else one.usable
        paint_size(painter, look, rect, segment.term, figure, marks.scale.x(usable))


def _paint_join(painter: QPainter, marks: WaterfallMarks, row: int) -> None:
    """A line from where a bar leaves the need to the next bar."""
    rows = marks.chart.rows
    if row + 1 == len(rows):
        return
    one, following = rows[row], rows[row + 1]
    x = round(marks.scale.x(one.level)) + 0.5
    painter.setPen(QPen(marks.look.colour("muted"), 1))
    top, bottom = marks.bar_rect(row, 0, 0).bottom(), marks.bar_rect(row + 1, following.start, following.end).top()
    painter.drawLine(QPointF(x, top), QPointF(x, bottom))


def _paint_usable(painter: QPainter, marks: WaterfallMarks) -> None:
    chart, look, area = marks.chart, marks.look, marks.area
    painter.setPen(usable_pen(look))
    if not chart.device:  # each peak against its own device
        for row, one in enumerate(chart.rows):
            if one.usable is not None:
                bar = marks.bar_rect(row, one.usable, one.usable)
                x = round(bar.left()) + 0.5
                painter.drawLine(QPointF(x, bar.top() - 4), QPointF(x, bar.bottom() + 4))
        return
    x = round(marks.scale.x(chart.usable)) + 0.5
    painter.drawLine(QPointF(x, area.top() - 2), QPointF(x, area.bottom()))
    text = usable_label(chart.usable, chart.unit, chart.device)
    paint_usable_label(painter, look, area, x, text)
