"""The marks of the map: need as colour, lines of equal need, the frontier of what fits, the plan's own place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPen, QPolygonF

from memplan import UNIT_BYTES, UNIT_NAMES, Unit, format_bytes, tr
from memplan_gui.charts.look import ChartLook, TextKind
from memplan_gui.charts.map_lines import LOWEST, Line, between, frontier_line, last_line, need_lines
from memplan_gui.colours import OVER, ROOM
from memplan_gui.presenters.memory_map import MapChart, place_text, tokens_text
from memplan_gui.presenters.words import count_text

LEFT, TOP, RIGHT, BOTTOM = 52.0, 8.0, 16.0, 44.0
OCTAVES = 3.0
"""Colours are fullest where need is an eighth of what is usable, or eight times as much."""
FAINTEST, FULLEST = 0.14, 0.85
PIXELS_PER_TICK = 44
PLACES = (0.5, 0.62, 0.38, 0.74, 0.26, 0.86)
"""Where along a line its label may stand."""
LINE_WIDTH = 2.5
"""Of the frontier."""
MARKER = 6.0
BESIDE = 8.0
"""How far words stand from the border that they are about."""
LABEL_GROUND = 0.86
"""How much of the window's ground is under words on the map."""


@dataclass(frozen=True, slots=True)
class MapMarks:
    """What is painted where. Both axes are logarithmic; a batch's strip reaches half-way to its neighbours."""

    chart: MapChart
    area: QRectF
    look: ChartLook

    def x(self, sequence: float) -> float:
        """Where a sequence length stands."""
        first, last = self.chart.found.sequences[0], self.chart.found.sequences[-1]
        return self.area.left() + log2(sequence / first) / log2(last / first) * self.area.width()

    def y(self, batch: float) -> float:
        """Where a micro-batch stands."""
        last = self.chart.found.batches[-1]
        return self.area.bottom() - log2(max(batch, 0.5) / LOWEST) / log2(last / LOWEST) * self.area.height()

    def cell_at(self, point: QPointF) -> tuple[int, int] | None:
        """Row and column of the map under a point."""
        if not self.area.contains(point):
            return None
        batches, sequences = self.chart.found.batches, self.chart.found.sequences
        across = (point.x() - self.area.left()) / self.area.width()
        up = (self.area.bottom() - point.y()) / self.area.height()
        sequence = sequences[0] * (sequences[-1] / sequences[0]) ** across
        batch = LOWEST * (batches[-1] / LOWEST) ** up
        return _nearest(batches, batch), _nearest(sequences, sequence)

    def place(self, batch: int, sequence: int) -> QPointF | None:
        """Where a place of the plan stands; None where it is not on the map."""
        found = self.chart.found
        if not (found.sequences[0] <= sequence <= found.sequences[-1] and batch <= found.batches[-1]):
            return None
        return QPointF(self.x(sequence), self.y(batch))


def area_of(width: float, height: float, look: ChartLook) -> QRectF:
    """The map's own place inside a widget or picture."""
    left, bottom = LEFT * look.zoom, BOTTOM * look.zoom
    return QRectF(left, TOP, max(width - left - RIGHT, 40.0), max(height - TOP - bottom, 40.0))


