"""The map on screen: pointed at by mouse and arrow keys, clicked to take a place over."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from memplan import tr
from memplan_gui.charts.map_marks import MapMarks, area_of, paint_cursor, paint_map
from memplan_gui.charts.still_picture import paint_focus, still_picture
from memplan_gui.pieces import scaled
from memplan_gui.presenters.memory_map import MapChart
from memplan_gui.theme import Theme

LEAST = QSize(280, 140)
FAR = 16
"""Steps of an axis that Page Up and Page Down, and arrows with Ctrl, take at once: one power of two."""
STEPS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (1, 0),
    Qt.Key.Key_Down: (-1, 0),
    Qt.Key.Key_PageUp: (FAR, 0),
    Qt.Key.Key_PageDown: (-FAR, 0),
}


class MapPlot(QWidget):
    """A map of batch and sequence with a cursor."""

    pointed = Signal(object)
    """(batch, sequence) under the cursor; None when it left."""
    taken = Signal(int, int)
    """Batch and sequence that the plan is to have."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._chart: MapChart | None = None
        self._cursor: tuple[int, int] | None = None
        self._still: QPixmap | None = None
        self.setAccessibleName(tr("Map of micro-batch and sequence length"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(LEAST.width(), scaled(LEAST.height()))
        theme.changed.connect(self._redraw)

    @property
    def cursor_place(self) -> tuple[int, int] | None:
        """Batch and sequence under the cursor."""
        if self._cursor is None or self._chart is None:
            return None
        row, column = self._cursor
        return self._chart.found.batches[row], self._chart.found.sequences[column]

    def show_chart(self, chart: MapChart | None) -> None:
        """Show another map; the cursor stays where it was, if that is still on it."""
        place = self.cursor_place
        self._chart = chart
        self._cursor = self._cell_of(*place) if place else None
        self.setCursor(Qt.CursorShape.CrossCursor if chart else Qt.CursorShape.ArrowCursor)
        self._redraw()

    def _cell_of(self, batch: int, sequence: int) -> tuple[int, int] | None:
        """Row and column of a place, or the nearest."""
        marks = self._marks()
        at = marks.place(batch, sequence) if marks else None
        return marks.cell_at(at) if marks and at else None

    def _marks(self) -> MapMarks | None:
        look = self._theme.chart_look
        return MapMarks(self._chart, area_of(self.width(), self.height(), look), look) if self._chart else None

    def _redraw(self) -> None:
        self._still = None
        self.update()

    def _point(self, cell: tuple[int, int] | None) -> None:
        if cell != self._cursor:
            self._cursor = cell
            self.update()
            self.pointed.emit(self.cursor_place)

    def _move(self, rows: int, columns: int) -> None:
        """Move the cursor; it appears at the plan's own place."""
        chart = self._chart
        if chart is None:
            return
        if self._cursor is None:
            self._point(self._cell_of(chart.batch, chart.sequence) or (0, 0))
            return
        row = min(max(self._cursor[0] + rows, 0), len(chart.found.batches) - 1)
        column = min(max(self._cursor[1] + columns, 0), len(chart.found.sequences) - 1)
        self._point((row, column))

    def _take(self) -> None:
        if self.cursor_place is not None:
            self.taken.emit(*self.cursor_place)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the map, which is kept, and the cursor on it."""
        marks = self._marks()
        if marks is None:
            return
        if self._still is None:
            ground = marks.look.colour("window")
            self._still = still_picture(self, ground, lambda still: paint_map(still, marks))
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._still)
        if self.cursor_place is not None:
            paint_cursor(painter, marks, *self.cursor_place)
        if self.hasFocus():
            paint_focus(painter, marks.look, QRectF(marks.area))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The map is painted anew."""
        self._redraw()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Point at a place."""
        marks = self._marks()
        self._point(marks.cell_at(QPointF(event.position())) if marks else None)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Take the place over that was clicked."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.mouseMoveEvent(event)
            self._take()

    def leaveEvent(self, event: object) -> None:
        """The mouse points at nothing any more."""
        if not self.hasFocus():
            self._point(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move the cursor, Enter takes its place over, Home goes to the plan's own, Escape lets go."""
        key = event.key()
        far = FAR if event.modifiers() & Qt.KeyboardModifier.ControlModifier else 1
        if step := STEPS.get(Qt.Key(key)):
            self._move(step[0] * far, step[1] * far)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._take()
        elif key == Qt.Key.Key_Home:
            self._cursor = None
            self._move(0, 0)
        elif key == Qt.Key.Key_Escape and self._cursor is not None:
            self._point(None)
        else:
            super().keyPressEvent(event)
