"""The marks of the comparison: a stacked bar for each scenario, each against what its own device gives."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter

from memplan import Estimate, format_bytes
from memplan_gui.charts.axis import axis_height, paint_axis, paint_grid
from memplan_gui.charts.legend import BEYOND, USABLE
from memplan_gui.charts.look import ChartLook, fill_term
from memplan_gui.charts.row_pieces import (
    GAP,
    figure_place,
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
from memplan_gui.presenters.compare import Compared, Comparison
from memplan_gui.presenters.labels import usable_label

ROW_HEIGHT = 40.0
BAR_HEIGHT = 24.0


@dataclass(frozen=True, slots=True)
class CompareMarks:
    """What is painted where."""

    compared: Comparison
    area: QRectF
    """Inside the axes: bars start at its left."""
    scale: Scale
    look: ChartLook

    @property
    def row_height(self) -> float:
        """The height of a scenario's strip."""
        return ROW_HEIGHT * self.look.zoom

    def row_rect(self, row: int) -> QRectF:
        """The strip of one scenario, its name included."""
        return QRectF(0, self.area.top() + row * self.row_height, self.area.right(), self.row_height)

    def bar_rect(self, row: int, start: float, end: float) -> QRectF:
        """Where a part of a bar stands."""
        height = BAR_HEIGHT * self.look.zoom
        top = self.area.top() + row * self.row_height + (self.row_height - height) / 2
        left, right = self.scale.x(start), self.scale.x(end)
        return QRectF(left, round(top) + 0.5, right - left, height)

    def row_at(self, point: QPointF) -> int | None:
        """The scenario under a point."""
        row = int((point.y() - self.area.top()) // self.row_height)
        return row if 0 <= row < len(self.compared.scenarios) else None


def height_of(compared: Comparison, look: ChartLook) -> int:
    """The height that all rows and the axis take."""
    return round(top_of(look) + len(compared.scenarios) * ROW_HEIGHT * look.zoom + axis_height(look))


def marks_of(compared: Comparison, look: ChartLook, width: float) -> CompareMarks:
    """Lay the chart out in a width: the longest bar and the figure behind it have room."""
    left = names_width(look, [one.name for one in compared.scenarios], width)
    figures = look.width("body", format_bytes(max(compared.longest, 1), compared.unit)) + 2 * GAP
    height = len(compared.scenarios) * ROW_HEIGHT * look.zoom
    area = QRectF(left, top_of(look), max(width - left - 2 * GAP, 40.0), height)
    end = axis_end(compared.longest, compared.usable, figures / area.width())
    return CompareMarks(compared, area, Scale(0.0, end, area.left(), area.right()), look)


def total_place(marks: CompareMarks, row: int, estimate: Estimate) -> QRectF:
    """Where the peak of a scenario is written: directly behind its bar."""
    total = estimate.peak.total_bytes
    figure, bar = format_bytes(total, marks.compared.unit), marks.bar_rect(row, total, total)
    return figure_place(marks.look, "body", figure, bar)


def legend_of(compared: Comparison) -> list[str]:
    """What the legend names: terms, what is beyond usable, and the dashed line where each scenario has its own."""
    beyond = [BEYOND] if compared.overflows else []
    return [*compared.terms, *beyond, *([] if compared.shared_device or not compared.longest else [USABLE])]


def paint_comparison(painter: QPainter, marks: CompareMarks) -> None:
    """Paint names, bars, usable lines, totals and the axis."""
    painter.save()
    paint_grid(painter, marks.compared.unit, marks.area, marks.scale, marks.look)
    paint_axis(painter, marks.compared.unit, marks.area, marks.scale, marks.look)
    for row, one in enumerate(marks.compared.scenarios):
        strip = marks.row_rect(row)
        strip.setRight(marks.area.left())
        bold = row == marks.compared.current
        paint_name(painter, marks.look, strip, one.name, bold=bold, sign=(one.icon, one.role))
        if one.estimate is not None:
            _paint_bar(painter, marks, row, one, one.estimate)
    _paint_usable_label(painter, marks)
    painter.restore()


def _paint_bar(painter: QPainter, marks: CompareMarks, row: int, one: Compared, estimate: Estimate) -> None:
    look, bar = marks.look, one.bar
    assert bar is not None, "an estimate has a peak"
    for segment in bar.segments:
        rect = marks.bar_rect(row, segment.start, segment.end)
        fill_term(painter, rect, segment.term, look.colour("outline"))
    if bar.total > estimate.usable_bytes:
        paint_over(painter, look, marks.bar_rect(row, estimate.usable_bytes, bar.total))
    _paint_usable(painter, marks, row, estimate.usable_bytes)
    for segment in bar.segments:
        rect = marks.bar_rect(row, segment.start, segment.end)
        figure = format_bytes(segment.size, marks.compared.unit).split(" ")[0]
        paint_size(painter, look, rect, segment.term, figure, marks.scale.x(estimate.usable_bytes))
    figure, end = format_bytes(bar.total, marks.compared.unit), marks.bar_rect(row, bar.total, bar.total)
    paint_figure(painter, look, end, figure, bold=False)


def _paint_usable(painter: QPainter, marks: CompareMarks, row: int, usable_bytes: int) -> None:
    """What the scenario's own device gives, as a dashed line across its row."""
    strip = marks.row_rect(row)
    x = round(marks.scale.x(usable_bytes)) + 0.5
    painter.setPen(usable_pen(marks.look))
    painter.drawLine(QPointF(x, strip.top() + 3), QPointF(x, strip.bottom() - 3))


def _paint_usable_label(painter: QPainter, marks: CompareMarks) -> None:
    """Name the dashed line where it is the same for all; where it is not, the legend does, and the table says more."""
    compared = marks.compared
    if compared.shared_device:
        text = usable_label(compared.usable, compared.unit, compared.shared_device)
        paint_usable_label(painter, marks.look, marks.area, marks.scale.x(compared.usable), text)
