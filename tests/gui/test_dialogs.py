"""Questions that need an answer: each button means what it says, Return is the usual answer, Escape changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QInputDialog,
    QLabel,
    QLineEdit,
    QMessageBox,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from memplan import contrast
from memplan_gui import dialogs
from memplan_gui.advice_foot import AdviceFoot
from memplan_gui.pieces import tip
from memplan_gui.theme import Theme, ThemeChoice
from memplan_gui.window import Window

PATH = Path("folder") / "run.memplan"
ASKED: dict[str, Callable[[QWidget], object]] = {
    "changes": lambda parent: dialogs.ask_about_changes(parent, "run"),
    "recovery": lambda parent: dialogs.ask_about_recovery(parent, "run"),
    "replace": lambda parent: dialogs.ask_replace(parent, PATH),
    "other version": lambda parent: dialogs.ask_about_other_version(parent, PATH),
}


@pytest.fixture
def parent(qtbot: QtBot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.show()
    return widget


def answered(parent: QWidget, question: str, press: Callable[[QMessageBox], object]) -> object:
    def act() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        press(box)

    QTimer.singleShot(0, act)
    return ASKED[question](parent)


@pytest.mark.parametrize(
    ("question", "button", "answer"),
    [
        ("changes", "Save", "save"),
        ("changes", "Do not save", "discard"),
        ("changes", "Cancel", "cancel"),
        ("recovery", "Open it", "open"),
        ("recovery", "Throw it away", "discard"),
        ("recovery", "Ask again later", "later"),
        ("replace", "Replace", True),
        ("replace", "Another name…", False),
        ("other version", "Overwrite", "overwrite"),
        ("other version", "Save as…", "save_as"),
        ("other version", "Cancel", "cancel"),
    ],
)
def test_a_button_means_what_it_says(parent: QWidget, question: str, button: str, answer: object) -> None:
    def press(box: QMessageBox) -> None:
        next(one for one in box.buttons() if one.text().replace("&", "") == button).click()

    assert answered(parent, question, press) == answer


def test_what_explains_a_question_is_as_wide_as_a_path(parent: QWidget, theme: Theme) -> None:
    """Qt makes it as narrow as the question, and breaks the path of a folder at its first stroke."""
    theme.dress()
    widths = []

    def press(box: QMessageBox) -> None:
        words = next(one for one in box.findChildren(QLabel) if one.text() == box.informativeText())
        widths.append(
            (words.width(), words.fontMetrics().horizontalAdvance("A file of that name is in /home/me/plans"))
        )
        box.buttons()[0].click()

    answered(parent, "replace", press)
    ((width, wanted),) = widths
    assert width >= wanted


@pytest.mark.parametrize(
    ("question", "usual", "escape"),
    [
        ("changes", "save", "cancel"),
        ("recovery", "open", "later"),
        ("replace", False, False),
        ("other version", "save_as", "cancel"),
    ],
)
def test_return_is_the_usual_answer_and_escape_changes_nothing(
    parent: QWidget, question: str, usual: object, escape: object
) -> None:
    assert answered(parent, question, lambda box: box.defaultButton().click()) == usual
    assert answered(parent, question, lambda box: QTest.keyClick(box, Qt.Key.Key_Escape)) == escape


def test_a_name_is_seen_whole_while_it_is_changed(parent: QWidget) -> None:
    name, seen = "QLoRA, rank 16, checkpointing, 8,192 tokens", []

    def act() -> None:
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, QInputDialog)
        line = dialog.findChild(QLineEdit)
        seen.append(line.width() > line.fontMetrics().horizontalAdvance(name) + 16)
        dialog.setTextValue(f"  {name} now ")
        dialog.accept()

    QTimer.singleShot(0, act)
    assert dialogs.ask_name(parent, name) == f"{name} now"
    assert seen == [True]


@pytest.mark.parametrize("choice", ["light", "dark"])
def test_the_signs_of_qts_own_dialog_of_files_are_seen_on_their_ground(
    theme: Theme, qtbot: QtBot, choice: ThemeChoice
) -> None:
    """Its arrows were black on black in the dark."""
    theme.choose(choice)
    theme.dress()
    dialog = QFileDialog()
    qtbot.addWidget(dialog)
    dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
    ground = theme.colour("window")
    for name in (
        "backButton",
        "forwardButton",
        "toParentButton",
        "newFolderButton",
        "listModeButton",
        "detailModeButton",
    ):
        button = dialog.findChild(QToolButton, name)
        assert button is not None, name
        image = button.icon().pixmap(16, 16).toImage()
        inks = [image.pixelColor(x, y) for x in range(16) for y in range(16)]
        solid = [ink.name() for ink in inks if ink.alpha() > 200]
        assert solid, name
        assert max(contrast(ink, ground.name()) for ink in solid) >= 3, name


def test_no_advice_takes_no_height_and_troubles_nobody(theme: Theme, qtbot: QtBot) -> None:
    """Qt was told of a height of -1, and said so."""
    foot = AdviceFoot()
    qtbot.addWidget(foot)
    foot.resize(300, 100)
    foot.show()
    QApplication.sendEvent(foot, QEvent(QEvent.Type.FontChange))
    assert foot.text == ""


@pytest.mark.parametrize("question", [*ASKED, "problem"])
def test_names_are_shown_as_they_are(parent: QWidget, question: str) -> None:
    formats: list[Qt.TextFormat] = []

    def act() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        formats.extend(text.textFormat() for text in box.findChildren(QLabel) if text.text())
        box.reject()

    QTimer.singleShot(0, act)
    (ASKED | {"problem": lambda parent: dialogs.show_problem(parent, "run", "why")})[question](parent)
    assert formats == [Qt.TextFormat.PlainText] * 2


def test_a_tabs_tip_shows_a_name_as_it_is(window: Window) -> None:
    window.document.edit(window.document.full_path("name"), "<b>a</b>")
    assert window.answer_panel.tabs.bar.tabToolTip(0) == tip("<b>a</b>")
