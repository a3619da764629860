"""The marks of the stacked chart. One function paints them on screen, in SVG, in PDF and in PNG alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF

from memplan import TERM_LOOKS, format_bytes, text_on, translated
from memplan_gui.charts.axis import paint_grid
from memplan_gui.charts.legend import paint_diamond
from memplan_gui.charts.look import ChartLook, TextKind, fill_term, hatch
from memplan_gui.charts.row_pieces import GAP, clear_line, figure_place
from memplan_gui.charts.scale import Scale, axis_end
from memplan_gui.presenters.labels import peak_figure, usable_label
from memplan_gui.presenters.stack import Bar, Segment, StackChart

MOST_BAR_HEIGHT = 44.0
BAR_SHARE = 0.66
LABEL_GAP = 12.0
LABEL_PADDING = 6.0
OVER_SPACING = 13.0
NEED_HALF = 3.0
NEED_DROP = 5.0
"""How far under its bar the band of the need stands."""
FOOT = 6.0
"""Between the last row and the axis, so that the band under its bar does not lie on the axis."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A segment of the chart: which bar, which term."""

    row: int
    term: str


@dataclass(frozen=True)
class StackMarks:
    """What is painted where: the chart, the rectangle inside its axes, the scale, and the spots to point out."""

    chart: StackChart
    area: QRectF
    scale: Scale
    look: ChartLook
    pinned: Spot | None = None
    pointed: Spot | None = None

    @cached_property
    def row_height(self) -> float:
        """The height that one bar and the space around it have."""
        return (self.area.height() - FOOT) / max(len(self.chart.bars), 1)

    @cached_property
    def _bars(self) -> tuple[tuple[float, int], ...]:
        """The top and the height of each bar, on whole pixels."""
        height = min(self.row_height * BAR_SHARE, MOST_BAR_HEIGHT)
        middles = (self.area.top() + (row + 0.5) * self.row_height for row in range(len(self.chart.bars)))
        return tuple((round(middle - height / 2) + 0.5, round(height)) for middle in middles)

    def bar_rect(self, row: int, start: float, end: float) -> QRectF:
        """Where a part of a bar stands."""
        left, (top, height) = self.scale.x(start), self._bars[row]
        return QRectF(left, top, max(self.scale.x(end) - left, 0.0), height)

    @cached_property
    def usable_x(self) -> float:
        """Where the usable line stands."""
        return self.scale.x(self.chart.usable)

    def spot_at(self, point: QPointF) -> Spot | None:
        """The segment under a point."""
        row = int((point.y() - self.area.top()) // self.row_height)
        if not 0 <= row < len(self.chart.bars) or not self.area.contains(point):
            return None
        for segment in self.chart.bars[row].segments:
            if self.bar_rect(row, segment.start, segment.end).contains(point):
                return Spot(row, segment.term)
        return None

    def need_rect(self, row: int) -> QRectF:
        """Where the band of the need stands, with room to point at it."""
        bar = self.bar_rect(row, self.chart.need_low, self.chart.need_high)
        middle = bar.bottom() + NEED_DROP
        return QRectF(bar.left(), middle - NEED_HALF, bar.width(), 2 * NEED_HALF)

    def is_on_need(self, point: QPointF) -> bool:
        """Whether a point is on the band of the need."""
        rows = (row for row, bar in enumerate(self.chart.bars) if bar.decides)
        return any(self.need_rect(row).adjusted(-3, -1, 3, 1).contains(point) for row in rows)

    def segment(self, spot: Spot) -> Segment | None:
        """The segment at a spot; None when the chart no longer has it."""
        if spot.row >= len(self.chart.bars):
            return None
        return next((part for part in self.chart.bars[spot.row].segments if part.term == spot.term), None)


def row_labels_width(chart: StackChart, look: ChartLook) -> float:
    """The room that the instants' names need, left of the bars."""
    return max((look.width("bold", bar.title) for bar in chart.bars), default=0.0) + LABEL_GAP + 12


def end_of_axis(chart: StackChart, look: ChartLook, width: float) -> float:
    """Where the axis of a chart of that width ends: its longest bar and the total behind it have room."""
    total = look.width("bold", total_text(chart, max(bar.total for bar in chart.bars), peak=True))
    share = (total + GAP + 14) / max(width, 1.0)
    return axis_end(chart.longest, chart.usable, share)


def total_place(marks: StackMarks, row: int, bar: Bar) -> QRectF:
    """Where the length of a bar is written: directly behind it, where nobody asks whose it is."""
    kind: TextKind = "bold" if bar.is_peak else "body"
    text = total_text(marks.chart, bar.total, peak=bar.is_peak)
    return figure_place(marks.look, kind, text, marks.bar_rect(row, bar.total, bar.total))


def total_text(chart: StackChart, total: int, *, peak: bool) -> str:
    """What stands behind a bar: its length; the unit and a word at the peak alone."""
    text = format_bytes(total, chart.unit)
    return peak_figure(text) if peak else text.split(" ")[0]


def paint_stack(painter: QPainter, marks: StackMarks, *, clip: bool) -> None:
    """Paint grid, bars, totals, the need's band and the usable line; `clip` keeps a zoomed chart inside its axes."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    _paint_row_labels(painter, marks)
    painter.save()
    if clip:
        painter.setClipRect(marks.area.adjusted(0, -2, 0, 2))
    paint_grid(painter, marks.chart.unit, marks.area, marks.scale, marks.look)
    for row, bar in enumerate(marks.chart.bars):
        _paint_bar(painter, marks, row, bar)
    _paint_usable_line(painter, marks)
    for row, bar in enumerate(marks.chart.bars):
        _paint_total(painter, marks, row, bar)
        if bar.decides:
            _paint_need(painter, marks, row)
            _paint_measured(painter, marks, row)
    for spot in (marks.pointed, marks.pinned):
        if spot is not None:
            _paint_spot(painter, marks, spot)
    painter.restore()
    _paint_usable_label(painter, marks)
    painter.restore()


def _paint_row_labels(painter: QPainter, marks: StackMarks) -> None:
    right = marks.area.left() - LABEL_GAP
    for row, bar in enumerate(marks.chart.bars):
        painter.setPen(marks.look.colour("text" if bar.is_peak else "muted"))
        top = marks.area.top() + row * marks.row_height
        place = QRectF(0, top, right, marks.row_height)
        marks.look.write(painter, "bold" if bar.is_peak else "body", bar.title, place, "right")
        if bar.is_peak:
            middle = top + marks.row_height / 2
            triangle = [QPointF(right + 3, middle - 4), QPointF(right + 9, middle), QPointF(right + 3, middle + 4)]
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            painter.setBrush(marks.look.colour("text"))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.drawPolygon(QPolygonF(triangle))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            painter.setBrush(Qt.BrushStyle.NoBrush)


def _paint_bar(painter: QPainter, marks: StackMarks, row: int, bar: Bar) -> None:
    outline = marks.look.colour("outline")
    placed = [(segment, marks.bar_rect(row, segment.start, segment.end)) for segment in bar.segments]
    for segment, rect in placed:
        if rect.right() < marks.area.left() or rect.left() > marks.area.right():
            continue
        fill_term(painter, rect, segment.term, outline)
    if bar.total > marks.chart.usable:
        over = marks.bar_rect(row, marks.chart.usable, bar.total)
        colour = marks.look.colour("does_not_fit")
        hatch(painter, over, marks.look.colour("window"), rising=False, width=4, spacing=OVER_SPACING)
        hatch(painter, over, colour, rising=False, width=2, spacing=OVER_SPACING)
        painter.setPen(QPen(colour, 2))
        painter.drawRect(over)
    least = marks.look.width("caption", "0") + 2 * LABEL_PADDING
    for segment, rect in placed:
        if rect.width() > least:  # most have no room for words, and need not be asked
            _paint_segment_label(painter, marks, rect.intersected(marks.area), segment)


def _paint_segment_label(painter: QPainter, marks: StackMarks, rect: QRectF, segment: Segment) -> None:
    line = marks.usable_x
    if rect.left() < line < rect.right():  # the usable line must not cross the words: they go to its wider side
        left, right = line - rect.left(), rect.right() - line
        rect = QRectF(rect.left() if left > right else line, rect.top(), max(left, right), rect.height())
    name, value, look = translated(segment.term), format_bytes(segment.size, marks.chart.unit).split(" ")[0], marks.look
    room = rect.width() - 2 * LABEL_PADDING
    text = next((text for text in (f"{name} {value}", value) if look.width("caption", text) <= room), "")
    if not text or look.height("caption") > rect.height():
        return
    term = TERM_LOOKS[segment.term]
    if term.hatched or rect.right() > line + 1:  # no text is read over hatching
        patch = QRectF(0, 0, look.width("caption", text) + LABEL_PADDING, 16 * look.zoom)
        patch.moveCenter(rect.center())
        painter.fillRect(patch, look.colour(term.colour))
    painter.setPen(look.colour(text_on(term.colour)))
    look.write(painter, "caption", text, rect, "centre")


def _paint_total(painter: QPainter, marks: StackMarks, row: int, bar: Bar) -> None:
    place = total_place(marks, row, bar)
    clear_line(painter, marks.look, place)
    painter.setPen(marks.look.colour("text"))
    kind: TextKind = "bold" if bar.is_peak else "body"
    marks.look.write(painter, kind, total_text(marks.chart, bar.total, peak=bar.is_peak), place)


def _paint_need(painter: QPainter, marks: StackMarks, row: int) -> None:
    """The band of the need, under its bar: on it, it would hide figures and push the total away."""
    band = marks.need_rect(row)
    middle, half = round(band.center().y()) + 0.5, NEED_HALF
    for colour, width in ((marks.look.colour("window"), 5), (marks.look.colour("text"), 2)):
        painter.setPen(QPen(colour, width))
        painter.drawLine(QPointF(band.left(), middle), QPointF(band.right(), middle))
        for x in (band.left(), band.right()):
            painter.drawLine(QPointF(x, middle - half), QPointF(x, middle + half))


def _paint_measured(painter: QPainter, marks: StackMarks, row: int) -> None:
    """A diamond for each peak that was measured, on the bar's upper edge: what stands under the bar is the need."""
    for _, size in marks.chart.measured:
        paint_diamond(painter, marks.look, QPointF(marks.scale.x(size), marks.bar_rect(row, 0, size).top()))


def _paint_usable_line(painter: QPainter, marks: StackMarks) -> None:
    x = round(marks.usable_x) + 0.5
    if marks.area.left() <= x <= marks.area.right():
        pen = QPen(marks.look.colour("text"), 2)
        pen.setDashPattern([3, 2])
        painter.setPen(pen)
        painter.drawLine(QPointF(x, marks.area.top() - 2), QPointF(x, marks.area.bottom()))


def _paint_usable_label(painter: QPainter, marks: StackMarks) -> None:
    x = marks.usable_x
    if not marks.area.left() <= x <= marks.area.right():
        return
    look, chart = marks.look, marks.chart
    text = look.elided("caption", usable_label(chart.usable, chart.unit, chart.device), marks.area.width())
    width, height = look.width("caption", text), look.height("caption")
    left = min(max(x - width / 2, marks.area.left()), marks.area.right() - width)
    painter.setPen(look.colour("text"))
    look.write(painter, "caption", text, QRectF(left, marks.area.top() - height - 4, width, height))


def _paint_spot(painter: QPainter, marks: StackMarks, spot: Spot) -> None:
    segment = marks.segment(spot)
    if segment is None:
        return
    rect = marks.bar_rect(spot.row, segment.start, segment.end)
    painter.setPen(QPen(marks.look.colour("window"), 4))
    painter.drawRect(rect.adjusted(-2, -2, 2, 2))
    painter.setPen(QPen(marks.look.colour("accent"), 3 if spot == marks.pinned else 2))
    painter.drawRect(rect.adjusted(-2, -2, 2, 2))
