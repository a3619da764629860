"""A part that scrolls where it lacks height: nothing is squeezed until it cannot be read; the keyboard is in sight."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QWidget

AROUND = 8
"""What is seen around the control that has the keyboard: its frame, at least."""


class Scroller(QScrollArea):
    """Scrolls up and down. What the keyboard comes to is brought into sight, also from outside.

    Args:
        content: what is scrolled.
        sideways: whether it may scroll that way too, where the content has no narrower form.
    """

    sized = Signal(int)
    """The height that is seen, before the content gets it."""

    def __init__(self, content: QWidget, *, sideways: bool = False) -> None:
        super().__init__()
        self.setWidget(content)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        if not sideways:
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._show_focused)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """What is inside can share another height."""
        self.sized.emit(self.viewport().height())
        super().resizeEvent(event)

    def _show_focused(self, _: QWidget | None, focused: QWidget | None) -> None:
        content = self.widget()
        by_mouse = QApplication.mouseButtons() != Qt.MouseButton.NoButton  # nothing moves away under the mouse
        if focused is not None and content is not None and not by_mouse and content.isAncestorOf(focused):
            self.ensureWidgetVisible(focused, AROUND, AROUND)
