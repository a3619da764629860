"""The marks of the ways: what each needs against what it costs in time, and what the device gives."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from memplan import format_bytes, number, tr
from memplan_gui.charts.axis import axis_height, paint_axis, paint_grid
from memplan_gui.charts.look import ChartLook
from memplan_gui.charts.scale import Scale, decimals_of, step_of
from memplan_gui.presenters.make_fit import Front, FrontPoint

TOP = 24.0
GAP = 8.0
RADIUS = 5.0
NEAR = 14.0
LABELS = 4


@dataclass(frozen=True, slots=True)
class FrontMarks:
    """What is painted where."""

    front: Front
    area: QRectF
    scale: Scale
    slowest: float
    fastest: float
    look: ChartLook
    chosen: int = -1

    def place(self, point: FrontPoint) -> QPointF:
        """Where a way stands."""
        return QPointF(self.scale.x(point.need_bytes), self.height_of(point.slowdown))

    def height_of(self, time: float) -> float:
        """Where so many times as much time stands."""
        share = (time - self.fastest) / (self.slowest - self.fastest)
        return self.area.bottom() - share * self.area.height()

    def point_at(self, place: QPointF) -> int | None:
        """The way nearest to a place, where it is near."""
        away = [(self.place(point) - place).manhattanLength() for point in self.front.points]
        nearest = min(range(len(away)), key=away.__getitem__, default=None)
        return nearest if nearest is not None and away[nearest] <= NEAR else None


def time_ticks(fastest: float, slowest: float) -> tuple[list[float], int]:
    """Round times between the ends, and how many decimals tell them apart.

    >>> time_ticks(0.97, 1.34), time_ticks(0.6, 6.0)
    (([1.0, 1.1, 1.2, 1.3], 1), ([2.0, 4.0, 6.0], 0))
    """
    step = step_of(slowest - fastest, LABELS)
    first, last = math.ceil(fastest / step - 1e-9), math.floor(slowest / step + 1e-9)
    return [round(at * step, 9) for at in range(first, last + 1)], decimals_of(step)


def front_marks(front: Front, look: ChartLook, width: float, height: float, chosen: int) -> FrontMarks:
    """Lay the chart out in a rectangle."""
    left = look.width("caption", tr("{factor} × time").format(factor="1000")) + 2 * GAP
    top = TOP * look.zoom
    area = QRectF(left, top, max(width - left - 2 * GAP, 40.0), max(height - top - axis_height(look), 40.0))
    end = max(*(point.need_bytes for point in front.points), front.usable) * 1.06
    times = [point.slowdown for point in front.points]
    slowest, fastest = max(*times, 1.1), min(*times, 1.0)
    room = 0.08 * (slowest - fastest)
    scale = Scale(0.0, end, area.left(), area.right())
    return FrontMarks(front, area, scale, slowest + room, fastest - room, look, chosen)


def paint_front(painter: QPainter, marks: FrontMarks) -> None:
    """Paint axes, the usable line, the step from way to way and the ways: filled where they fit."""
    painter.save()
    paint_grid(painter, marks.front.unit, marks.area, marks.scale, marks.look)
    paint_axis(painter, marks.front.unit, marks.area, marks.scale, marks.look)
    _paint_times(painter, marks)
    _paint_usable(painter, marks)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    places = [marks.place(point) for point in marks.front.points]
    painter.setPen(QPen(marks.look.colour("muted"), 1))
    painter.drawPolyline(places)
    for at, (point, place) in enumerate(zip(marks.front.points, places, strict=True)):
        role = "fits" if point.fits else "does_not_fit"
        painter.setPen(QPen(marks.look.colour(role), 2))
        painter.setBrush(marks.look.colour(role if point.fits else "window"))
        painter.drawEllipse(place, RADIUS, RADIUS)
        if at == marks.chosen:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(marks.look.colour("accent"), 2))
            painter.drawEllipse(place, RADIUS + 4, RADIUS + 4)
    painter.restore()


def _paint_times(painter: QPainter, marks: FrontMarks) -> None:
    look, area = marks.look, marks.area
    times, decimals = time_ticks(marks.fastest, marks.slowest)
    for time in times:
        y = marks.height_of(time)
        text = (tr("{factor} × time") if time == times[-1] else "{factor} ×").format(
            factor=number(time, f",.{decimals}f")
        )
        painter.setPen(look.colour("muted"))
        height = look.height("caption")
        look.write(painter, "caption", text, QRectF(0, y - height / 2, area.left() - GAP, height), "right")
        painter.setPen(QPen(look.colour("hairline"), 1))
        painter.drawLine(QPointF(area.left(), round(y) + 0.5), QPointF(area.right(), round(y) + 0.5))


def _paint_usable(painter: QPainter, marks: FrontMarks) -> None:
    look, area, front = marks.look, marks.area, marks.front
    x = round(marks.scale.x(front.usable)) + 0.5
    pen = QPen(look.colour("text"), 2)
    pen.setStyle(Qt.PenStyle.CustomDashLine)
    pen.setDashPattern([3, 2])
    painter.setPen(pen)
    painter.drawLine(QPointF(x, area.top() - 2), QPointF(x, area.bottom()))
    text = tr("{size} usable").format(size=format_bytes(front.usable, front.unit))
    width = look.width("caption", text)
    left = min(max(x - width / 2, area.left()), area.right() - width)
    look.write(painter, "caption", text, QRectF(left, 0, width, area.top() - 4))
