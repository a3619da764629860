"""Text of the usual size and twice as large, in every view: nothing is cut, nothing lies over anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QMessageBox,
    QScrollArea,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from memplan import import_files
from memplan_gui import dialogs
from memplan_gui.document import PlanDocument
from memplan_gui.export_dialog import ExportDialog
from memplan_gui.first_plan import example_plan
from memplan_gui.flow_row import FlowRow
from memplan_gui.import_dialog import ImportDialog
from memplan_gui.mistake_dialog import MistakeDialog
from memplan_gui.said import Said
from memplan_gui.scroller import Scroller
from memplan_gui.settings import Settings
from memplan_gui.theme import Theme
from memplan_gui.window import LEAST_SIZE, Window
from tests.gui.looking import look_at

USUAL, TWICE = 13, 26
Kind = TypeVar("Kind", bound=QWidget)
SIZES = {USUAL: (LEAST_SIZE, QSize(1280, 800), QSize(1920, 1080)), TWICE: (LEAST_SIZE, QSize(1280, 800))}


@pytest.fixture(params=[USUAL, TWICE])
def pixels(request: pytest.FixtureRequest, qapp: QApplication) -> Iterator[int]:
    """The size of text."""
    plain = qapp.font()
    sized = QFont(plain)
    sized.setPixelSize(request.param)
    qapp.setFont(sized)
    yield request.param
    qapp.setFont(plain)


@pytest.fixture
def sized_window(pixels: int, qapp: QApplication, qtbot: QtBot, settings: Settings) -> Iterator[Window]:
    """The window on the example, with text of that size."""
    theme = Theme(qapp, "light")
    window = Window(theme, settings)
    qtbot.addWidget(window, before_close_func=lambda opened: opened.document.undo_stack.setClean())
    window.show()
    window.fill(PlanDocument(example_plan()))
    window.load_chart()
    window.answers.finish()
    yield window
    theme.deleteLater()
    qapp.setStyleSheet("")


def cut_words(window: QWidget) -> list[str]:
    """Labels, buttons and choices on screen that lack room for their words and do not say them elsewhere."""
    found = []
    for label in shown(window, QLabel):
        if not label.text() or label.pixmap().width():
            continue
        if label.wordWrap():
            is_cut = label.height() < label.heightForWidth(label.width()) or label.width() < 30
        else:
            is_cut = label.width() < label.sizeHint().width() and not label.toolTip()
        if is_cut:
            found.append(f"{label.text()!r}: {label.width()} × {label.height()}")
    for button in shown(window, QAbstractButton):
        needed = button.sizeHint().boundedTo(button.maximumSize())
        is_card = button.metaObject().className() == "LeverButton"  # it cuts its words itself, with a tooltip
        if not is_card and button.text() and (button.width() < needed.width() or button.height() < needed.height()):
            found.append(f"{button.text()!r}: {button.width()} × {button.height()}, needs {needed.toTuple()}")
    for choice in shown(window, QComboBox):
        words = choice.fontMetrics().horizontalAdvance(choice.currentText())
        if words + 20 > choice.width() and not choice.toolTip():
            found.append(f"{choice.currentText()!r}: {choice.width()}")
    return found


def shown(window: QWidget, kind: type[Kind]) -> list[Kind]:
    """What of a kind is on screen, or would be after scrolling."""
    return [widget for widget in window.findChildren(kind) if widget.isVisibleTo(window) and not widget.isWindow()]


def overlaps(window: QWidget) -> list[str]:
    """Controls of one layout that lie over one another."""
    found = []
    for owner in (window, *shown(window, QWidget)):
        if owner.layout() is None and not isinstance(owner, FlowRow):
            continue
        children = [
            child
            for child in owner.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
            if child.isVisibleTo(window) and not child.isWindow() and not isinstance(child, Said)
        ]
        for one, other in combinations(children, 2):
            if one.geometry().intersects(other.geometry()) and owner.metaObject().className() not in STACKED:
                found.append(f"{told(one)} and {told(other)} in {told(owner)}")
    return found


STACKED = ("QTabWidget", "Views", "Details", "QStackedWidget", "QMainWindow", "Window")
"""What arranges its children itself."""


def beside_the_window(window: QWidget) -> list[str]:
    """What is wider than the part that scrolls it up and down shows."""
    return [
        f"{told(scroller.widget())} is wider than {scroller.viewport().width()}"
        for scroller in shown(window, Scroller)
        if scroller.widget().width() > scroller.viewport().width()
        and scroller.widget().objectName() != "plan_fields"  # its scroll bar stands in a margin kept for it
        and scroller.horizontalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    ]


def told(widget: QWidget) -> str:
    """How a failed test names a widget."""
    text = widget.text() if isinstance(widget, QLabel | QAbstractButton) else widget.accessibleName()
    return f"{widget.metaObject().className()} {text!r} {widget.geometry().getRect()}"


VIEWS = ("Memory", "Timeline", "Fit", "Make it fit", "Map", "Compare", "Diagnose", "Evidence")
MODES = ("Timeline: Table", "Map: Table", "Compare: Change by change", "Evidence: Set-ups")


def test_no_words_are_cut_and_nothing_overlaps_in_any_view(sized_window: Window, pixels: int) -> None:
    window = sized_window
    assert window.answer_panel.views.titles == VIEWS
    problems = []
    for size in SIZES[pixels]:
        window.resize(size)
        for title in (*VIEWS, *MODES):
            look_at(window, title)
            found = [*cut_words(window), *overlaps(window), *beside_the_window(window)]
            problems += [f"{size.toTuple()} {title}: {words}" for words in found]
    assert not problems, "\n".join(problems)


def test_no_words_are_cut_in_dialogs(sized_window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = sorted((Path(__file__).parents[1] / "core/exchange/files/axolotl").glob("*.y*ml"))[0]
    scenarios = sized_window.document.plan.scenarios
    asked: list[QMessageBox] = []
    monkeypatch.setattr(QMessageBox, "exec", lambda box: asked.append(box))
    dialogs.ask_about_changes(sized_window, "a plan")
    dialogs.show_problem(sized_window, "A problem", "What it is.")
    made = (
        ImportDialog(sized_window, [recipe], import_files([recipe])),
        ExportDialog(sized_window, scenarios, 0, "axolotl", sized_window._theme),
        MistakeDialog(sized_window, "a report", is_kept=True),
        *asked,
    )
    for dialog in made:
        dialog.show()
        for _ in range(4):
            QApplication.processEvents()
        problems = [*cut_words(dialog), *overlaps(dialog)]
        assert not problems, "\n".join(problems)
        dialog.close()
    for dialog in (*made[:2], *asked):
        dialog.deleteLater()


def test_the_plan_is_whole_beside_the_answer(sized_window: Window, pixels: int) -> None:
    window = sized_window
    for size in SIZES[pixels]:
        window.resize(size)
        QApplication.processEvents()
        panel, answer = window.plan_panel, window.answer_panel
        assert panel.width() == panel.minimumWidth()
        assert answer.geometry().right() <= window.centralWidget().rect().right()


def test_cut_words_and_overlaps_are_found(qtbot: QtBot, open_window: Callable[..., Window]) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    cut, over = QLabel("Words that have no room here", owner), QLabel("Others", owner)
    cut.setGeometry(0, 0, 40, 20)
    over.setGeometry(20, 0, 200, 40)
    from memplan_gui.pieces import row

    row(owner).setEnabled(False)
    owner.resize(300, 60)
    owner.show()
    assert cut_words(owner) == ["'Words that have no room here': 40 × 20"]
    assert len(overlaps(owner)) == 1


def test_what_closes_a_tab_grows_with_the_text(sized_window: Window, pixels: int) -> None:
    """The sheet makes its sign larger; Qt's button stayed as it was, and the sign became smaller in it."""
    bar = sized_window.answer_panel.tabs.bar
    for position in range(bar.count()):
        cross = bar.tabButton(position, QTabBar.ButtonPosition.RightSide)
        assert cross is not None
        assert min(cross.width(), cross.height()) >= round(12 * pixels / USUAL) + 4
        assert bar.tabRect(position).contains(cross.geometry())


def test_the_verdict_stays_while_a_view_scrolls(sized_window: Window, pixels: int) -> None:
    """At twice the size on a small screen the answer scrolled around views that scrolled."""
    sized_window.resize(1280, 800)
    outer: QWidget | None = sized_window.answer_panel.views
    while not isinstance(outer, QScrollArea):
        assert outer is not None
        outer = outer.parentWidget()
    for title in sized_window.answer_panel.views.titles:
        look_at(sized_window, title)
        assert not outer.verticalScrollBar().isVisible(), title
