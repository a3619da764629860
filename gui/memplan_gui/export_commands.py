"""A scenario written as a trainer's configuration, from the menu."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from memplan import tr, tr_later, write_file
from memplan_gui import dialogs
from memplan_gui.document import PlanDocument
from memplan_gui.file_commands import FileCommands
from memplan_gui.presenters.labels import file_stem
from memplan_gui.theme import Theme

if TYPE_CHECKING:
    from memplan import Exported

FIRST_FORMAT = "script"


class ExportCommands(QObject):
    """Shows what will be written, asks for a file, writes it."""

    def __init__(self, window: QWidget, document: PlanDocument, files: FileCommands, theme: Theme) -> None:
        super().__init__(window)
        self._window, self._document, self._files, self._theme = window, document, files, theme
        self._format = FIRST_FORMAT

    def slots(self) -> dict[str, Callable[[], object]]:
        """Each command's slot, by its id."""
        return {"export_config": self.ask}

    def ask(self) -> None:
        """Show the scenario that is looked at as the format that was last chosen, and save what the person wants."""
        from memplan_gui.export_dialog import ExportDialog  # the writers load with the first export

        document = self._document
        dialog = ExportDialog(self._window, document.plan.scenarios, document.current, self._format, self._theme)
        dialog.exec()
        scenario, self._format = dialog.chosen
        if dialog.is_wanted and dialog.found is not None:
            self._save(dialog.found, scenario.name)
        dialog.deleteLater()

    def _save(self, found: Exported, scenario: str) -> None:
        kind = found.suffix.removeprefix(".")
        stem = file_stem(self._document.name, scenario, self._format)
        suggested = str(self._files.folder_to_write() / f"{stem}{found.suffix}")
        path = dialogs.ask_save(self._window, tr("Export configuration"), ((KINDS[kind], f"*.{kind}"),), suggested)
        if path is not None and self._files.attempt(lambda: write_file(path, found.text.encode())):
            self._files.written.emit(tr("Exported {name}").format(name=path.name))


KINDS = {"py": tr_later("Python script"), "json": "JSON", "yaml": "YAML"}
