"""At the start: what was not saved when memplan last ended is offered, and opened as unsaved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QWidget

from memplan_gui import dialogs
from memplan_gui.recovery import Leftover, leftovers


def offer_leftovers(window: QWidget, folder: Path, open_one: Callable[[Leftover], None]) -> None:
    """Ask about each leftover; `open_one` shows it and forgets its file once it is kept anew."""
    for leftover in leftovers(folder):
        wish = dialogs.ask_about_recovery(window, leftover.name)
        if wish == "open":
            open_one(leftover)
        elif wish == "discard":
            leftover.forget()
        else:
            leftover.lock.unlock()
