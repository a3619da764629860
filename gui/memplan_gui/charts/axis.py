"""The value axis that charts share: ticks at round values under the marks, hairlines behind them."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter, QPen

from memplan import Unit
from memplan_gui.charts.look import ChartLook
from memplan_gui.charts.scale import Scale, value_ticks

AXIS_HEIGHT = 26
PIXELS_PER_TICK = 90


def axis_height(look: ChartLook) -> float:
    """The room that ticks and labels take under the marks."""
    return AXIS_HEIGHT * look.zoom


def tick_count(look: ChartLook, width: float) -> int:
    """How many labels stand side by side in a width."""
    return int(width / (PIXELS_PER_TICK * look.zoom))


def paint_axis(painter: QPainter, unit: Unit, area: QRectF, scale: Scale, look: ChartLook) -> None:
    """Paint line, ticks and labels under the area."""
    painter.setPen(QPen(look.colour("border"), 1))
    painter.drawLine(area.bottomLeft(), area.bottomRight())
    for tick in value_ticks(scale.low, scale.high, unit, tick_count(look, area.width())):
        x, width = scale.x(tick.num_bytes), look.width("caption", tick.label)
        painter.setPen(QPen(look.colour("border"), 1))
        painter.drawLine(QPointF(x, area.bottom()), QPointF(x, area.bottom() + 4))
        painter.setPen(look.colour("muted"))
        place = QRectF(x - width / 2, area.bottom() + 6, width, look.height("caption"))
        look.write(painter, "caption", tick.label, place)


def paint_grid(painter: QPainter, unit: Unit, area: QRectF, scale: Scale, look: ChartLook) -> None:
    """Paint a hairline at each tick, from the top of the area to its bottom."""
    painter.setPen(QPen(look.colour("hairline"), 1))
    for tick in value_ticks(scale.low, scale.high, unit, tick_count(look, area.width())):
        x = round(scale.x(tick.num_bytes)) + 0.5
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
