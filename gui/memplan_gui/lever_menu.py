"""The menus of levers: the strip's cards, each with a shortcut while it is seen, then every other lever by its kind."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from memplan import translated
from memplan_gui.lever_strip import LeverStrip
from memplan_gui.presenters.levers import KINDS, LeverCard

MOST_SHORTCUTS = 9
"""As many as there are digits for shortcuts."""


class LeverMenu:
    """Keeps a menu's entries as the strip's cards are, and lists the levers that have no card under them."""

    def __init__(self, menu: QMenu, strip: LeverStrip, ask: Callable[[], object]) -> None:
        """Fill the menu.

        Args:
            menu: the menu.
            strip: the cards.
            ask: has the cards brought up to date, which they are not while another view hides them.
        """
        self._menu, self._strip = menu, strip
        menu.setToolTipsVisible(True)
        menu.aboutToShow.connect(ask)
        menu.aboutToShow.connect(self._list_others)
        self._with_card: list[QAction] = []
        for number in range(1, MOST_SHORTCUTS + 1):
            action = menu.addAction("")
            action.triggered.connect(lambda _=False, number=number: strip.press(number))
            self._with_card.append(action)
        menu.addSeparator()
        self._others: list[QMenu] = []
        strip.seen.connect(self._number)
        self._number(strip.isVisible())
        self.refresh()
        self._list_others()

    def refresh(self) -> None:
        """Say what the levers that have a card do, and hide the rest."""
        buttons = self._strip.buttons
        for number, action in enumerate(self._with_card):
            card = buttons[number].card if number < len(buttons) and not buttons[number].isHidden() else None
            action.setVisible(card is not None)
            if card is not None:
                _show(action, card)

    def _number(self, seen: bool) -> None:
        """Whether the cards are seen: a number means the card that stands there, and nothing where none does."""
        for number, action in enumerate(self._with_card, start=1):
            action.setShortcut(f"Ctrl+{number}" if seen else "")

    def _list_others(self) -> None:
        """List the levers that have no card, when somebody looks: there are thirty, and each edit changes them all."""
        self.refresh()
        list_levers(self._menu, self._others, self._strip.others, self._strip.toggled.emit)


def list_levers(menu: QMenu, kinds: list[QMenu], cards: tuple[LeverCard, ...], toggle: Callable[[str], object]) -> None:
    """Put a menu for each kind of lever into a menu: a line for each, its saving and price, dimmed where it is none.

    Args:
        menu: the menu.
        kinds: those that stand in it; they give way to the new ones.
        cards: the levers.
        toggle: what is done with the one that is chosen, by its id.
    """
    for old in kinds:
        menu.removeAction(old.menuAction())
        old.deleteLater()
    kinds.clear()
    for kind in KINDS:
        of_kind = [card for card in cards if card.kind == kind]
        if not of_kind:
            continue
        levers = menu.addMenu(translated(kind))
        levers.setToolTipsVisible(True)
        kinds.append(levers)
        for card in of_kind:
            action = levers.addAction("")
            _show(action, card)
            action.triggered.connect(lambda _=False, lever=card.id: toggle(lever))


def _show(action: QAction, card: LeverCard) -> None:
    action.setText(card.line.replace("&", "&&"))
    action.setCheckable(card.applies)
    action.setChecked(card.is_on)
    action.setEnabled(card.applies)
    action.setToolTip(card.tip)
