"""The stacked chart as a picture that stands alone: marks, axis, legend and recipe under the head."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter

from memplan_gui.charts.axis import axis_height, paint_axis
from memplan_gui.charts.legend import legend_height, legend_texts, paint_legend, place_entries
from memplan_gui.charts.look import ChartLook
from memplan_gui.charts.picture import LINE, PICTURE_SIZE, Head, Picture, framed, paint_line
from memplan_gui.charts.scale import Scale
from memplan_gui.charts.stack_marks import StackMarks, end_of_axis, paint_stack, row_labels_width
from memplan_gui.presenters.stack import StackChart

USABLE_ROOM = 28.0
"""Above the bars: the words of the usable line."""


def stack_picture(chart: StackChart, recipe: str, look: ChartLook, head: Head) -> Picture:
    """The chart by instants, and what recipe it was estimated for."""

    def paint(painter: QPainter, place: QRectF) -> None:
        entries = place_entries(legend_texts(chart), look, place.width())
        foot = place.bottom() - LINE
        legend_top = foot - legend_height(entries, look) - 4
        left, top = place.left() + row_labels_width(chart, look), place.top() + USABLE_ROOM
        area = QRectF(left, top, place.right() - left, legend_top - axis_height(look) - 8 - top)
        scale = Scale(0.0, end_of_axis(chart, look, area.width()), area.left(), area.right())
        paint_stack(painter, StackMarks(chart, area, scale, look), clip=False)
        paint_axis(painter, chart.unit, area, scale, look)
        paint_legend(painter, entries, QPointF(place.left(), legend_top), look)
        paint_line(painter, look, recipe, QRectF(place.left(), foot, place.width(), LINE), "caption")

    return framed(look, head, PICTURE_SIZE, paint)