def paint_map(painter: QPainter, marks: MapMarks) -> None:
    """Paint everything but the cursor."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.drawImage(marks.area, heat(marks))
    found, text = marks.chart.found, marks.look.colour("text")
    frontier, last, needs = frontier_line(found), last_line(found), list(need_lines(found, marks.chart.unit))
    for _, line in needs:
        _paint_line(painter, marks, line, QPen(text, 1))
    _paint_line(painter, marks, last, QPen(text, 1.5, Qt.PenStyle.DashLine))
    _paint_line(painter, marks, frontier, QPen(text, LINE_WIDTH))
    taken = [piece for line in (frontier, last) for piece in _pieces(marks, line)]
    own = _paint_own(painter, marks, taken)
    _label_frontier(painter, marks, frontier, last, taken)
    if own is not None:
        _label_own(painter, marks, own, taken)
    for amount, line in needs:
        _label_line(painter, marks, line, _amount_text(amount, marks.chart.unit), taken)
    _paint_axes(painter, marks)
    painter.restore()


def paint_cursor(painter: QPainter, marks: MapMarks, batch: int, sequence: int) -> None:
    """Paint a cross at a place."""
    at, area = marks.place(batch, sequence), marks.area
    if at is not None:
        painter.setPen(QPen(marks.look.colour("text"), 1, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(at.x(), area.top()), QPointF(at.x(), area.bottom()))
        painter.drawLine(QPointF(area.left(), at.y()), QPointF(area.right(), at.y()))


def heat(marks: MapMarks) -> QImage:
    """The colour of every pixel: blue where there is room, vermilion where it is over, the deeper the farther."""
    found, area = marks.chart.found, marks.area
    width, height = max(round(area.width()), 1), max(round(area.height()), 1)
    across = (np.arange(width) + 0.5) / width
    up = 1 - (np.arange(height) + 0.5) / height
    sequences = found.sequences[0] * (found.sequences[-1] / found.sequences[0]) ** across
    batches = LOWEST * (found.batches[-1] / LOWEST) ** up
    columns = np.searchsorted(between(found.sequences), sequences)
    rows = np.searchsorted(between(found.batches), batches)
    share = np.log2(found.need_bytes / max(found.usable_bytes, 1)) / OCTAVES
    strength = FAINTEST + (FULLEST - FAINTEST) * np.clip(np.abs(share), 0, 1)
    ground = _rgb(marks.look.colour("window"))
    colours = np.array([_rgb(QColor(ROOM)), _rgb(marks.look.colour("tight")), _rgb(QColor(OVER))])[found.verdicts]
    strength = np.where(found.verdicts == 1, 0.4, strength)[..., None]
    mixed = (colours * strength + ground * (1 - strength)).round().astype(np.uint32)
    pixels = (0xFF000000 | mixed[..., 0] << 16 | mixed[..., 1] << 8 | mixed[..., 2]).astype(np.uint32)
    data = np.ascontiguousarray(pixels[rows[:, None], columns])
    return QImage(data.data, width, height, 4 * width, QImage.Format.Format_RGB32).copy()


def _rgb(colour: QColor) -> np.ndarray:
    return np.array([colour.red(), colour.green(), colour.blue()], dtype=np.float64)


def _nearest(numbers: tuple[int, ...], number: float) -> int:
    return int(np.searchsorted(between(numbers), number))


def _label_frontier(painter: QPainter, marks: MapMarks, frontier: Line, last: Line, taken: list[QRectF]) -> None:
    found = marks.chart.found
    usable = format_bytes(found.usable_bytes, marks.chart.unit)
    if frontier:
        whole = tr("fits below · {size} usable").format(size=usable)
        _label_below(painter, marks, frontier, (whole, tr("fits below")), taken)
    elif last:
        whole = tr("tight below · {size} usable").format(size=usable)
        _label_below(painter, marks, last, (whole, tr("tight below")), taken)
    else:
        words = {0: tr("All of it fits"), 1: tr("All of it is tight"), 2: tr("None of it fits")}
        _box(painter, marks, words[int(found.verdicts[0, 0])], marks.area.center(), taken, bold=True)


def _paint_line(painter: QPainter, marks: MapMarks, line: Line, pen: QPen) -> None:
    if len(line) > 1:
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        points = [QPointF(marks.x(sequence), marks.y(batch)) for sequence, batch in line]
        path = QPainterPath()
        path.addPolygon(QPolygonF(points))
        painter.drawPath(path)


def _pieces(marks: MapMarks, line: Line) -> list[QRectF]:
    """What a border takes, piece by piece: no words stand on it."""
    points = [QPointF(marks.x(sequence), marks.y(batch)) for sequence, batch in line]
    return [QRectF(start, end).normalized().adjusted(-1, -1, 1, 1) for start, end in pairwise(points)]


def _label_below(painter: QPainter, marks: MapMarks, border: Line, texts: Sequence[str], taken: list[QRectF]) -> None:
    """Write what is below a border: there, in fewer words where they have no room, and those on it at worst.

    A border falls to the right, so what lies left of one of its points and below that is on its one side.
    """
    half = len(border) / 2
    points = [QPointF(marks.x(sequence), marks.y(batch)) for sequence, batch in border]
    points = [point for _, point in sorted(enumerate(points), key=lambda one: abs(one[0] - half))]
    for text in texts:
        size = _box_size(marks, text, "bold")
        away = QPointF(-size.width() / 2 - BESIDE, size.height() / 2 + BESIDE)
        for point in points:
            place = QRectF(QPointF(), size)
            place.moveCenter(point + away)
            if marks.area.contains(place) and _box(painter, marks, text, place.center(), taken, bold=True):
                return
    _box(painter, marks, texts[-1], points[0], taken, bold=True, anywhere=True)


def _label_line(painter: QPainter, marks: MapMarks, line: Line, text: str, taken: list[QRectF]) -> None:
    """Write on a line, where nothing is written yet."""
    for share in PLACES if line else ():
        sequence, batch = line[min(int(share * len(line)), len(line) - 1)]
        if _box(painter, marks, text, QPointF(marks.x(sequence), marks.y(batch)), taken):
            return


def _box_size(marks: MapMarks, text: str, kind: TextKind) -> QSizeF:
    return QSizeF(marks.look.width(kind, text) + 10, marks.look.height(kind) + 2)


def _box(
    painter: QPainter,
    marks: MapMarks,
    text: str,
    at: QPointF,
    taken: list[QRectF],
    *,
    bold: bool = False,
    anywhere: bool = False,
) -> bool:
    """Words on the window's ground around a point, within the map; nothing where others or a border stand there."""
    look = marks.look
    kind: TextKind = "bold" if bold else "caption"
    size = _box_size(marks, text, kind)
    left = min(max(at.x() - size.width() / 2, marks.area.left() + 2), marks.area.right() - size.width() - 2)
    top = min(max(at.y() - size.height() / 2, marks.area.top() + 2), marks.area.bottom() - size.height() - 2)
    place = QRectF(QPointF(left, top), size)
    if not anywhere and any(place.adjusted(-6, -3, 6, 3).intersects(other) for other in taken):
        return False
    taken.append(place)
    ground = QColor(look.colour("window"))
    ground.setAlphaF(LABEL_GROUND)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ground)
    painter.drawRoundedRect(place, 3, 3)
    painter.setPen(look.colour("text"))
    look.write(painter, kind, text, place, "centre")
    return True


