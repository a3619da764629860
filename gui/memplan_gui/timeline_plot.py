"""The timeline on screen: pointed at by mouse and arrow keys."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from memplan import tr
from memplan_gui.charts.still_picture import paint_focus, still_picture
from memplan_gui.charts.timeline_marks import TimelineMarks, marks_of, paint_cursor, paint_timeline
from memplan_gui.pieces import scaled
from memplan_gui.presenters.timeline import Moment, TimelineChart
from memplan_gui.theme import Theme

LEAST = QSize(280, 130)


class TimelinePlot(QWidget):
    """Memory over a step with a cursor, which stands on the peak until it is moved."""

    pointed = Signal()
    """The cursor stands on another moment."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._chart: TimelineChart | None = None
        self._marks: TimelineMarks | None = None
        self._cursor = 0
        self._follows_peak = True
        self._still: QPixmap | None = None
        self.setAccessibleName(tr("Memory over a step, chart"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(LEAST.width(), scaled(LEAST.height()))
        theme.changed.connect(self._redraw)

    @property
    def moment(self) -> Moment | None:
        """Where the cursor stands."""
        return self._chart.moments[self._cursor] if self._chart else None

    @property
    def marks(self) -> TimelineMarks | None:
        """What is painted where."""
        if self._marks is None and self._chart is not None:
            self._marks = marks_of(self._chart, self._theme.chart_look, QRectF(self.rect()))
        return self._marks

    def show_chart(self, chart: TimelineChart | None) -> None:
        """Show another chart; the cursor stays at its place in the step, or on the peak."""
        before = self.moment
        self._chart = chart
        if chart is not None:
            same = None if before is None or self._follows_peak else _same_place(before, chart)
            self._follows_peak = same is None
            self._cursor = chart.peak if same is None else same
        self.setCursor(Qt.CursorShape.CrossCursor if chart else Qt.CursorShape.ArrowCursor)
        self._redraw()

    def point(self, at: int) -> None:
        """Move the cursor to a moment."""
        if self._chart is not None and at != self._cursor:
            self._cursor = at
            self._follows_peak = at == self._chart.peak
            self.update()
            self.pointed.emit()

    def _step(self, key: int, far: bool) -> bool:
        """Move the cursor by a key: to the next moment, the next part of the step, either end, the peak."""
        chart = self._chart
        if chart is None:
            return False
        stops = chart.stops
        here = stops.index(self._cursor)
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            sign = 1 if key == Qt.Key.Key_Right else -1
            goal = here + sign
            if far:
                while 0 <= goal < len(stops) and _part(chart, stops[goal]) == _part(chart, stops[here]):
                    goal += sign
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            goal = 0 if key == Qt.Key.Key_Home else len(stops) - 1
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            goal = stops.index(chart.peak)
        else:
            return False
        self.point(stops[min(max(goal, 0), len(stops) - 1)])
        return True

    def _redraw(self) -> None:
        self._still = self._marks = None
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the chart, which is kept, and the cursor on it."""
        marks = self.marks
        if marks is None:
            return
        if self._still is None:
            ground = marks.look.colour("window")
            self._still = still_picture(self, ground, lambda still: paint_timeline(still, marks))
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._still)
        paint_cursor(painter, marks, self._cursor)
        if self.hasFocus():
            paint_focus(painter, marks.look, marks.area)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The chart is laid out anew."""
        self._redraw()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Point at the moment under the mouse."""
        marks = self.marks
        if marks is not None and marks.area.left() <= event.position().x() <= marks.area.right():
            self.point(marks.moment_at(event.position().x()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move the cursor (with Ctrl to the next part), Home and End to the ends, Enter to the peak."""
        if not self._step(event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)):
            super().keyPressEvent(event)


def _part(chart: TimelineChart, at: int) -> tuple[int, str]:
    instant = chart.moments[at].point.instant
    return instant.step, instant.name


def _same_place(moment: Moment, chart: TimelineChart) -> int | None:
    """The stop with the same step, instant and place as a moment of another chart."""
    old = moment.point.instant
    wanted = old.step, old.name, old.where
    for at in chart.stops:
        instant = chart.moments[at].point.instant
        if (instant.step, instant.name, instant.where) == wanted:
            return at
    return None
