"""For who hears the window: every control of every view and dialog has a name, charts a sentence, changes are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QMessageBox,
    QPlainTextEdit,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from memplan import import_files
from memplan_gui import announcing, dialogs
from memplan_gui.compare_view import CompareChart
from memplan_gui.document import PlanDocument
from memplan_gui.export_dialog import ExportDialog
from memplan_gui.first_plan import example_plan
from memplan_gui.front_picture import FrontPicture
from memplan_gui.help_window import HelpWindow
from memplan_gui.import_dialog import ImportDialog
from memplan_gui.map_chart import MapPlot
from memplan_gui.mistake_dialog import MistakeDialog
from memplan_gui.timeline_plot import TimelinePlot
from memplan_gui.waterfall_picture import WaterfallPicture
from memplan_gui.window import Window
from tests.gui.looking import look_at

VIEWS = ("Memory", "Timeline", "Fit", "Make it fit", "Map", "Compare", "Diagnose", "Evidence")
CHARTS = (TimelinePlot, MapPlot, CompareChart, FrontPicture, WaterfallPicture)
RECIPE = Path(__file__).parents[1] / "core/exchange/files/axolotl"


@pytest.fixture
def example(open_window: Callable[..., Window]) -> Window:
    return open_window(PlanDocument(example_plan()))


def name_of(widget: QWidget) -> str:
    """What a screen reader calls it."""
    return QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name).strip()


def nameless(owner: QWidget) -> list[str]:
    """Controls on screen that a screen reader has no name for, and those whose name is a sign."""
    found = []
    for widget in owner.findChildren(QWidget):
        by_keyboard = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
        if not widget.isVisibleTo(owner) or not (by_keyboard or isinstance(widget, CHARTS)) or is_inner(widget):
            continue
        name = name_of(widget)
        if not any(letter.isalnum() for letter in name):
            found.append(f"{widget.metaObject().className()} {name!r} in {widget.parentWidget()!r}")
    return found


def is_inner(widget: QWidget) -> bool:
    """Part of a control that has a name itself."""
    owner = widget.parentWidget()
    is_list = owner is not None and owner.metaObject().className() == "QComboBoxPrivateContainer"
    return isinstance(widget, QHeaderView) or widget.objectName().startswith("qt_") or is_list


def test_everything_in_every_view_has_a_name(example: Window) -> None:
    for fold in example.plan_panel.findChildren(QAbstractButton):
        if fold.property("role") == "fold":
            fold.click()
    for title in VIEWS:
        view = look_at(example, title)
        for button in view.findChildren(QAbstractButton):
            if button.property("role") == "segment" and button.isVisibleTo(example):
                button.click()
                assert nameless(example) == [], f"{title}: {button.text()}"
        assert nameless(example) == [], title


def test_every_chart_has_a_sentence_and_a_table(example: Window) -> None:
    for title in VIEWS:
        view = look_at(example, title)
        for kind in CHARTS:
            for chart in view.findChildren(kind):
                if chart.isVisibleTo(example):
                    assert "." in chart.accessibleDescription(), f"{title}: {chart.accessibleName()}"
                    assert chart.accessibleName()
                    assert [table for table in view.findChildren(QWidget) if hasattr(table, "selected_text")], title


def test_dialogs_and_help_have_names(example: Window, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    look_at(example, "Fit")
    example.menus.actions["help"].trigger()
    pages = example.findChildren(HelpWindow)
    recipe = sorted(RECIPE.glob("*.y*ml"))[0]
    made: list[QWidget] = [
        ImportDialog(example, [recipe], import_files([recipe])),
        ExportDialog(example, example.document.plan.scenarios, 0, "axolotl", example.answer_panel._theme),
        MistakeDialog(example, "a report", is_kept=True),
        *pages,
    ]
    assert pages
    asked: list[QMessageBox] = []
    monkeypatch.setattr(QMessageBox, "exec", lambda box: asked.append(box))
    dialogs.ask_about_changes(example, "a plan")
    dialogs.show_problem(example, "A problem", "What it is.")
    for window in (*made, *asked):
        window.show()
        QApplication.processEvents()
        assert nameless(window) == [], window
        assert window.windowTitle() or isinstance(window, QMessageBox)
        window.close()
    for window in made[:2]:
        window.deleteLater()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a screen reader is given to read aloud."""
    words: list[str] = []

    def take(event: object) -> None:
        assert isinstance(event, QAccessibleAnnouncementEvent)
        words.append(event.message())

    class Reader:
        """As Qt's own, with somebody who listens."""

        AnnouncementPoliteness = QAccessible.AnnouncementPoliteness
        isActive = staticmethod(lambda: True)  # noqa: N815  # Qt's name
        updateAccessibility = staticmethod(take)  # noqa: N815  # Qt's name

    monkeypatch.setattr(announcing, "QAccessible", Reader)
    return words


def test_another_verdict_is_told_once_typing_pauses(example: Window, qtbot: QtBot, told: list[str]) -> None:
    told.clear()  # on a slow machine the first verdict is read while the window is being made
    for length in (4096, 8192, 16384):
        example.document.edit("scenarios[0].training.sequence_length", length)
        example.answers.finish()
    assert told == []
    qtbot.waitUntil(lambda: bool(told))
    words = example.answer_panel.verdict_words
    assert words is not None
    assert told == [words.sentence]


def test_messages_are_told(example: Window, told: list[str]) -> None:
    told.clear()
    example.files.failed.emit("x.memplan: is not a plan.")
    example.answer_panel.say("Written to x.svg")
    assert told == ["x.memplan: is not a plan.", "Written to x.svg"]


def test_places_that_arrow_keys_come_to_are_told(example: Window, qtbot: QtBot, told: list[str]) -> None:
    plot = example.answer_panel.chart.plot
    assert plot is not None
    look_at(example, "Memory")
    plot.setFocus()
    told.clear()  # what the window said of itself until here
    qtbot.keyClick(plot, Qt.Key.Key_Right)
    assert len(told) == 1
    assert "Weights" in told[0]
    look_at(example, "Map")
    heat = example.answer_panel.views.findChildren(MapPlot)[0]
    heat.setFocus()
    told.clear()
    qtbot.keyClick(heat, Qt.Key.Key_Right)
    assert len(told) == 1
    assert "2,048 tokens" in told[0]


def test_nobody_who_listens_costs_nothing(example: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcing, "QAccessibleAnnouncementEvent", None)
    assert not QAccessible.isActive()
    example.answer_panel.say("Written")


def test_a_nameless_control_is_found(qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    for number, kind in enumerate((QLineEdit, QComboBox, QPlainTextEdit)):
        kind(owner).move(0, 40 * number)
    named = QLineEdit(owner)
    named.setAccessibleName("Filter")
    tabs = QTabBar(owner)
    tabs.addTab("One")
    owner.show()
    assert len(nameless(owner)) == 3
