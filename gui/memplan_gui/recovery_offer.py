"""At the start: what was not saved when memplan last ended is offered once, and opened as unsaved."""

from __future__ import annotations

from pathlib import Path

from memplan_gui import dialogs
from memplan_gui.recovery import Recovery, leftovers
from memplan_gui.window import Window


def offer_leftovers(window: Window, folder: Path, recovery: Recovery) -> None:
    """Ask about each leftover until one is opened; the others are asked about at the next start."""
    for leftover in leftovers(folder):
        wish = dialogs.ask_about_recovery(window, leftover.name)
        if wish == "later":
            leftover.lock.unlock()
            continue
        if wish == "open":
            window.document.begin(leftover.plan, leftover.path, is_saved=False)
            recovery.keep()  # before the old file goes: there is no moment without one
        leftover.forget()
        if wish == "open":
            return
