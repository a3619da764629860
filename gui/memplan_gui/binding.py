"""Field and widget, both ways. The only file that wires them, hence the only one that guards against echo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from PySide6.QtCore import QObject, Signal

from memplan import MemplanError, value_at
from memplan_gui.document import PlanDocument


class Editor(Protocol):
    """What a field's widget can do."""

    edited: Any
    finished: Any

    def value(self) -> Any:
        """The value that is shown."""

    def set_value(self, value: Any) -> None:
        """Show a value."""


class Binding(QObject):
    """Keeps one widget and one field of the plan equal."""

    said = Signal(str)
    """Why the last edit was not taken; empty once one is."""

    def __init__(self, document: PlanDocument, path: Callable[[], str], editor: Editor, parent: QObject) -> None:
        super().__init__(parent)
        self._document, self._path, self._editor = document, path, editor
        editor.edited.connect(self._edited)
        editor.finished.connect(document.end_gesture)
        if hasattr(editor, "unreadable"):
            editor.unreadable.connect(self.said)
        document.rejected.connect(self._rejected)
        self.show()

    def show(self) -> None:
        """Write the plan's value into the widget, where it shows another one."""
        try:
            value = value_at(self._document.plan, self._path())
        except MemplanError:
            return  # the scenario is being exchanged for one without this part
        if value != self._editor.value() or value is None:
            self._editor.set_value(value)

    def _edited(self, value: Any) -> None:
        if self._document.edit(self._path(), value):
            self.said.emit("")

    def _rejected(self, path: str, message: str) -> None:
        if path == self._path():
            self.said.emit(message)
