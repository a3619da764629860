"""The marks of the devices: a bar of the need for each, against what that device gives."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from memplan import Unit, fit_tone, margin_words, tr
from memplan_gui.charts.axis import AXIS_HEIGHT, paint_axis, paint_grid
from memplan_gui.charts.fit_bar import is_torn, paint_fit_bar
from memplan_gui.charts.look import ChartLook
from memplan_gui.charts.row_pieces import GAP, OVER_SPACING, names_width, paint_figure, paint_name
from memplan_gui.charts.scale import Scale
from memplan_gui.presenters.fit import FitRow, bar_end
from memplan_gui.presenters.verdict import ICONS

ROW_HEIGHT = 26.0
BAR_HEIGHT = 13.0
MOST_ROWS = 30
"""More find no room on a slide; the rest is counted in words, and the table has them all."""


@dataclass(frozen=True, slots=True)
class FitChart:
    """The devices that are painted, in their order."""

    rows: tuple[FitRow, ...]
    every: int
    """How many there are, those included that find no room."""
    unit: Unit

    @property
    def note(self) -> str:
        """What the marks are, and how many devices are not painted."""
        marks = tr("Frame: what the device gives. Filled: the need, with its band under it. Hatched: what is beyond.")
        if any(is_torn(row.fit, bar_end(self.rows)) for row in self.rows):
            marks += " " + tr("Torn off: the device gives more.")
        left = self.every - len(self.rows)
        more = tr("{count} more in the table.").format(count=left)
        return f"{marks} {more}" if left > 0 else marks


def fit_chart(rows: list[FitRow], unit: Unit) -> FitChart:
    """The first of the rows, as many as find room, and the plan's own device wherever it stands."""
    own = [row for row in rows[MOST_ROWS - 1 :] if row.is_own]
    return FitChart((*rows[: MOST_ROWS - len(own)], *own), len(rows), unit)


@dataclass(frozen=True, slots=True)
class FitMarks:
    """What is painted where."""

    chart: FitChart
    area: QRectF
    scale: Scale
    look: ChartLook

    def bar_rect(self, row: int, start: float, end: float) -> QRectF:
        """Where a part of a bar stands."""
        top = round(self.area.top() + row * ROW_HEIGHT + (ROW_HEIGHT - BAR_HEIGHT) / 2 - 1) + 0.5
        left, right = self.scale.x(start), self.scale.x(min(end, self.scale.high))
        return QRectF(left, top, right - left, BAR_HEIGHT)


def height_of(chart: FitChart) -> float:
    """The height of all rows, the axis and the note."""
    return len(chart.rows) * ROW_HEIGHT + AXIS_HEIGHT + ROW_HEIGHT


def marks_of(chart: FitChart, look: ChartLook, width: float) -> FitMarks:
    """Lay the chart out in a width."""
    left = names_width(look, [row.device.name for row in chart.rows], width)
    figures = max((look.width("body", _figure(row, chart.unit)) for row in chart.rows), default=0.0) + 2 * GAP
    area = QRectF(left, 0, max(width - left - figures, 40.0), len(chart.rows) * ROW_HEIGHT)
    return FitMarks(chart, area, Scale(0.0, bar_end(chart.rows), area.left(), area.right()), look)


def paint_fit(painter: QPainter, marks: FitMarks) -> None:
    """Paint names with their verdicts, bars, what is free, and the axis."""
    look, area = marks.look, marks.area
    paint_grid(painter, marks.chart.unit, area, marks.scale, look)
    paint_axis(painter, marks.chart.unit, area, marks.scale, look)
    for at, row in enumerate(marks.chart.rows):
        strip = QRectF(0, area.top() + at * ROW_HEIGHT, area.left(), ROW_HEIGHT)
        sign = ICONS[fit_tone(row.fit)], fit_tone(row.fit)
        paint_name(painter, look, strip, row.device.name, bold=row.is_own, sign=sign)
        _paint_bar(painter, marks, at, row)
        end = marks.bar_rect(at, marks.scale.high, marks.scale.high)
        paint_figure(painter, look, end, _figure(row, marks.chart.unit), bold=row.is_own)
    painter.setPen(look.colour("muted"))
    place = QRectF(0, area.bottom() + AXIS_HEIGHT, area.right(), ROW_HEIGHT)
    look.write(painter, "caption", marks.chart.note, place)


def _paint_bar(painter: QPainter, marks: FitMarks, at: int, row: FitRow) -> None:
    """What the device gives as a frame, torn off where that is beyond the scale; the need in it, its band below."""
    place = marks.bar_rect(at, 0, marks.scale.high)
    over = 2.0, OVER_SPACING
    paint_fit_bar(painter, place, row.fit, marks.scale.high, marks.look.colour, over=over, band=2)


def _figure(row: FitRow, unit: Unit) -> str:
    """What is free, or how much is missing."""
    fit = row.fit
    amount = margin_words(fit.need_bytes, fit.need, fit.usable_bytes, unit)
    return (tr("{amount} free") if fit.headroom_bytes >= 0 else tr("{amount} over")).format(amount=amount)
