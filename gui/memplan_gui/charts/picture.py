"""A chart as a picture that stands alone: what paints it, its size, and the words at its head."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainter

from memplan_gui.charts.look import ChartLook, TextKind

PICTURE_SIZE = QSizeF(960, 480)
PICTURE_MARGIN = 24.0
LINE = 20.0


class Picture(NamedTuple):
    """Something to export or to copy."""

    paint: Callable[[QPainter], None]
    """Paints it at the origin."""
    size: QSizeF


def paint_head(painter: QPainter, look: ChartLook, words: tuple[str, str, str], size: QSizeF) -> float:
    """Paint ground, title, subtitle and sentence; says where what follows may begin."""
    painter.fillRect(QRectF(QPointF(0, 0), size), look.colour("window"))
    kinds: tuple[TextKind, ...] = ("bold", "caption", "body")
    top = PICTURE_MARGIN - 4
    for kind, text in zip(kinds, words, strict=True):
        paint_line(painter, look, text, QRectF(PICTURE_MARGIN, top, size.width() - 2 * PICTURE_MARGIN, LINE), kind)
        top += LINE
    return top + 4


def paint_line(painter: QPainter, look: ChartLook, text: str, place: QRectF, kind: TextKind = "body") -> None:
    """Paint one line of words, cut where it is too long."""
    painter.setPen(look.colour("muted" if kind == "caption" else "text"))
    look.write(painter, kind, look.elided(kind, text, place.width()), place)
