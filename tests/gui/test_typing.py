"""What becomes of typed text that the plan does not hold as it is: what it cannot take, or holds written otherwise.

What is right: looking changes no plan, what was not taken is said, and no field keeps a text of another scenario.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QInputDialog, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from memplan import GIB, Plan, Scenario, facts_at, replaced
from memplan_gui import dialogs
from memplan_gui.document import PlanDocument, new_plan
from memplan_gui.fields import BytesEdit, IntegerEdit
from memplan_gui.forms import FieldRow
from memplan_gui.notes_edit import NotesEdit
from memplan_gui.presenters.automatic_names import free_name
from memplan_gui.scenario_edits import duplicate_scenario
from memplan_gui.window import Window

OpenWindow = Callable[..., Window]
BATCH = "training.micro_batch"


def type_over(qtbot: QtBot, editor: QLineEdit, text: str) -> None:
    editor.selectAll()
    qtbot.keyClicks(editor, text)


def batches(window: Window) -> list[int]:
    return [scenario.training.micro_batch for scenario in window.document.plan.scenarios]


def notes_of(window: Window) -> NotesEdit:
    (notes,) = window.plan_panel.findChildren(NotesEdit)
    return notes


@pytest.mark.parametrize("notes", ["75,1\u00a0Gio", "one\r\ntwo", "one\rtwo", "one\u2028two\u2029three"])
def test_opening_a_plan_leaves_its_notes(open_window: OpenWindow, qtbot: QtBot, notes: str) -> None:
    """Qt's text has one end of a line, and spaces for no-break spaces: showing such notes is no edit of them."""
    document = PlanDocument(new_plan().model_copy(update={"notes": notes}))
    window = open_window(document)
    assert (document.plan.notes, document.undo_stack.count()) == (notes, 0)
    notes_of(window).moveCursor(notes_of(window).textCursor().MoveOperation.End)
    qtbot.keyClicks(notes_of(window), "!")
    assert (
        document.plan.notes
        == notes.replace("\r\n", "\n").translate(dict.fromkeys(map(ord, "\r\u2028\u2029"), "\n")) + "!"
    )
    document.undo_stack.undo()
    assert (document.plan.notes, notes_of(window).value()) == (notes, notes)


@pytest.mark.parametrize(("typed", "kept"), [("16", 16), ("abc", 8), ("0", 8)])
def test_what_is_typed_in_one_scenario_is_not_taken_back_in_another(
    open_window: OpenWindow, qtbot: QtBot, typed: str, kept: int
) -> None:
    first = replaced(new_plan().scenarios[0], BATCH, 8)
    second = replaced(replaced(first, BATCH, 16 if typed == "16" else 8), "name", "other")
    window = open_window(PlanDocument(Plan(scenarios=(first, second))))
    line = window.plan_panel.rows[BATCH]
    line.editor.setFocus()
    type_over(qtbot, line.editor, typed)
    window.document.show_scenario(1)
    assert line.editor.text() == str(batches(window)[1])
    qtbot.keyClick(line.editor, Qt.Key.Key_Escape)
    qtbot.keyClick(line.editor, Qt.Key.Key_Return)
    assert batches(window) == [kept, second.training.micro_batch]
    assert (line.rejection, line.editor.is_refused) == ("", False)


def test_a_title_that_is_too_long_is_said_and_stays_to_be_mended(open_window: OpenWindow, qtbot: QtBot) -> None:
    window = open_window(PlanDocument(new_plan().model_copy(update={"title": "short"})))
    title, line = window.plan_panel.title, window.plan_panel.rejections["title"]
    too_long = "x" * ((facts_at(Plan, "title").max_length or 0) + 1)
    title.setFocus()
    title.selectAll()
    title.insert(too_long[:-1])  # as pasted
    qtbot.keyClick(title, Qt.Key.Key_X)
    qtbot.keyClick(title, Qt.Key.Key_Return)
    assert (window.document.plan.title, title.text(), title.is_refused) == ("short", too_long, True)
    assert "500 characters" in line.text()
    assert "keeps short" in line.text()
    assert not line.isHidden()
    qtbot.keyClick(title, Qt.Key.Key_Escape)
    assert (title.text(), line.text(), line.isHidden()) == ("short", "", True)


def test_notes_that_are_too_long_are_said_and_those_of_the_plan_stay(open_window: OpenWindow, qtbot: QtBot) -> None:
    window = open_window(PlanDocument(new_plan().model_copy(update={"notes": "short"})))
    notes, line = notes_of(window), window.plan_panel.rejections["notes"]
    notes.insertPlainText("x" * (facts_at(Plan, "notes").max_length or 0))
    assert (window.document.plan.notes, notes.toPlainText()) == ("short", "short")
    assert "1,000,000 characters" in line.text()
    assert line.text().endswith(" Nothing was changed.")
    assert not line.isHidden()
    qtbot.keyClicks(notes, "!")
    assert (len(window.document.plan.notes), line.isHidden()) == (6, True)


