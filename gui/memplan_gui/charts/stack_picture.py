"""The stacked chart as a picture that stands alone: title, what was estimated, verdict, marks, axis, legend, recipe."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainter, QPen

from memplan_gui.charts.legend import legend_height, legend_texts, paint_legend, place_entries
from memplan_gui.charts.look import ChartLook, TextKind
from memplan_gui.charts.scale import Scale, value_ticks
from memplan_gui.charts.stack_layout import AXIS_HEIGHT
from memplan_gui.charts.stack_marks import PIXELS_PER_TICK, StackMarks, end_of_axis, paint_stack, row_labels_width
from memplan_gui.presenters.stack import StackChart

PICTURE_SIZE = QSizeF(960, 480)
MARGIN = 24.0
LINE = 20.0


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
    painter.fillRect(QRectF(QPointF(0, 0), size), look.colour("window"))
    width = size.width() - 2 * MARGIN
    _line(painter, look, picture.title, QRectF(MARGIN, MARGIN - 4, width, LINE), "bold")
    _line(painter, look, picture.subtitle, QRectF(MARGIN, MARGIN - 4 + LINE, width, LINE), "caption")
    _line(painter, look, picture.sentence, QRectF(MARGIN, MARGIN - 4 + 2 * LINE, width, LINE))
    entries = place_entries(legend_texts(picture.chart), look, width)
    foot = size.height() - MARGIN - LINE
    legend_top = foot - legend_height(entries) - 4
    left = MARGIN + row_labels_width(picture.chart, look)
    top = MARGIN + 3 * LINE + 32
    area = QRectF(left, top, size.width() - MARGIN - left, legend_top - AXIS_HEIGHT - 8 - top)
    scale = Scale(0.0, end_of_axis(picture.chart, look, area.width()), area.left(), area.right())
    paint_stack(painter, StackMarks(picture.chart, area, scale, look), clip=False)
    paint_axis(painter, picture.chart, area, scale, look)
    paint_legend(painter, entries, QPointF(MARGIN, legend_top), look)
    _line(painter, look, picture.recipe, QRectF(MARGIN, foot, width, LINE), "caption")


def paint_axis(painter: QPainter, chart: StackChart, area: QRectF, scale: Scale, look: ChartLook) -> None:
    """Paint the value axis under the area."""
    painter.setPen(QPen(look.colour("border"), 1))
    painter.drawLine(area.bottomLeft(), area.bottomRight())
    for tick in value_ticks(scale.low, scale.high, chart.unit, int(area.width() / PIXELS_PER_TICK)):
        x, width = scale.x(tick.num_bytes), look.width("caption", tick.label)
        painter.setPen(QPen(look.colour("border"), 1))
        painter.drawLine(QPointF(x, area.bottom()), QPointF(x, area.bottom() + 4))
        painter.setPen(look.colour("muted"))
        place = QRectF(x - width / 2, area.bottom() + 6, width, look.height("caption"))
        look.write(painter, "caption", tick.label, place)


def _line(painter: QPainter, look: ChartLook, text: str, place: QRectF, kind: TextKind = "body") -> None:
    painter.setPen(look.colour("muted" if kind == "caption" else "text"))
    look.write(painter, kind, look.elided(kind, text, place.width()), place)
