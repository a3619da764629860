"""A chart painted once and kept, so that only the cursor on it is painted anew; and the frame of the keyboard."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from memplan_gui.charts.look import ChartLook


def still_picture(widget: QWidget, ground: QColor, paint: Callable[[QPainter], None]) -> QPixmap:
    """A picture as large and as sharp as the widget, painted on a plain ground."""
    scale = widget.devicePixelRatioF()
    picture = QPixmap(widget.size() * scale)
    picture.setDevicePixelRatio(scale)
    picture.fill(ground)
    painter = QPainter(picture)
    paint(painter)
    painter.end()
    return picture


def paint_focus(painter: QPainter, look: ChartLook, area: QRectF) -> None:
    """Frame what the keyboard is in."""
    painter.setPen(QPen(look.colour("accent"), 2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(area.adjusted(-2, -2, 2, 2))
