"""The menu bar of a program that has no window open, which only macOS knows."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenuBar

from memplan_gui import dialogs
from memplan_gui.windows import Windows


def windowless_menu(windows: Windows) -> QMenuBar:
    """The commands that make sense without a window; Qt shows them where no window with its own is in front."""
    bar = QMenuBar()
    menu = bar.addMenu("File")

    def open_file() -> None:
        path = dialogs.ask_open(None, "Open", dialogs.OPEN_FILTER, "")
        if path is not None:
            windows.open_file(path)

    menu.addAction("New window", QKeySequence("Ctrl+Alt+N"), lambda: windows.open_new())
    menu.addAction("Open…", QKeySequence("Ctrl+O"), open_file)
    menu.addAction("Quit", QKeySequence("Ctrl+Q"), windows.quit)
    return bar
