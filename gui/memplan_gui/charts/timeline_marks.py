"""The marks of the timeline: a stacked area over the moments of a step, painted alike on screen and in exports."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyqtgraph.functions import arrayToQPolygonF
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF

from memplan import TERM_LOOKS, format_bytes, text_on, tr_later, translated
from memplan_gui.charts.areas import Point, draw_hatch, hatch_area, hatch_lines
from memplan_gui.charts.look import ChartLook
from memplan_gui.charts.scale import Scale, axis_end, value_ticks
from memplan_gui.presenters.labels import peak_figure, usable_label
from memplan_gui.presenters.timeline import Moment, Span, TimelineChart

PIXELS_PER_TICK = 34
TOP, RIGHT = 24.0, 10.0
PART_ROW = 20.0
OVER_SPACING = 13.0
LEAST_TOOTH = 8.0
"""Pixels of a layer."""
LEAST_HATCHED = 4.0
"""Pixels of a band; in a lower one hatching is noise."""
SHORT = {
    "Optimizer step": (tr_later("Optimizer"), tr_later("Step")),
    "Backward": (tr_later("Back"),),
    "Forward": (tr_later("Fwd"),),
    "Loaded": (tr_later("Load"),),
}
USABLE_GAP = 4
"""Between the usable line and its words."""
PEAK_GAP = 11
"""Between the peak and its figure: its triangle stands there."""
MOST_ABOVE = 0.4
"""Of the chart's height: what these words take of one that is very low."""
Pixels: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class TimelineMarks:
    """What is painted where."""

    chart: TimelineChart
    area: QRectF
    """Inside the axes."""
    scale: Scale
    """From bytes to pixels from the top."""
    look: ChartLook

    def x(self, at: float) -> float:
        """The pixel of a place along the step."""
        return self.area.left() + at / self.chart.width * self.area.width()

    def moment_at(self, x: float) -> int:
        """The stop of the cursor that is nearest to a pixel."""
        stops, middles = self.chart.stops, self._middles
        after = min(bisect_left(middles, x), len(stops) - 1)
        moment = self.chart.moments[stops[after]]
        if after and self.x(moment.start) > x and x - middles[after - 1] < middles[after] - x:
            after -= 1
        return stops[after]

    @cached_property
    def _middles(self) -> list[float]:
        return [self.x(self.chart.moments[at].middle) for at in self.chart.stops]

    @cached_property
    def _drawn(self) -> tuple[Moment, ...]:
        """Every moment where layers are wide enough for teeth; else of each layer its fullest: teeth would be ink."""
        moments = self.chart.moments
        if self.area.width() / self.chart.width >= LEAST_TOOTH:
            return moments
        layers = groupby(moments, key=lambda one: (one.point.instant.name, one.point.layer or one.start))
        return tuple(max(group, key=lambda one: one.total) for _, group in layers)

    @cached_property
    def _corners(self) -> tuple[tuple[Moment, float], ...]:
        """Every corner of the curve: its moment and its place along the step."""
        corners = []
        for moment in self._drawn:
            corners.append((moment, moment.start))
            if moment.point.width:
                corners.append((moment, moment.end))
        return tuple(corners)

    @cached_property
    def xs(self) -> Pixels:
        """The pixel from the left of every corner."""
        places = np.array([at for _, at in self._corners])
        return self.area.left() + places * (self.area.width() / self.chart.width)

    @cached_property
    def tops(self) -> Pixels:
        """The pixel from the top of each term's upper edge, in stack order, at every corner: terms x corners."""
        held = [moment.point.instant.bytes_by_term for moment, _ in self._corners]
        sizes = np.array([[one.get(term, 0) for one in held] for term in self.chart.terms], dtype=np.float64)
        floor = self.scale.x(0)
        return floor + np.cumsum(sizes, axis=0) * ((self.scale.x(self.scale.high) - floor) / self.scale.high)


