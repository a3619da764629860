"""The pages of the Help menu, in a window of their own that is made when one is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QWidget

from memplan import translated
from memplan_gui.actions import COMMANDS
from memplan_gui.help_topics import TOPIC, VIEW_TOPICS, topic_of
from memplan_gui.theme import Theme

if TYPE_CHECKING:
    from memplan_gui.answer_panel import AnswerPanel
    from memplan_gui.help_window import HelpWindow

PAGE_COMMANDS = {
    "help_start": "start",
    "help_recipes": "recipes",
    "help_levers": "levers",
    "help_why": "why",
    "help_sharing": "sharing",
    "help_glossary": "glossary",
    "help_method": "method",
    "help_keyboard": "keyboard",
}


class PageCommands:
    """Opens pages of Help."""

    def __init__(self, window: QWidget, panel: AnswerPanel, theme: Theme) -> None:
        self._window, self._theme = window, theme
        self._help: HelpWindow | None = None
        parts = {
            panel.verdict: "glossary#verdict",
            panel.chart: VIEW_TOPICS["Memory"],
            panel.levers: "levers",
            panel.details: "glossary#term",
            panel.tabs: "glossary#scenario",
        }
        pages = {panel.views.widget(place): VIEW_TOPICS[title] for place, title in enumerate(panel.views.titles)}
        for part, topic in (*parts.items(), *pages.items()):
            if part is not None:
                part.setProperty(TOPIC, topic)

    def slots(self) -> dict[str, Callable[[], object]]:
        """What each command of the menu does."""
        pages = {command: lambda page=page: self.show(page) for command, page in PAGE_COMMANDS.items()}
        return {"help": self.show_for_focus, **pages}

    def show_for_focus(self) -> None:
        """Open the page for what has the keyboard."""
        self.show(topic_of(QApplication.focusWidget()))

    def show(self, topic: str) -> HelpWindow:
        """Open a page, or a heading of it."""
        if self._help is None:
            from memplan_gui.help_window import HelpWindow
            from memplan_gui.presenters.help import HelpPages

            self._help = HelpWindow(self._window, HelpPages(shortcuts()), self._theme)
        self._help.show()
        self._help.activateWindow()
        self._help.show_topic(topic)
        return self._help


def shortcuts() -> list[tuple[str, str, str]]:
    """Menu, command and keys of every command that has keys, in this system's own signs."""
    native = QKeySequence.SequenceFormat.NativeText
    return [
        (
            _plain(translated(command.menu)),
            _plain(translated(command.text)),
            QKeySequence(command.shortcut).toString(native),
        )
        for command in COMMANDS
        if command.shortcut
    ]


def _plain(text: str) -> str:
    return text.replace("&", "").removesuffix("…")
