"""The marks of the timeline: a stacked area over the moments of a step, painted alike on screen and in exports."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from memplan import TERM_LOOKS, format_bytes, text_on, tr_later, translated
from memplan_gui.charts.areas import draw_hatch, hatch_area, hatch_lines
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
MOST_ABOVE = 0.4
"""Of the chart's height: what these words take of one that is very low."""


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
    def edges(self) -> tuple[tuple[Moment, float], ...]:
        """Every corner of the curve: its moment and its pixel from the left."""
        corners = []
        for moment in self._drawn:
            corners.append((moment, self.x(moment.start)))
            if moment.point.width:
                corners.append((moment, self.x(moment.end)))
        return tuple(corners)

    @cached_property
    def tops(self) -> tuple[tuple[QPointF, ...], ...]:
        """The upper edge of each term, in stack order, from left to right."""
        held = [moment.point.instant.bytes_by_term for moment, _ in self.edges]
        places, heights = [x for _, x in self.edges], [0] * len(self.edges)
        found, floor = [], self.scale.x(0)
        pixels = (self.scale.x(self.scale.high) - floor) / self.scale.high
        for term in self.chart.terms:
            heights = [height + sizes.get(term, 0) for height, sizes in zip(heights, held, strict=True)]
            found.append(tuple(QPointF(x, floor + y * pixels) for x, y in zip(places, heights, strict=True)))
        return tuple(found)


def marks_of(chart: TimelineChart, look: ChartLook, place: QRectF) -> TimelineMarks:
    """Lay the chart out in a rectangle."""
    foot, top = 4 + (2 if chart.steps else 1) * PART_ROW * look.zoom, TOP * look.zoom
    height = place.height() - top - foot
    above = (look.height("caption") + USABLE_GAP + 2) / max(height, 1.0)  # the usable line's words stand in the chart
    end = max(axis_end(chart.fullest.total, chart.usable, 0.08), chart.usable / (1 - min(above, MOST_ABOVE)))
    ticks = value_ticks(0.0, end, chart.unit, _tick_count(height, look))
    left = max((look.width("caption", tick.label) for tick in ticks), default=0.0) + 12
    area = QRectF(round(place.left() + left), round(place.top() + top), place.width() - left - RIGHT, height)
    return TimelineMarks(chart, area, Scale(0.0, end, area.bottom(), area.top()), look)


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
    floor = tuple(QPointF(x, marks.area.bottom()) for _, x in marks.edges)
    outline = QPen(marks.look.colour("outline"), 1)
    for term, top in zip(marks.chart.terms, marks.tops, strict=True):
        shape, look = [*top, *reversed(floor)], TERM_LOOKS[term]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)  # outlines have it; it takes long over areas
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(look.colour))
        painter.drawPolygon(QPolygonF(shape))
        if look.hatched and max(low.y() - high.y() for low, high in zip(floor, top, strict=True)) >= LEAST_HATCHED:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            hatch_area(painter, shape, QColor(text_on(look.colour)))
        floor = top
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(outline)
    for top in marks.tops:
        painter.drawPolyline(QPolygonF(top))
    painter.restore()


def _paint_beyond(painter: QPainter, marks: TimelineMarks) -> None:
    """Hatch what no device of the kind holds."""
    line = marks.scale.x(marks.chart.usable)
    over = above(marks.tops[-1], line) if marks.chart.overflows else []
    if not over:
        return
    shape = [*over, QPointF(over[-1].x(), line), QPointF(over[0].x(), line)]
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    colour = marks.look.colour("does_not_fit")
    lines = hatch_lines(shape, rising=False, spacing=OVER_SPACING)
    draw_hatch(painter, lines, marks.look.colour("window"), 4)
    draw_hatch(painter, lines, colour, 2)
    painter.setPen(QPen(colour, 2))
    painter.drawLines([QLineF(a, b) for a, b in pairwise(over) if min(a.y(), b.y()) < line])
    painter.restore()


def above(top: Sequence[QPointF], line: float) -> list[QPointF]:
    """A curve where it is above a level line (smaller is higher), and the line elsewhere; with the crossings."""
    found: list[QPointF] = []
    before: QPointF | None = None
    for point in top:
        if before is not None and (before.y() < line) != (point.y() < line):
            part = (line - before.y()) / (point.y() - before.y())
            found.append(QPointF(before.x() + part * (point.x() - before.x()), line))
        found.append(QPointF(point.x(), min(point.y(), line)))
        before = point
    return found


def _paint_parts(painter: QPainter, marks: TimelineMarks) -> None:
    area, look, height = marks.area, marks.look, PART_ROW * marks.look.zoom
    for row, spans in enumerate((marks.chart.parts, marks.chart.steps)):
        top = area.bottom() + 2 + row * height
        for span in spans:
            left, right = marks.x(span.start), marks.x(span.end)
            painter.setPen(QPen(look.colour("border"), 1))
            for x in (left, right):
                painter.drawLine(QPointF(round(x) + 0.5, area.bottom()), QPointF(round(x) + 0.5, top + height - 2))
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
    return QRectF(left, y - height - 11, width, height)


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
