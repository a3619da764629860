"""The bar of a device: what it gives as a frame, the need in it, and what reaches out of it hatched."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QLineF, QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPen

from memplan import DeviceFit
from memplan_gui.charts.look import hatch

OUTREACH = 3.0
"""How far the end of a frame stands out of it, and the band of the need under it."""
TEAR = 4.0
"""How deep the teeth are of a frame that is torn off: there is more of the device than the scale shows."""


def fit_bar_end(fit: DeviceFit, end: float) -> float:
    """Where a device's frame ends on a scale that ends at `end`: there, where it is torn off."""
    return min(float(fit.usable_bytes), end)


def is_torn(fit: DeviceFit, end: float) -> bool:
    """Whether a device gives more than a scale shows."""
    return fit.usable_bytes > end


def torn_edge(right: float, top: float, bottom: float) -> list[QPointF]:
    """The teeth at the end of a frame that is torn off, from its upper line to its lower one; none beyond `right`."""
    rise = (bottom - top) / 4
    return [QPointF(right - (TEAR if at % 2 else 0.0), top + at * rise) for at in range(5)]


def paint_fit_bar(
    painter: QPainter,
    room: QRectF,
    fit: DeviceFit,
    end: float,
    colour: Callable[[str], QColor],
    *,
    over: tuple[float, float],
    band: float = 1.0,
) -> None:
    """Paint a device's bar.

    Args:
        painter: where.
        room: the whole scale, as high as the bar; nothing is painted beside it.
        fit: the device.
        end: how many bytes the scale reaches to.
        colour: the colour of a role.
        over: how thick the line around what is beyond usable is, and how far its hatching is apart.
        band: how thick the line of the need's band is.
    """
    scale = room.width() / end
    top, bottom, left = room.top(), room.bottom(), room.left()
    usable, need = left + fit_bar_end(fit, end) * scale, left + min(fit.need_bytes, end) * scale
    painter.fillRect(QRectF(left, top, min(usable, need) - left, bottom - top), colour("faint"))
    if need > usable:
        beyond = QRectF(usable, top, need - usable, bottom - top)
        hatch(painter, beyond, colour("does_not_fit"), rising=False, width=2, spacing=over[1])
        painter.setPen(QPen(colour("does_not_fit"), over[0]))
        painter.drawRect(beyond)
    painter.setPen(QPen(colour("text"), 1))
    lines = [QLineF(left, y, usable, y) for y in (top, bottom)] + [QLineF(left, top, left, bottom)]
    if is_torn(fit, end):
        painter.drawPolyline(torn_edge(usable, top, bottom))
    else:
        lines.append(QLineF(usable, top - OUTREACH, usable, bottom + OUTREACH))
    painter.drawLines(lines)
    low, high = (left + min(bound, end) * scale for bound in (fit.need.low, fit.need.high))
    below = bottom + OUTREACH + (band > 1)
    painter.setPen(QPen(colour("text"), band))
    painter.drawLine(QLineF(low, below, high, below))
