"""The ways on screen: memory against time, a click chooses one."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from memplan import tr, tr_later, translated
from memplan_gui.charts.front_marks import FrontMarks, front_marks, paint_front
from memplan_gui.charts.still_picture import paint_focus
from memplan_gui.pieces import tip
from memplan_gui.presenters.make_fit import Front
from memplan_gui.theme import Theme

HOW = tr_later("Arrow keys choose another way.")


class FrontPicture(QWidget):
    """What each way needs against what it costs in time. The table of ways is its twin."""

    chosen = Signal(int)
    """The way that was clicked."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.front: Front | None = None
        self._chosen = -1
        self.setAccessibleName(tr("Memory against time, chart"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        theme.changed.connect(self.update)

    def show_front(self, front: Front | None, chosen: int) -> None:
        """Show other ways, or another one chosen."""
        self.front, self._chosen = front, chosen
        words = front.points[chosen].words if front and 0 <= chosen < len(front.points) else ""
        chosen_words = tr("Chosen: {way}.").format(way=words)
        self.setAccessibleDescription(f"{front.sentence} {chosen_words} {translated(HOW)}" if front else "")
        self.update()

    def marks(self) -> FrontMarks | None:
        """What is painted where."""
        if self.front is None:
            return None
        return front_marks(self.front, self._theme.chart_look, self.width(), self.height(), self._chosen)

    def sizeHint(self) -> QSize:
        """As little as it can be read at."""
        return QSize(300, 104)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the ways."""
        if marks := self.marks():
            painter = QPainter(self)
            paint_front(painter, marks)
            if self.hasFocus():
                paint_focus(painter, marks.look, marks.area)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrow keys choose the next way, Home and End the first and the last."""
        last = len(self.front.points) - 1 if self.front else -1
        goals = {
            Qt.Key.Key_Left: self._chosen - 1,
            Qt.Key.Key_Up: self._chosen - 1,
            Qt.Key.Key_Right: self._chosen + 1,
            Qt.Key.Key_Down: self._chosen + 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        goal = goals.get(Qt.Key(event.key()))
        if goal is None or last < 0:
            super().keyPressEvent(event)
        else:
            self.chosen.emit(min(max(goal, 0), last))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Choose the way that was clicked."""
        marks = self.marks()
        at = marks.point_at(event.position()) if marks and event.button() == Qt.MouseButton.LeftButton else None
        if at is not None:
            self.chosen.emit(at)

    def event(self, event: QEvent) -> bool:
        """Name a way beside the mouse."""
        marks = self.marks() if isinstance(event, QHelpEvent) else None
        if marks is None or not isinstance(event, QHelpEvent):
            return super().event(event)
        at = marks.point_at(event.pos().toPointF())
        QToolTip.showText(event.globalPos(), tip(marks.front.points[at].words) if at is not None else "", self)
        return True
