"""Windows and dialogs on a small screen: none is larger than it, so that Save and Cancel can be reached."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QWidget

from memplan import import_files
from memplan_gui import screen_room
from memplan_gui.export_dialog import ExportDialog
from memplan_gui.help_window import HelpWindow
from memplan_gui.import_dialog import ImportDialog
from memplan_gui.mistake_dialog import MistakeDialog
from memplan_gui.presenters.help import HelpPages
from memplan_gui.window import Window

SMALL = QSize(960, 540)
"""In points: 1920 × 1080 pixels where everything is drawn at twice the size."""


@pytest.fixture
def small_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that the window asks of a screen: how much of it is free."""
    screen = SimpleNamespace(availableSize=lambda: SMALL)
    monkeypatch.setattr(screen_room, "QGuiApplication", SimpleNamespace(primaryScreen=lambda: screen))


@pytest.mark.usefixtures("small_screen")
def test_nothing_opens_larger_than_the_screen(open_window: Callable[..., Window]) -> None:
    window = open_window()
    recipe = sorted((Path(__file__).parents[1] / "core/exchange/files/axolotl").glob("*.y*ml"))[0]
    theme, scenarios = window._theme, window.document.plan.scenarios
    assert fits(window.minimumSize())
    made: tuple[QWidget, ...] = (
        ImportDialog(window, [recipe], import_files([recipe])),
        ExportDialog(window, scenarios, 0, "axolotl", theme),
        MistakeDialog(window, "a report", is_kept=True),
        HelpWindow(window, HelpPages([]), theme),
    )
    for opened in made:
        opened.show()
        QApplication.processEvents()
        assert fits(opened.size()), f"{type(opened).__name__}: {opened.size()}"
        assert fits(opened.minimumSize().expandedTo(opened.minimumSizeHint())), type(opened).__name__
        opened.close()
        opened.deleteLater()


def fits(size: QSize) -> bool:
    """Whether a window of that size is seen whole, with its title bar."""
    room = SMALL - screen_room.FRAME
    return size.width() <= room.width() and size.height() <= room.height()
