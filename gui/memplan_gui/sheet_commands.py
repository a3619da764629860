"""The one-page sheet from the menu: written to a file, or looked at as paper and printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from memplan import MemplanError, tr
from memplan_gui import dialogs
from memplan_gui.answers import Answers
from memplan_gui.document import PlanDocument
from memplan_gui.file_commands import FileCommands
from memplan_gui.presenters.labels import file_stem
from memplan_gui.settings import Settings

if TYPE_CHECKING:
    from memplan_gui.charts.export import Paint


class SheetCommands(QObject):
    """Commands about the sheet of the scenario that is looked at."""

    def __init__(
        self, window: QWidget, document: PlanDocument, answers: Answers, files: FileCommands, settings: Settings
    ) -> None:
        super().__init__(window)
        self._window, self._document, self._answers = window, document, answers
        self._files, self._settings = files, settings

    def slots(self) -> dict[str, Callable[[], object]]:
        """Each command's slot, by its id."""
        return {
            "export_sheet": lambda: self._files.attempt(self._write),
            "print_sheet": lambda: self._files.attempt(self._print),
        }

    def _write(self) -> None:
        """Ask for a file and write the sheet into it."""
        from memplan_gui.charts.export import export, today
        from memplan_gui.charts.sheet_picture import A4

        paint, document = self._painter(), self._document
        name = f"{file_stem(document.name, document.scenario.name)}.pdf"
        suggested = str(self._files.folder_to_write() / name)
        path = dialogs.ask_save(self._window, tr("Export design-review sheet"), dialogs.SHEET_KINDS, suggested)
        if path is not None:
            export(path, [paint], A4, document.name, today())
            self._files.written.emit(tr("Exported {name}").format(name=path.name))

    def _print(self) -> None:
        """Show the sheet as it will be printed, and print it from there."""
        from memplan_gui.sheet_print import preview

        preview(self._window, self._document.name, self._painter())

    def _painter(self) -> Paint:
        from memplan_gui.charts.export import today
        from memplan_gui.presenters.sheet import sheet_title
        from memplan_gui.sheet_files import sheet_painter

        found, document = self._answers.answer().estimate, self._document
        if found is None:
            raise MemplanError(tr("there is no sheet: the estimate could not be made."))
        title = sheet_title(document.plan, document.current) or document.name
        return sheet_painter(title, document.plan.notes, document.scenario, found, self._settings.unit, today())
