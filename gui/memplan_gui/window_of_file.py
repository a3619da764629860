"""The window that shows a file: a plan that is open is not opened again, or two windows would write over each other."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget


def window_of(path: Path, but: QWidget | None = None) -> QWidget | None:
    """The visible window whose file this is, by whatever name; None where no other than `but` has it."""
    for window in QApplication.topLevelWidgets():
        shown = window.windowFilePath() if window.isVisible() and window is not but else ""
        if shown and _is_same(Path(shown), path):
            return window
    return None


def raise_window_of(path: Path, but: QWidget | None = None) -> bool:
    """Bring the window that shows a file to the front; says whether there is one."""
    window = window_of(path, but)
    if window is None:
        return False
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.raise_()
    window.activateWindow()
    return True


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is gone, so that their names alone can be compared
        return one.absolute() == other.absolute()
