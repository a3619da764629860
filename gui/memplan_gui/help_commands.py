"""What the Help menu does."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from memplan import tr, tr_later, translated
from memplan_gui import dialogs
from memplan_gui.answer_panel import AnswerPanel
from memplan_gui.document import PlanDocument
from memplan_gui.page_commands import PageCommands
from memplan_gui.theme import Theme

HINT = tr_later(
    "The GPU memory of a training run, worked out before it starts. This is an example: choose your model at the left, "
    "or drop its config.json or a trainer's file here."
)


class HelpCommands(QObject):
    """Commands that explain, and show what memplan noted of itself."""

    def __init__(self, window: QWidget, panel: AnswerPanel, theme: Theme) -> None:
        super().__init__(window)
        self._window, self._notice, self._theme = window, panel.notice, theme
        self._pages = PageCommands(window, panel, theme)

    def slots(self) -> dict[str, Callable[[], object]]:
        """Each command's slot, by its id."""
        return {
            **self._pages.slots(),
            "show_log": self.show_log,
            "about": lambda: dialogs.show_about(self._window, self._theme),
        }

    def say_what_first(self, document: PlanDocument) -> None:
        """Show the line that says what to do first, as long as the document is the example."""

        def take_away() -> None:
            if not document.is_example and self._notice.text == translated(HINT):
                self._notice.clear("hint")

        for signal in (document.changed, document.replaced_whole, document.file_changed):
            signal.connect(take_away)
        self._notice.say(translated(HINT), "hint", {tr("First steps"): lambda: self._pages.show("start")})

    def show_log(self) -> None:
        """Show the log and where its file is: not every system has something that opens it."""
        from memplan_gui.log_dialog import LogDialog
        from memplan_gui.log_file import log, log_path
        from memplan_gui.mistakes import versions

        path = log_path()
        if not path.exists():
            log().info("%s", versions())
        if not path.exists():
            self._notice.say(tr("There is no log: {file} cannot be written.").format(file=path), "error")
        else:
            LogDialog(self._window, path).open()
