"""The stacked chart as a picture that stands alone: title, what was estimated, verdict, marks, axis, legend, recipe."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainter

from memplan_gui.charts.axis import AXIS_HEIGHT, paint_axis
from memplan_gui.charts.legend import legend_height, legend_texts, paint_legend, place_entries
from memplan_gui.charts.look import ChartLook
from memplan_gui.charts.picture import LINE, PICTURE_SIZE, paint_head, paint_line
from memplan_gui.charts.picture import PICTURE_MARGIN as MARGIN
from memplan_gui.charts.scale import Scale
from memplan_gui.charts.stack_marks import StackMarks, end_of_axis, paint_stack, row_labels_width
from memplan_gui.presenters.stack import StackChart


@dataclass(frozen=True, slots=True)
class StackPicture:
    """A chart with the words that it needs away from the window."""

    chart: StackChart
    title: str
    subtitle: str
    """What was estimated: model, method, batch, device, step."""
    sentence: str
    recipe: str


def paint_picture(painter: QPainter, picture: StackPicture, look: ChartLook, size: QSizeF = PICTURE_SIZE) -> None:
    """Paint the whole picture into a rectangle of that size at the origin."""
    top = paint_head(painter, look, (picture.title, picture.subtitle, picture.sentence), size) + 32
    width = size.width() - 2 * MARGIN
    entries = place_entries(legend_texts(picture.chart), look, width)
    foot = size.height() - MARGIN - LINE
    legend_top = foot - legend_height(entries) - 4
    left = MARGIN + row_labels_width(picture.chart, look)
    area = QRectF(left, top, size.width() - MARGIN - left, legend_top - AXIS_HEIGHT - 8 - top)
    scale = Scale(0.0, end_of_axis(picture.chart, look, area.width()), area.left(), area.right())
    paint_stack(painter, StackMarks(picture.chart, area, scale, look), clip=False)
    paint_axis(painter, picture.chart.unit, area, scale, look)
    paint_legend(painter, entries, QPointF(MARGIN, legend_top), look)
    paint_line(painter, look, picture.recipe, QRectF(MARGIN, foot, width, LINE), "caption")
