"""The menu bar of a program that has no window open, which only macOS knows."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenuBar

from memplan import tr
from memplan_gui import dialogs
from memplan_gui.windows import Windows


def windowless_menu(windows: Windows) -> QMenuBar:
    """The commands that make sense without a window; Qt shows them where no window with its own is in front."""
    bar = QMenuBar()
    menu = bar.addMenu(tr("File"))

    def open_file() -> None:
        path = dialogs.ask_open(None, tr("Open"), dialogs.OPEN_KINDS, "")
        if path is not None:
            windows.open_file(path)

    menu.addAction(tr("New window"), QKeySequence("Ctrl+Alt+N"), lambda: windows.open_new())
    menu.addAction(tr("Open…"), QKeySequence("Ctrl+O"), open_file)
    menu.addAction(tr("Quit"), QKeySequence("Ctrl+Q"), windows.quit)
    return bar
