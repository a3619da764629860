"""A line that says what to do next, or what went wrong; it can be closed and never blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QToolButton

from memplan import tr, tr_later, translated
from memplan_gui.announcing import announce
from memplan_gui.icons import icon
from memplan_gui.pieces import label, row, tool_button
from memplan_gui.theme import Theme

NAMES = {"hint": tr_later("Hint"), "error": tr_later("Problem"), "file": tr_later("News of the plan's file")}


class NoticeBar(QFrame):
    """One message at a time, and what can be done about it."""

    closed = Signal(str)
    """Of which kind the message was that the person closed."""
    going = Signal()
    """It goes, and the keyboard has to go elsewhere."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._kind = ""
        self.setObjectName("notice")
        self._label = label(wraps=True, selectable=True)
        self._actions = row(spacing=8)
        self._buttons: list[QToolButton] = []
        self._close = tool_button("flat", tr("Close this message"), tip=tr("Close"))
        self._close.clicked.connect(self._closed)
        line = row(self, spacing=8, margins=(12, 4, 4, 4))
        line.addWidget(self._label, 1)
        line.addLayout(self._actions)
        line.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)
        theme.changed.connect(self._draw)
        self._draw()
        self.hide()

    @property
    def text(self) -> str:
        """What is said; empty when nothing is."""
        return self._label.text() if not self.isHidden() else ""

    @property
    def kind(self) -> str:
        """Of which kind the message is; empty when nothing is said."""
        return self._kind if not self.isHidden() else ""

    def say(self, text: str, kind: str, actions: Mapping[str, Callable[[], object]] | None = None) -> None:
        """Say something.

        Args:
            text: what.
            kind: "hint", "error" or "file".
            actions: the words on each button, and what it does; the message is taken away before.
        """
        self._kind = kind
        self._label.setText(text)
        self._offer(actions or {})
        self.setProperty("kind", kind)
        self.setAccessibleName(translated(NAMES[kind]))
        self.setAccessibleDescription(text)
        self.style().unpolish(self)
        self.style().polish(self)
        self.show()
        announce(self, text, at_once=kind == "error")

    def clear(self, kind: str) -> None:
        """Take a message of that kind away."""
        if self._kind == kind:
            self.hide()

    def _offer(self, actions: Mapping[str, Callable[[], object]]) -> None:
        for button in self._buttons:
            button.hide()
            button.deleteLater()
        self._buttons.clear()
        for words, do in actions.items():
            button = tool_button("button", words, text=words)
            button.clicked.connect(lambda _=False, do=do: self._do(do))
            self._actions.addWidget(button)
            button.show()  # a bar that is on screen would show it a moment later
            self._buttons.append(button)

    def _do(self, action: Callable[[], object]) -> None:
        self._leave()
        action()

    def _closed(self) -> None:
        self._leave()
        self.closed.emit(self._kind)

    def _leave(self) -> None:
        """Go, and say so first: Qt would give the keyboard to some field, where the next key replaces what stands."""
        self.going.emit()
        self.hide()

    def _draw(self) -> None:
        self._close.setIcon(icon("close", self._theme.colour("muted")))