def test_another_plan_is_opened_over_a_title_that_is_being_typed(open_window: OpenWindow, qtbot: QtBot) -> None:
    window = open_window(PlanDocument(new_plan()))
    type_over(qtbot, window.plan_panel.title, "y" * 501)
    window.document.begin(new_plan())
    assert (window.plan_panel.title.text(), window.plan_panel.rejections["title"].text()) == ("Untitled", "")
    qtbot.keyClick(window.plan_panel.title, Qt.Key.Key_Return)
    assert window.document.plan.title == "Untitled"


@pytest.fixture
def batch(window: Window) -> FieldRow:
    window.document.edit(window.document.full_path(BATCH), 5)
    line = window.plan_panel.rows[BATCH]
    line.editor.setFocus()
    return line


@pytest.mark.parametrize(("value", "key"), [(1, Qt.Key.Key_Down), (1_000_000, Qt.Key.Key_PageUp)])
def test_no_arrow_leads_out_of_what_a_field_takes(
    window: Window, qtbot: QtBot, batch: FieldRow, value: int, key: Qt.Key
) -> None:
    window.document.edit(window.document.full_path(BATCH), value)
    qtbot.keyClick(batch.editor, key)
    assert (batches(window), batch.rejection, batch.editor.is_refused) == ([value], "", False)


@pytest.mark.parametrize(("typed", "key", "value"), [("1", Qt.Key.Key_Down, 1), ("16", Qt.Key.Key_Up, 17)])
def test_an_arrow_steps_from_what_is_typed(
    window: Window, qtbot: QtBot, batch: FieldRow, typed: str, key: Qt.Key, value: int
) -> None:
    type_over(qtbot, batch.editor, typed)
    qtbot.keyClick(batch.editor, key)
    assert (batches(window), batch.editor.text(), batch.rejection) == ([value], str(value), "")


def test_escape_clears_what_was_refused_of_an_arrow(qtbot: QtBot) -> None:
    editor = IntegerEdit()
    qtbot.addWidget(editor)
    editor.set_value(4)
    editor.edited.connect(lambda _: editor.refuse())  # as by a rule over several fields
    qtbot.keyClick(editor, Qt.Key.Key_Up)
    assert (editor.is_refused, editor.isModified()) == (True, False)
    editor.edited.disconnect()
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
    assert (editor.is_refused, editor.text()) == (False, "4")


@pytest.mark.parametrize("refused", ["many", "0"])
def test_new_text_is_not_refused_because_the_one_before_was(
    window: Window, qtbot: QtBot, batch: FieldRow, refused: str
) -> None:
    type_over(qtbot, batch.editor, refused)
    qtbot.keyClick(batch.editor, Qt.Key.Key_Return)
    assert batch.rejection
    type_over(qtbot, batch.editor, "5")  # the plan's value, which is no edit
    assert (batch.editor.is_refused, batch.rejection, batch.editor.property("rejected")) == (False, "", False)
    qtbot.keyClick(batch.editor, Qt.Key.Key_Return)
    assert (batches(window), batch.rejection) == ([5], "")


def test_what_is_typed_is_meant_in_the_unit_of_its_typing(qtbot: QtBot) -> None:
    editor = BytesEdit()
    qtbot.addWidget(editor)
    editor.edited.connect(editor.set_value)
    editor.taken_back.connect(editor.set_value)
    editor.set_value(GIB)
    type_over(qtbot, editor, "2")
    editor.set_unit("gb")
    assert (editor.value(), editor.text(), editor.isModified()) == (2 * GIB, "2.14748 GB", False)
    type_over(qtbot, editor, "3")
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
    assert editor.value() == 2 * GIB  # not what stood there before both


def test_a_name_without_room_for_a_number_makes_it() -> None:
    longest = "n" * (facts_at(Scenario, "name").max_length or 0)
    document = PlanDocument(Plan(scenarios=(replaced(new_plan().scenarios[0], "name", longest),)))
    duplicate_scenario(document)
    assert [one.name for one in document.plan.scenarios] == [longest, longest[:-2] + " 2"]
    assert (
        free_name(longest, {longest, *(f"{longest[:-2]} {number}" for number in range(2, 10))}) == longest[:-3] + " 10"
    )


def test_no_name_is_given_that_a_scenario_does_not_take(qtbot: QtBot) -> None:
    parent, longest = QWidget(), facts_at(Scenario, "name").max_length or 0
    qtbot.addWidget(parent)

    def act() -> None:
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, QInputDialog)
        line = dialog.findChild(QLineEdit)
        line.selectAll()
        line.insert("n" * (longest + 1))
        dialog.accept()

    QTimer.singleShot(0, act)
    assert dialogs.ask_name(parent, "before") == "n" * longest
