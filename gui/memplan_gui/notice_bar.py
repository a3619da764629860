"""A line that says what to do next, or what went wrong; it can be closed and never blocks."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame

from memplan_gui.icons import icon
from memplan_gui.pieces import label, row, tool_button
from memplan_gui.theme import Theme


class NoticeBar(QFrame):
    """One message at a time."""

    closed = Signal(str)
    """Of which kind the message was that the person closed."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._kind = ""
        self.setObjectName("notice")
        self._label = label(wraps=True, selectable=True)
        self._close = tool_button("flat", "Close this message", tip="Close")
        self._close.clicked.connect(self._closed)
        line = row(self, spacing=8, margins=(12, 4, 4, 4))
        line.addWidget(self._label, 1)
        line.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)
        theme.changed.connect(self._draw)
        self._draw()
        self.hide()

    @property
    def text(self) -> str:
        """What is said; empty when nothing is."""
        return self._label.text() if not self.isHidden() else ""

    def say(self, text: str, kind: str) -> None:
        """Say something; `kind` is "hint" or "error"."""
        self._kind = kind
        self._label.setText(text)
        self.setProperty("kind", kind)
        self.setAccessibleName("Problem" if kind == "error" else "Hint")
        self.setAccessibleDescription(text)
        self.style().unpolish(self)
        self.style().polish(self)
        self.show()

    def clear(self, kind: str) -> None:
        """Take a message of that kind away."""
        if self._kind == kind:
            self.hide()

    def _closed(self) -> None:
        self.hide()
        self.closed.emit(self._kind)

    def _draw(self) -> None:
        self._close.setIcon(icon("close", self._theme.colour("muted")))