def marks_of(chart: TimelineChart, look: ChartLook, place: QRectF) -> TimelineMarks:
    """Lay the chart out in a rectangle."""
    foot, top = 4 + (2 if chart.steps else 1) * PART_ROW * look.zoom, TOP * look.zoom
    height = max(place.height() - top - foot, 1.0)
    line = _room((look.height("caption") + USABLE_GAP + 2) / height)  # words stand over the line, in the chart
    peak = _room((look.height("bold") + PEAK_GAP + 4) / height)
    end = max(axis_end(chart.fullest.total, chart.usable, peak), chart.usable / (1 - line))
    ticks = value_ticks(0.0, end, chart.unit, _tick_count(height, look))
    left = max((look.width("caption", tick.label) for tick in ticks), default=0.0) + 12
    area = QRectF(round(place.left() + left), round(place.top() + top), place.width() - left - RIGHT, height)
    return TimelineMarks(chart, area, Scale(0.0, end, area.bottom(), area.top()), look)


def _room(share: float) -> float:
    return min(share, MOST_ABOVE)


def paint_timeline(painter: QPainter, marks: TimelineMarks) -> None:
    """Paint grid, areas, what is beyond the usable line, that line, the parts below and the peak."""
    painter.save()
    _paint_grid(painter, marks)
    _paint_areas(painter, marks)
    _paint_beyond(painter, marks)
    _paint_parts(painter, marks)
    _paint_usable(painter, marks)
    _paint_peak(painter, marks)
    painter.restore()


def paint_cursor(painter: QPainter, marks: TimelineMarks, at: int) -> None:
    """Paint a line at a moment, and a dot on its top, where the peak's own mark does not stand."""
    moment, area = marks.chart.moments[at], marks.area
    x, y = round(marks.x(moment.middle)) + 0.5, marks.scale.x(moment.total)
    painter.save()
    for colour, width in (("window", 4), ("accent", 2)):
        painter.setPen(QPen(marks.look.colour(colour), width))
        painter.drawLine(QPointF(x, y), QPointF(x, area.bottom()))
    if at != marks.chart.peak:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setPen(QPen(marks.look.colour("window"), 2))
        painter.setBrush(marks.look.colour("accent"))
        painter.drawEllipse(QPointF(x, y), 5, 5)
    painter.restore()


def _tick_count(height: float, look: ChartLook) -> int:
    return max(2, int(height / (PIXELS_PER_TICK * look.zoom)))


def _paint_grid(painter: QPainter, marks: TimelineMarks) -> None:
    look, area, scale = marks.look, marks.area, marks.scale
    for tick in value_ticks(scale.low, scale.high, marks.chart.unit, _tick_count(area.height(), look)):
        y = round(scale.x(tick.num_bytes)) + 0.5
        painter.setPen(QPen(look.colour("hairline" if tick.num_bytes else "border"), 1))
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        painter.setPen(look.colour("muted"))
        look.write(painter, "caption", tick.label, QRectF(area.left() - 8, y - 10, 0, 20), "right")


def _paint_areas(painter: QPainter, marks: TimelineMarks) -> None:
    painter.save()
    xs, floor = marks.xs, np.full(len(marks.xs), marks.area.bottom())
    around = np.concatenate((xs, xs[::-1]))
    for term, top in zip(marks.chart.terms, marks.tops, strict=True):
        edge, look = np.concatenate((top, floor[::-1])), TERM_LOOKS[term]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)  # outlines have it; it takes long over areas
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(marks.look.colour(look.colour))
        painter.drawPolygon(arrayToQPolygonF(around, edge))
        if look.hatched and (floor - top).max() >= LEAST_HATCHED:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            shape = list(zip(around.tolist(), edge.tolist(), strict=True))
            hatch_area(painter, shape, marks.look.colour(text_on(look.colour)))
        floor = top
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(marks.look.colour("outline"))
    for top in marks.tops:
        painter.drawPolyline(arrayToQPolygonF(xs, top))
    painter.restore()


def _paint_beyond(painter: QPainter, marks: TimelineMarks) -> None:
    """Hatch what no device of the kind holds."""
    line = marks.scale.x(marks.chart.usable)
    curve = zip(marks.xs.tolist(), marks.tops[-1].tolist(), strict=True)
    over = above(curve, line) if marks.chart.overflows else []
    if not over:
        return
    shape = [*over, (over[-1][0], line), (over[0][0], line)]
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    colour = marks.look.colour("does_not_fit")
    lines = hatch_lines(shape, rising=False, spacing=OVER_SPACING)
    draw_hatch(painter, lines, marks.look.colour("window"), 4)
    draw_hatch(painter, lines, colour, 2)
    painter.setPen(QPen(colour, 2))
    painter.drawLines([QLineF(*a, *b) for a, b in pairwise(over) if min(a[1], b[1]) < line])
    painter.restore()


