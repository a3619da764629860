"""Two parts with a line between them that is moved by the mouse, and by arrow keys once Tab has come to it."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSplitter, QSplitterHandle

from memplan import tr, tr_later, translated
from memplan_gui.announcing import announce
from memplan_gui.theme import Theme

GRIP = 5
"""Pixels that the mouse and the line have."""
LINE, HELD_LINE = 1, 3
STEP, FAR = 16, 96
HOW = tr_later("Arrow keys move it, Page Up and Page Down further, Home and End to its ends.")


class KeyboardHandle(QSplitterHandle):
    """The line: thin until the mouse or the keyboard is on it."""

    def __init__(self, splitter: KeyboardSplitter, theme: Theme) -> None:
        super().__init__(splitter.orientation(), splitter)
        self._theme = theme
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setAccessibleName(splitter.about)
        self.setAccessibleDescription(translated(HOW))
        theme.changed.connect(self.update)

    def _lies(self) -> bool:
        return self.orientation() == Qt.Orientation.Vertical

    def _go(self, to: int) -> None:
        """Move to a place, or as near as the parts allow, and say how the room is shared then."""
        splitter = self.splitter()
        splitter.moveSplitter(to, splitter.indexOf(self))
        first, *rest = splitter.sizes()
        share = f"{first / max(1, first + sum(rest)):.0%}"
        announce(self, tr("{share} for the first part").format(share=share), at_once=True)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the line in the middle of what the mouse can take hold of."""
        is_held = self.hasFocus() or self.underMouse()
        width = HELD_LINE if is_held else LINE
        line = QRect(0, 0, self.width(), width) if self._lies() else QRect(0, 0, width, self.height())
        line.moveCenter(self.rect().center())
        QPainter(self).fillRect(line, self._theme.colour("accent" if is_held else "hairline"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrow keys move it, Page Up and Page Down further, Home and End to its ends, Return shares by need."""
        back, on = (Qt.Key.Key_Up, Qt.Key.Key_Down) if self._lies() else (Qt.Key.Key_Left, Qt.Key.Key_Right)
        steps = {back: -STEP, on: STEP, Qt.Key.Key_PageUp: -FAR, Qt.Key.Key_PageDown: FAR}
        splitter, key = self.splitter(), Qt.Key(event.key())
        end = splitter.height() if self._lies() else splitter.width()
        if key in steps:
            self._go((self.y() if self._lies() else self.x()) + steps[key])
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self._go(0 if key == Qt.Key.Key_Home else end)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            splitter.reset_wanted.emit()  # type: ignore[attr-defined]  # only a KeyboardSplitter makes this handle
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Share by need."""
        self.splitter().reset_wanted.emit()  # type: ignore[attr-defined]  # only a KeyboardSplitter makes this handle


class KeyboardSplitter(QSplitter):
    """A splitter whose handle can be reached and moved without a mouse."""

    reset_wanted = Signal()
    """The room is to be shared as if nobody had shared it."""

    def __init__(self, orientation: Qt.Orientation, about: str, theme: Theme) -> None:
        """Prepare.

        Args:
            orientation: vertical where one part is above the other.
            about: what its line divides, for a screen reader.
            theme: its colours.
        """
        super().__init__(orientation)
        self.about, self._theme = about, theme
        self.setChildrenCollapsible(False)
        self.setHandleWidth(GRIP)

    def createHandle(self) -> QSplitterHandle:  # noqa: N802  # Qt's name
        """Make the line."""
        return KeyboardHandle(self, self._theme)
