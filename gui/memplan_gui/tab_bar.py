"""Tabs that show when the keyboard is on them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QTabBar, QToolButton

from memplan_gui.stylesheet import RADIUS

FRAME = 2


class TabBar(QTabBar):
    """Tabs; arrow keys go from one to the next, and the one that has the keyboard is framed."""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the tabs, and the frame."""
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Accent), FRAME))
            place = self.tabRect(self.currentIndex()).adjusted(FRAME, FRAME, -FRAME, -FRAME)
            painter.drawRoundedRect(place, RADIUS, RADIUS)

    def event(self, event: QEvent) -> bool:
        """The buttons that scroll are for the mouse: the keyboard brings the tab it goes to into sight."""
        if event.type() in (QEvent.Type.Polish, QEvent.Type.Show):
            for button in self.findChildren(QToolButton):
                button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return super().event(event)