def _paint_own(painter: QPainter, marks: MapMarks, taken: list[QRectF]) -> QPointF | None:
    """A ring at the plan's own place; None where that is not on the map."""
    chart, look = marks.chart, marks.look
    at = marks.place(chart.batch, chart.sequence)
    if at is None:
        return None
    painter.setBrush(look.colour("window"))
    painter.setPen(QPen(look.colour("text"), 2))
    painter.drawEllipse(at, MARKER, MARKER)
    painter.setBrush(look.colour("text"))
    painter.drawEllipse(at, MARKER / 3, MARKER / 3)
    taken.append(QRectF(at.x() - MARKER, at.y() - MARKER, 2 * MARKER, 2 * MARKER))
    return at


def _label_own(painter: QPainter, marks: MapMarks, at: QPointF, taken: list[QRectF]) -> None:
    """Name the plan's own place: beside it, or above or below where a border would run through the words.

    Where the map is too small for that the ring stands alone, rather than under its own name.
    """
    chart, look = marks.chart, marks.look
    text = tr("this plan: {place}").format(place=place_text(chart.batch, chart.sequence))
    half = look.width("caption", text) / 2 + 2 * MARKER + 8
    high = look.height("caption") / 2 + MARKER + 6
    beside = [QPointF(side, 0) for side in (half, -half) if marks.area.contains(QPointF(at.x() + 2 * side, at.y()))]
    around = [QPointF(side * half, height) for height in (-high, high) for side in (0, -0.8, 0.8)]
    for away in (*beside, *around):
        if _box(painter, marks, text, at + away, taken):
            return


def _paint_axes(painter: QPainter, marks: MapMarks) -> None:
    look, area, found = marks.look, marks.area, marks.chart.found
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(look.colour("border"), 1))
    painter.drawRect(area)
    height = look.height("caption")
    for sequence in _ticks(found.sequences, area.width() / PIXELS_PER_TICK / look.zoom):
        x, text = marks.x(sequence), tokens_text(sequence)
        painter.setPen(QPen(look.colour("border"), 1))
        painter.drawLine(QPointF(x, area.bottom()), QPointF(x, area.bottom() + 4))
        painter.setPen(look.colour("muted"))
        width = look.width("caption", text)
        look.write(painter, "caption", text, QRectF(x - width / 2, area.bottom() + 5, width, height))
    for batch in _ticks(found.batches, area.height() / (PIXELS_PER_TICK / 2) / look.zoom):
        y, text = marks.y(batch), str(batch)
        painter.setPen(QPen(look.colour("border"), 1))
        painter.drawLine(QPointF(area.left() - 4, y), QPointF(area.left(), y))
        painter.setPen(look.colour("muted"))
        look.write(painter, "caption", text, QRectF(0, y - height / 2, area.left() - 8, height), "right")
    painter.setPen(look.colour("text"))
    title = QRectF(area.left(), area.bottom() + 6 + height, area.width(), height)
    look.write(painter, "caption", tr("Sequence length, tokens"), title, "centre")
    painter.save()
    painter.translate(area.left() - LEFT * look.zoom + height / 2 + 2, area.center().y())
    painter.rotate(-90)
    look.write(
        painter, "caption", tr("Micro-batch"), QRectF(-area.height() / 2, -height / 2, area.height(), height), "centre"
    )
    painter.restore()


def _ticks(numbers: tuple[int, ...], most: float) -> list[int]:
    """Powers of two on an axis, as many as there is room for."""
    powers = [number for number in numbers if number & (number - 1) == 0]
    return powers[:: max(1, -(-len(powers) // max(int(most), 1)))]


def _amount_text(num_bytes: int, unit: Unit) -> str:
    """A round amount without decimals."""
    return f"{count_text(num_bytes // UNIT_BYTES[unit])} {UNIT_NAMES[unit]}"
