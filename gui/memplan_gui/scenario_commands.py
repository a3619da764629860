"""What the Scenario menu does: scenarios copied, moved and renamed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from memplan_gui import dialogs
from memplan_gui.document import PlanDocument
from memplan_gui.scenario_edits import (
    add_scenario,
    duplicate_scenario,
    move_scenario,
    remove_scenario,
    rename_scenario,
)


class ScenarioCommands(QObject):
    """Commands about the scenario that is looked at."""

    def __init__(self, window: QWidget, document: PlanDocument) -> None:
        super().__init__(window)
        self._window, self._document = window, document

    def slots(self) -> dict[str, Callable[[], object]]:
        """Each command's slot, by its id."""
        document = self._document
        return {
            "duplicate": lambda: duplicate_scenario(document),
            "add": lambda: add_scenario(document),
            "rename": self._rename,
            "remove": lambda: remove_scenario(document, document.current),
            "move_left": lambda: move_scenario(document, document.current, document.current - 1),
            "move_right": lambda: move_scenario(document, document.current, document.current + 1),
            "previous": lambda: document.show_scenario(document.current - 1),
            "next": lambda: document.show_scenario(document.current + 1),
        }

    def _rename(self) -> None:
        name = dialogs.ask_name(self._window, self._document.scenario.name)
        if name is not None:
            rename_scenario(self._document, self._document.current, name)
