"""Trainers' configurations from the menu and from what is dropped: read, shown, taken, or written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from memplan import PLAN_SUFFIX, MemplanError, load_plan, tr
from memplan_gui import dialogs
from memplan_gui.document import PlanDocument
from memplan_gui.file_commands import FileCommands
from memplan_gui.scenario_edits import take_scenario

if TYPE_CHECKING:
    from memplan import Imported

MODEL_FORMAT = "Hugging Face model"


class ImportCommands(QObject):
    """Reads files that are no plans. The open document is untouched until the person takes what was read."""

    def __init__(self, window: QWidget, document: PlanDocument, files: FileCommands) -> None:
        super().__init__(window)
        self._window, self._document, self._files = window, document, files

    def slots(self) -> dict[str, Callable[[], object]]:
        """Each command's slot, by its id."""
        return {"import_files": self.ask}

    def ask(self) -> None:
        """Ask for files and read them."""
        folder = str(self._files.folder_to_write())
        paths = dialogs.ask_open_several(self._window, tr("Import"), dialogs.IMPORT_KINDS, folder)
        if paths:
            self._files.attempt(lambda: self._show(paths))

    def take(self, paths: Sequence[Path]) -> None:
        """Open what was dropped: a plan or a model's config.json as before, anything else as configurations."""
        if len(paths) == 1 and (paths[0].suffix == PLAN_SUFFIX or _is_plan_or_model(paths[0])):
            self._files.open_path(paths[0])
        else:
            self._files.attempt(lambda: self._show(paths))

    def _show(self, paths: Sequence[Path]) -> None:
        from memplan import import_files  # the readers load with the first file that asks for them
        from memplan_gui.import_dialog import ImportDialog

        begins = self._document.is_example and not self._document.modified  # beside an example nobody compares
        dialog = ImportDialog(self._window, paths, import_files(paths), begins=begins)
        dialog.exec()
        if dialog.wish == "scenario":
            self._add(dialog.imported)
        elif dialog.wish == "plan" and dialog.imported.plan is not None and self._files.may_go_on():
            self._document.begin(dialog.imported.plan, is_saved=False)  # with what was answered and changed here
        dialog.deleteLater()

    def _add(self, imported: Imported) -> None:
        if imported.scenario is not None:
            take_scenario(self._document, imported.scenario, tr("Import {name}").format(name=imported.scenario.name))
            self._files.written.emit(tr("Imported {name}").format(name=imported.scenario.name))


def _is_plan_or_model(path: Path) -> bool:
    from memplan import import_files

    try:
        return all(title == MODEL_FORMAT for _, title in import_files([path]).files)
    except MemplanError:
        pass
    try:
        load_plan(path)
    except MemplanError:
        return False
    return True
