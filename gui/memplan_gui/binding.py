"""Field and widget, both ways. The only file that wires them, hence the only one that guards against echo."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Protocol

from PySide6.QtCore import QObject, Signal

from memplan import tr
from memplan_gui.document import PlanDocument
from memplan_gui.fields import ParsedEdit


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

    def __init__(
        self, document: PlanDocument, path: str, editor: Editor, parent: QObject, *, in_scenario: bool = True
    ) -> None:
        """Bind.

        Args:
            document: whose plan it is.
            path: where the field stands, from the scenario that is looked at, or from the plan.
            editor: the widget.
            parent: with whom the binding ends.
            in_scenario: whether the path begins at the scenario.
        """
        super().__init__(parent)
        self._document, self._editor = document, editor
        self._field, self._in_scenario = path, in_scenario
        self._read = attrgetter(path)
        editor.edited.connect(self._edited)
        editor.finished.connect(document.end_gesture)
        if isinstance(editor, ParsedEdit):
            editor.taken_back.connect(self._taken_back)
        if hasattr(editor, "unreadable"):
            editor.unreadable.connect(self._say)
        document.rejected.connect(self._rejected)
        self.show()

    def show(self) -> None:
        """Write the plan's value into the widget, where it shows another one."""
        value = self._read(self._document.scenario if self._in_scenario else self._document.plan)
        if value != self._editor.value() or value is None:
            was_refused = getattr(self._editor, "is_refused", False)
            self._editor.set_value(value)
            if was_refused and not getattr(self._editor, "is_refused", False):
                self.said.emit("")  # the text that was refused gave way

    def _path(self) -> str:
        return self._document.full_path(self._field) if self._in_scenario else self._field

    def _edited(self, value: Any) -> None:
        if self._document.edit(self._path(), value):
            self.said.emit("")
        elif isinstance(self._editor, ParsedEdit):  # of a text that is refused, no beginning may stay
            self._document.edit(self._path(), self._editor.settled_value())
            self._editor.refuse()
        else:
            self.show()  # what has no way to hold a refused value back shows the plan's

    def _taken_back(self, value: Any) -> None:
        self._document.take_back(self._path(), value)
        self.said.emit("")

    def _rejected(self, path: str, message: str) -> None:
        if path == self._path() and isinstance(self._editor, ParsedEdit):
            self._say(message)
        elif path == self._path():
            self.said.emit(tr("{problem} Nothing was changed.").format(problem=message))

    def _say(self, message: str) -> None:
        """Say why a text was not taken, and what stays instead of it."""
        if isinstance(self._editor, ParsedEdit) and (kept := self._editor.settled_text()):
            message = tr("{problem} The plan keeps {value}; Escape shows it.").format(problem=message, value=kept)
        self.said.emit(message)
