"""Text of several lines, as the notes of a plan are."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSignalBlocker, Signal
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
        self._value = self._held = ""

    def value(self) -> str:
        """The text, as the plan has it: its ends of lines are not always those that are shown."""
        return self._value

    def set_value(self, value: str) -> None:
        """Show a text."""
        self._value = value
        at = self.textCursor().position()
        with QSignalBlocker(self):
            self.setPlainText(value)
        self._held = self._text()
        cursor = self.textCursor()
        cursor.setPosition(min(at, self.document().characterCount() - 1))
        self.setTextCursor(cursor)

    def _text(self) -> str:
        """What is shown, with its no-break spaces: Qt's plain text has none."""
        return self.document().toRawText().replace("\u2029", "\n").replace("\u2028", "\n")

    def _typed(self) -> None:
        text = self._text()
        if text != self._held:
            self._value = self._held = text
            self.edited.emit(text)

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
