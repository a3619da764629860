"""Each view's chart as a picture that stands alone. What paints it on screen paints it here."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainter

from memplan_gui.charts import compare_marks, fit_marks, timeline_marks, waterfall_marks
from memplan_gui.charts.front_marks import front_marks, paint_front
from memplan_gui.charts.legend import BEYOND, legend_height, paint_legend, place_entries
from memplan_gui.charts.look import ChartLook
from memplan_gui.charts.map_marks import LEFT, MapMarks, area_of, paint_map
from memplan_gui.charts.picture import PICTURE_SIZE, Head, Picture, framed, framed_rows
from memplan_gui.presenters.compare import Comparison
from memplan_gui.presenters.make_fit import Front
from memplan_gui.presenters.memory_map import MapChart
from memplan_gui.presenters.timeline import TimelineChart
from memplan_gui.presenters.waterfall import Waterfall

TIMELINE_SIZE = QSizeF(960, 540)
MAP_SIZE = QSizeF(960, 640)
LEGEND_GAP = 8.0


def timeline_picture(chart: TimelineChart, look: ChartLook, head: Head) -> Picture:
    """Memory over a step."""

    def paint(painter: QPainter, place: QRectF) -> None:
        texts = [*chart.terms, *([BEYOND] if chart.overflows else [])]
        entries = place_entries(texts, look, place.width())
        foot = place.bottom() - legend_height(entries, look)
        area = QRectF(place.topLeft(), QPointF(place.right(), foot - LEGEND_GAP / 2))
        timeline_marks.paint_timeline(painter, timeline_marks.marks_of(chart, look, area))
        paint_legend(painter, entries, QPointF(place.left(), foot), look)

    return framed(look, head, TIMELINE_SIZE, paint)


def map_picture(chart: MapChart, look: ChartLook, head: Head) -> Picture:
    """Batch by sequence."""

    def paint(painter: QPainter, place: QRectF) -> None:
        painter.translate(place.left(), place.top())
        area = area_of(place.width() + LEFT / 4, place.height(), look)
        paint_map(painter, MapMarks(chart, area, look))

    return framed(look, head, MAP_SIZE, paint)


def fit_picture(chart: fit_marks.FitChart, look: ChartLook, head: Head) -> Picture:
    """The need against what each device gives."""

    def paint(painter: QPainter, place: QRectF) -> None:
        painter.translate(place.left(), place.top())
        fit_marks.paint_fit(painter, fit_marks.marks_of(chart, look, place.width()))

    return framed_rows(look, head, lambda _: fit_marks.height_of(chart), paint)


def compare_picture(compared: Comparison, look: ChartLook, head: Head) -> Picture:
    """Scenarios side by side, and what their colours are."""
    texts = compare_marks.legend_of(compared)

    def height(width: float) -> float:
        entries = place_entries(texts, look, width)
        return compare_marks.height_of(compared, look) + LEGEND_GAP + legend_height(entries, look)

    def paint(painter: QPainter, place: QRectF) -> None:
        painter.translate(place.left(), place.top())
        compare_marks.paint_comparison(painter, compare_marks.marks_of(compared, look, place.width()))
        entries = place_entries(texts, look, place.width())
        paint_legend(painter, entries, QPointF(0, compare_marks.height_of(compared, look) + LEGEND_GAP), look)

    return framed_rows(look, head, height, paint)


def waterfall_picture(chart: Waterfall, look: ChartLook, head: Head) -> Picture:
    """The way from one peak to another."""

    def paint(painter: QPainter, place: QRectF) -> None:
        painter.translate(place.left(), place.top())
        waterfall_marks.paint_waterfall(painter, waterfall_marks.marks_of(chart, look, place.width()))

    return framed_rows(look, head, lambda width: waterfall_marks.height_of(chart, look, width), paint)


def front_picture(front: Front, chosen: int, look: ChartLook, head: Head) -> Picture:
    """What each way needs against what it costs in time."""

    def paint(painter: QPainter, place: QRectF) -> None:
        painter.translate(place.left(), place.top())
        paint_front(painter, front_marks(front, look, place.width(), place.height(), chosen))

    return framed(look, head, PICTURE_SIZE, paint)
