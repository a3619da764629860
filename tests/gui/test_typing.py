"""What becomes of typed text that the plan does not hold as it is: what it cannot take, or holds written otherwise.

What is right: looking changes no plan, what was not taken is said, and no field keeps a text of another scenario.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from memplan import Plan, replaced
from memplan_gui.document import PlanDocument, new_plan
from memplan_gui.notes_edit import NotesEdit
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