def above(top: Iterable[Point], line: float) -> list[Point]:
    """A curve where it is above a level line (smaller is higher), and the line elsewhere; with the crossings.

    >>> above([(0, 60), (10, 40)], 50)
    [(0, 50), (5.0, 50), (10, 40)]
    """
    found: list[Point] = []
    before: Point | None = None
    for x, y in top:
        if before is not None and (before[1] < line) != (y < line):
            part = (line - before[1]) / (y - before[1])
            found.append((before[0] + part * (x - before[0]), line))
        found.append((x, min(y, line)))
        before = x, y
    return found


def _paint_parts(painter: QPainter, marks: TimelineMarks) -> None:
    area, height = marks.area, PART_ROW * marks.look.zoom
    for row, spans in enumerate((marks.chart.parts, marks.chart.steps)):
        top = area.bottom() + 2 + row * height
        places = [(span, marks.x(span.start), marks.x(span.end)) for span in spans]
        ends = sorted({round(x) + 0.5 for _, left, right in places for x in (left, right)})
        painter.setPen(marks.look.colour("border"))
        painter.drawLines([QLineF(x, area.bottom(), x, top + height - 2) for x in ends])
        for span, left, right in places:
            _write_title(painter, marks, span, QRectF(left, top, right - left, height))


def _write_title(painter: QPainter, marks: TimelineMarks, span: Span, place: QRectF) -> None:
    """The longest of a part's titles that has room."""
    look = marks.look
    for title in map(translated, (span.title, *SHORT.get(span.title, ()))):
        if look.width("caption", title) <= place.width() - 4:
            painter.setPen(look.colour("text"))
            look.write(painter, "caption", title, place, "centre")
            return


def _paint_usable(painter: QPainter, marks: TimelineMarks) -> None:
    area, look, chart = marks.area, marks.look, marks.chart
    y = round(marks.scale.x(chart.usable)) + 0.5
    pen = QPen(look.colour("text"), 2)
    pen.setDashPattern([3, 2])
    painter.setPen(pen)
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
    peak, height = _peak_place(marks), look.height("caption")
    place = QRectF(area.left() + 8, y - height - USABLE_GAP, area.width(), height)
    if place.intersects(peak):
        place.setRight(peak.left() - 12)
    text = look.elided("caption", usable_label(chart.usable, chart.unit, chart.device), place.width())
    place.setWidth(look.width("caption", text))
    painter.fillRect(place.adjusted(-4, -1, 4, 1), look.colour("window"))
    painter.setPen(look.colour("text"))
    look.write(painter, "caption", text, place)


def _peak_text(marks: TimelineMarks) -> str:
    return peak_figure(format_bytes(marks.chart.fullest.total, marks.chart.unit))


def _peak_place(marks: TimelineMarks) -> QRectF:
    """Where the figure of the peak stands: above it, and within the chart."""
    top, area, look = marks.chart.fullest, marks.area, marks.look
    x, y = marks.x(top.middle), marks.scale.x(top.total) - 2
    width, height = look.width("bold", _peak_text(marks)), look.height("bold")
    left = min(max(x - width / 2, area.left() + 2), area.right() - width - 2)
    return QRectF(left, y - height - PEAK_GAP, width, height)


def _paint_peak(painter: QPainter, marks: TimelineMarks) -> None:
    """The fullest moment: a triangle on its top, its figure above."""
    top, look = marks.chart.fullest, marks.look
    x, y = marks.x(top.middle), marks.scale.x(top.total) - 2
    place = _peak_place(marks)
    painter.fillRect(place.adjusted(-4, -1, 4, 1), look.colour("window"))
    painter.setPen(look.colour("text"))
    look.write(painter, "bold", _peak_text(marks), place)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(look.colour("text"))
    painter.setPen(QPen(look.colour("window"), 1))
    painter.drawPolygon(QPolygonF([QPointF(x - 5, y - 8), QPointF(x + 5, y - 8), QPointF(x, y)]))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setBrush(Qt.BrushStyle.NoBrush)
