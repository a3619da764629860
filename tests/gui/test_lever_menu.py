"""The menus of levers. What is right: each lever once, in a menu of its kind, that the keyboard opens."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from memplan import lever_offers
from memplan_gui.document import new_plan
from memplan_gui.presenters.levers import KINDS, kind_of
from memplan_gui.window import Window


def edit(window: Window, path: str, value: Any) -> None:
    window.document.edit(window.document.full_path(path), value)
    window.answers.finish()


def test_other_levers_stand_in_menus_of_their_kinds(window: Window, qtbot: QtBot) -> None:
    """There are thirty: one list of them is longer than most screens are high."""
    edit(window, "hardware.devices", 2)
    panel = window.answer_panel
    for menu in (window.menus.submenus["levers"], panel._more_levers.menu()):
        menu.aboutToShow.emit()
        menu.aboutToShow.emit()  # looked at again, nothing stands there twice
        kinds = [action.menu() for action in menu.actions() if action.menu() is not None]
        titles = [kind.title() for kind in kinds]
        assert titles == sorted(set(titles), key=list(KINDS).index)
        assert all("&" in title for title in titles)  # a letter opens each
        lines = [action.text() for kind in kinds for action in kind.actions()]
        assert len(lines) == len(panel.levers.others) == len(set(lines))
        assert max(len(kind.actions()) for kind in kinds) <= 9
        assert not any("inference" in line for line in lines)
    (precision,) = (kind for kind in kinds if kind.title() == "&Precision")
    before = window.document.plan
    chosen = next(action for action in precision.actions() if action.isEnabled())
    precision.popup(window.mapToGlobal(window.rect().center()))
    precision.setActiveAction(chosen)
    qtbot.keyClick(precision, Qt.Key.Key_Return)
    assert window.document.plan != before
    edit(window, "training.method", "inference")
    assert all("inference trains nothing" not in card.line for card in panel.levers.others)


def test_every_lever_is_of_a_kind() -> None:
    assert {kind_of(offer.lever) for offer in lever_offers(new_plan().scenarios[0])} == set(KINDS)
