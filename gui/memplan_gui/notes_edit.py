"""Text of several lines, as the notes of a plan are."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QDragEnterEvent, QFocusEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from memplan_gui.fields import is_undo


class NotesEdit(QPlainTextEdit):
    """Text of several lines; Tab leaves it."""

    edited = Signal(object)
    finished = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)  # every letter is the document's edit, and the document undoes it
        self.textChanged.connect(self._typed)
        self._shown = ""

    def value(self) -> str:
        """The text."""
        return self.toPlainText()

    def set_value(self, value: str) -> None:
        """Show a text."""
        self._shown = value
        if value != self.toPlainText():
            at = self.textCursor().position()
            self.setPlainText(value)
            cursor = self.textCursor()
            cursor.setPosition(min(at, len(value)))
            self.setTextCursor(cursor)

    def _typed(self) -> None:
        if self.toPlainText() != self._shown:
            self._shown = self.toPlainText()
            self.edited.emit(self._shown)

    def event(self, event: QEvent) -> bool:
        """Leave undo to the document."""
        if is_undo(event):
            event.ignore()
            return False
        return super().event(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Leave files to the window."""
        if event.mimeData().hasUrls():
            event.ignore()
        else:
            super().dragEnterEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """The person is done with it."""
        super().focusOutEvent(event)
        self.finished.emit()
