"""What is in front, taken out of the window: onto the clipboard or into a file, whichever view shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from memplan import MemplanError, plain_numbers, tr, tr_later, translated, write_file
from memplan_gui import dialogs
from memplan_gui.answer_panel import AnswerPanel
from memplan_gui.charts.picture import Picture, paper
from memplan_gui.document import PlanDocument
from memplan_gui.file_commands import FileCommands
from memplan_gui.presenters.cells import EXACT, Amounts, Cells, as_csv, as_markdown, as_text, as_tsv, escaped
from memplan_gui.presenters.labels import file_stem
from memplan_gui.settings import Settings
from memplan_gui.showing import Showing

OUTGOING = ("copy_picture", "copy_table", "copy_text", "copy_markdown", "export_chart")
NOTHING = tr_later("There is nothing to copy in this view.")
NO_CHART = tr_later("This view has no chart; its table can be copied.")
PICTURE_ENDINGS = (".png", ".svg", ".pdf")
FINE, FINEST = 2.0, 4.0
"""Pixels of a PNG for each of the picture's own."""


class ShowingCommands(QObject):
    """Commands about what the view in front shows."""

    def __init__(
        self, window: QWidget, document: PlanDocument, panel: AnswerPanel, files: FileCommands, settings: Settings
    ) -> None:
        super().__init__(window)
        self._window, self._document, self._panel = window, document, panel
        self._files, self._settings = files, settings
        panel.views.copy_wanted.connect(lambda: self._copy_table(as_tsv, tr("Copied the table")))

    def slots(self) -> dict[str, Callable[[], object]]:
        """Each command's slot, by its id."""
        return {
            "copy_picture": self._copy_picture,
            "copy_table": lambda: self._copy_table(as_tsv, tr("Copied the table")),
            "copy_text": lambda: self._copy_table(as_text, tr("Copied the table as text")),
            "copy_markdown": lambda: self._copy_table(as_markdown, tr("Copied the table as Markdown")),
            "export_chart": self._export,
        }

    def _showing(self) -> Showing | None:
        """What is in front; where there is nothing, that is said."""
        with plain_numbers():
            found = self._panel.showing()
        if found is None:
            self._panel.say(translated(NOTHING))
        return found

    def _copy_picture(self) -> None:
        from memplan_gui.charts.export import image_of

        found = self._showing()
        if found is not None and found.picture is None:
            self._panel.say(translated(NO_CHART))
        elif found is not None and (picture := self._picture(found)) is not None:
            QGuiApplication.clipboard().setImage(image_of(picture.paint, picture.size, FINE))
            self._panel.say(tr("Copied the picture"))

    def _copy_table(self, write: Callable[[Cells], str], said: str) -> None:
        found = self._showing()
        if found is not None:
            with plain_numbers():
                cells = found.table(Amounts(self._settings.unit))
            QGuiApplication.clipboard().setText(write(cells))
            self._panel.say(said)

    def _export(self) -> None:
        """Ask for a file, and write the chart or the table into it: its ending says which."""
        found = self._showing()
        if found is None:
            return
        kinds = dialogs.CHART_KINDS if found.picture else dialogs.TABLE_KINDS
        ending = ".png" if found.picture else ".csv"
        scenario = "" if found.of_plan else self._document.scenario.name
        stem = file_stem(self._document.name, scenario, found.name)
        suggested = str(self._files.folder_to_write() / f"{stem}{ending}")
        path, kind = dialogs.ask_save_as_kind(
            self._window, tr("Export {what}").format(what=translated(found.name)), kinds, suggested
        )
        if path is not None and self._files.attempt(lambda: self._write(path, kind, found)):
            self._files.written.emit(tr("Exported {name}").format(name=path.name))

    @plain_numbers()
    def _write(self, path: Path, kind: tuple[str, str], found: Showing) -> None:
        from memplan_gui.charts.export import export, today

        ending, picture = path.suffix.lower(), self._picture(found)
        if ending == ".csv":
            write_file(path, as_csv(found.table(EXACT)).encode())
        elif ending == ".md":
            write_file(path, self._page(found).encode())
        elif picture is None or ending not in PICTURE_ENDINGS:
            known = (*(PICTURE_ENDINGS if picture else ()), ".csv", ".md")
            remedy = tr("End it in {endings} or {last}.").format(endings=", ".join(known[:-1]), last=known[-1])
            problem = tr("what is in front cannot be written under this ending.")
            raise MemplanError(problem, place=path.name, remedy=remedy)
        else:
            scale = FINEST if kind == dialogs.FINEST_PNG else FINE
            export(path, [picture.paint], picture.size, self._title(found), today(), scale)

    @plain_numbers()
    def _picture(self, found: Showing) -> Picture | None:
        head = self._title(found), found.subtitle, found.sentence
        return found.picture(paper(), head) if found.picture else None

    def _page(self, found: Showing) -> str:
        """Title, sentence and table as Markdown."""
        head = [f"# {escaped(self._title(found))}", *map(escaped, filter(None, (found.subtitle, found.sentence)))]
        return "\n\n".join([*head, as_markdown(found.table(Amounts(self._settings.unit)))])

    def _title(self, found: Showing) -> str:
        name = self._document.name
        return name if found.of_plan else f"{name} — {self._document.scenario.name}"
