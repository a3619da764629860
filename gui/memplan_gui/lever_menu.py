"""The menu of levers: the strip's cards by name, each with a shortcut."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu

from memplan_gui.lever_strip import LeverStrip

MOST_LEVERS = 9
"""As many as there are digits for shortcuts."""


class LeverMenu:
    """Keeps a menu's entries as the strip's cards are."""

    def __init__(self, menu: QMenu, strip: LeverStrip) -> None:
        self._menu, self._strip = menu, strip
        menu.aboutToShow.connect(self.refresh)
        for number in range(1, MOST_LEVERS + 1):
            action = menu.addAction(f"Lever {number}")
            action.setShortcut(f"Ctrl+{number}")
            action.triggered.connect(lambda _=False, number=number: strip.press(number))
        self.refresh()

    def refresh(self) -> None:
        """Name the levers that there are, and hide the rest."""
        buttons = self._strip.buttons
        for number, action in enumerate(self._menu.actions()):
            card = buttons[number].card if number < len(buttons) else None
            action.setText(card.title if card else "")
            action.setVisible(card is not None)
            action.setEnabled(card is not None and card.applies)
