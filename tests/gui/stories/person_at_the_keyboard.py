"""Runs memplan with somebody at its keyboard.

python person_at_the_keyboard.py PLAN type        sets Micro-batch to 3, says so, and stays
python person_at_the_keyboard.py PLAN recover     answers "Open it", says what the window shows, and ends
"""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from memplan_gui import application
from memplan_gui.window import Window
from tests.gui.stories.hands import Hands, answer


def windows() -> list[Window]:
    """The windows that are all there."""
    found = [one for one in QApplication.topLevelWidgets() if isinstance(one, Window)]
    return [one for one in found if one.is_filled and one.answer_panel.chart.plot is not None]


def at_the_keyboard() -> None:
    """Do what was asked for, as soon as there is a window for it."""
    wanted = sys.argv[2]
    opened = [one for one in windows() if wanted == "type" or one.document.modified]
    if not opened:
        QTimer.singleShot(50, at_the_keyboard)
        return
    hands = Hands(opened[-1])
    if wanted == "type":
        hands.set("Micro-batch", "3")
        sys.stdout.write("typed\n")
        sys.stdout.flush()
    else:
        said = hands.shown("Micro-batch"), hands.window.windowTitle(), hands.window.isWindowModified(), len(windows())
        sys.stdout.write("|".join(map(str, said)) + "\n")
        sys.stdout.flush()
        QApplication.exit(0)


class Watched(application.Application):
    """memplan's application, with somebody who looks at it once it runs."""

    def exec(self) -> int:  # type: ignore[override]  # Qt's is of the class
        """Run."""
        if sys.argv[2] == "recover":
            answer("Open it")
        QTimer.singleShot(0, at_the_keyboard)
        return QApplication.exec()


application.Application = Watched  # type: ignore[misc]
sys.exit(application.start(application.Options(file=Path(sys.argv[1]))))
