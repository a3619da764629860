"""The Diagnose view: what is pasted or dropped is read at once, held against the scenario, and a lever is one step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QAccessible, QColor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from memplan import Plan, Scenario, diagnose, estimate, read_messages
from memplan_gui.card_bar import CardBar
from memplan_gui.colours import CARD_COLOURS
from memplan_gui.diagnose_view import DiagnoseView
from memplan_gui.document import PlanDocument
from memplan_gui.fields import BytesEdit
from memplan_gui.presenters.diagnosis import diagnosis_page, levers_title, message_titles, nothing_words
from memplan_gui.theme import Theme
from memplan_gui.window import Window

ZERO2 = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.14 GiB (GPU 5; 31.75 GiB total capacity; 28.28 GiB "
    "already allocated; 1.95 GiB free; 28.28 GiB reserved in total by PyTorch)"
)
"""8 V100s, LLaMA 7B, ZeRO-2: hiyouga/LlamaFactory#1221."""
OTHERS = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 238.00 MiB. GPU 0 has a total capacity of 22.05 GiB of which "
    "10.81 MiB is free. Process 43872 has 4.97 GiB memory in use. Including non-PyTorch memory, this process has 17.05 GiB memory "
    "in use. Of the allocated memory 15.43 GiB is allocated by PyTorch, and 1.07 GiB is reserved by PyTorch but unallocated."
)
RUN = Scenario.model_validate(
    {
        "model": {"catalog": "huggyllama/llama-7b"},
        "training": {"weights_dtype": "fp16", "master_weights": True, "sequence_length": 512},
        "hardware": {"device": "v100-32gb", "devices": 8, "sharding": {"strategy": "zero2"}},
    }
)


@pytest.fixture
def window(open_window: Callable[..., Window]) -> Window:
    return open_window(PlanDocument(Plan(scenarios=(RUN,))))


@pytest.fixture
def view(window: Window) -> DiagnoseView:
    window.answer_panel.views.show_view("Diagnose")
    found = window.answer_panel.views.view("Diagnose")
    assert isinstance(found, DiagnoseView)
    return found


def read(view: DiagnoseView, text: str) -> str:
    view.box.setPlainText(text)
    view.finish()
    QApplication.processEvents()
    return view.part.text


def test_a_pasted_message_is_answered_at_once(view: DiagnoseView) -> None:
    words = read(view, ZERO2)
    assert "Card 5 ran out of memory at the optimizer step: 3.14 GiB asked for, 1.95 GiB free." in words
    assert "the optimizer step's temporary (all trained weights, one of 8 parts)" in words
    assert "Would have saved this run" in words


def test_without_text_there_is_nothing_but_how(view: DiagnoseView) -> None:
    assert view.part.text == ""
    assert "Paste" in view.box.placeholderText()
    assert not view.clear_button.isEnabled()
    assert "No out-of-memory message" in read(view, "all is well") + view.state.text()


def test_a_lever_is_applied_as_one_undoable_step(window: Window, view: DiagnoseView) -> None:
    read(view, ZERO2)
    assert view.found is not None
    first = view.found.levers[0].offer
    view.part.lever_buttons[0].click()
    assert window.document.scenario == first.scenario
    window.document.undo_stack.undo()
    assert window.document.scenario == RUN
    assert not window.document.undo_stack.canUndo()


def test_a_double_click_applies_one_lever_and_it_is_said(window: Window, view: DiagnoseView) -> None:
    read(view, ZERO2)
    assert view.found is not None
    title = view.found.levers[0].offer.lever.title
    view.part.lever_buttons[0].click()
    window.answers.finish()
    view.finish()
    assert f"{title} is in the plan now" in view.part.text
    view.part.lever_buttons[0].click()  # another lever's button stands there now
    assert window.document.undo_stack.count() == 1
    window.document.undo_stack.undo()
    window.answers.finish()
    view.finish()
    assert "in the plan now" not in view.part.text


def test_the_answer_follows_the_plan(window: Window, view: DiagnoseView) -> None:
    read(view, ZERO2)
    window.document.edit("scenarios[0].hardware.devices", 4)
    window.answers.finish()
    view.finish()
    assert view.found is not None
    assert all("one of 8 parts" not in name for match in view.found.matches for name in match.names)


def test_several_messages_can_be_chosen_from(view: DiagnoseView) -> None:
    read(view, f"{ZERO2}\n{OTHERS}")
    assert view.which.isVisible()
    assert view.which.count() == 2
    view.which.setCurrentIndex(1)
    view.which.activated.emit(1)
    view.finish()
    assert "Other processes hold 4.97 GiB" in view.part.text
    view.clear()
    view.finish()
    assert view.part.text == ""
    assert view.which.isHidden()


def test_a_log_is_read_from_its_file(view: DiagnoseView, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step\n" * 1000 + ZERO2, encoding="utf-8")
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(log))])
    assert view.box.canInsertFromMimeData(mime)
    view.box.insertFromMimeData(mime)
    view.finish()
    assert view.box.toPlainText() == ""
    assert "line 1,001" in view.part.text
    assert "train.log" in view.state.text()


def test_what_is_no_text_is_told(view: DiagnoseView, tmp_path: Path) -> None:
    picture = tmp_path / "screenshot.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    view.read_file(picture)
    view.finish()
    assert "is a PNG picture, not text. Paste the text that it shows." in view.state.text()


def test_the_tensor_leads_to_its_explanation(window: Window, view: DiagnoseView) -> None:
    read(view, ZERO2)
    assert view.part.explain_button.isVisible()
    view.part.explain_button.click()
    panel = window.answer_panel
    assert panel.views.currentIndex() == 0
    assert panel.spot is not None
    assert panel.spot.term == "temporary buffers"
    assert panel.details.currentWidget() is panel.details.explanation


def test_a_view_that_is_not_shown_reads_nothing(window: Window, view: DiagnoseView) -> None:
    read(view, ZERO2)
    shown = view.found
    window.answer_panel.views.show_view("Memory")
    window.document.edit("scenarios[0].hardware.devices", 2)
    window.answers.finish()
    view.finish()
    assert view.found is shown


def test_keyboard_and_screen_reader(view: DiagnoseView) -> None:
    read(view, ZERO2)
    assert view.keyboard is view.box
    assert view.box.tabChangesFocus()
    for widget in (view.box, view.open_button, view.clear_button, view.which, view.part.bar, *view.part.lever_buttons):
        assert widget.accessibleName()
    assert "28.3 GiB" in view.part.bar.accessibleDescription()
    interface = QAccessible.queryAccessibleInterface(view.part.lever_buttons[0])
    assert interface.text(QAccessible.Text.Name).startswith("Apply: ")


def test_page_of_a_message_without_a_plan() -> None:
    reading = read_messages(OTHERS)
    page = diagnosis_page(diagnose(reading.messages[0]), None, "gib")
    assert page.levers == ()
    assert levers_title(page) == ""
    assert page.place is None
    assert dict(page.rows)["Stated"].endswith("; no figure for reserved.")
    assert page.bar is not None
    assert [part.name for part in page.bar.parts] == ["tensors", "reserved", "process", "others", "free"]
    assert page.bar.longest_bytes == page.bar.held_bytes + page.bar.asked.num_bytes  # type: ignore[union-attr]


def test_titles_and_what_is_said_of_other_texts() -> None:
    assert message_titles(read_messages(f"[rank3]: {ZERO2}")) == ("1: card 5, rank 3, 3.14 GiB, line 1",)
    assert "Peak mem 121.550 GB" in nothing_words(read_messages("Peak mem 121.550 GB"))


def test_amounts_follow_the_unit(window: Window, view: DiagnoseView) -> None:
    read(view, ZERO2)
    window.set_unit("gb")
    view.finish()
    assert "34.1 GB in all" in view.part.bar.accessibleDescription()


def test_the_bar_is_painted_in_the_parts_colours(qtbot: QtBot, theme: Theme) -> None:
    bar = CardBar(theme)
    qtbot.addWidget(bar)
    bar.show_page(diagnosis_page(diagnose(read_messages(OTHERS).messages[0]), estimate(RUN), "gib").bar)
    bar.resize(600, bar.heightForWidth(600))
    picture = bar.grab().toImage()
    seen = {picture.pixelColor(x, 30).name() for x in range(600)}
    assert {QColor(CARD_COLOURS[name]).name() for name in ("tensors", "reserved", "process", "others")} <= seen
    assert bar.heightForWidth(240) > bar.heightForWidth(900)
    bar.show_page(None)
    assert bar.isHidden()


def test_escape_and_tab_leave_the_box(view: DiagnoseView, qtbot: QtBot) -> None:
    view.box.setFocus()
    qtbot.keyClick(view.box, Qt.Key.Key_Tab)
    assert not view.box.hasFocus()


def test_what_was_measured_is_typed_into_the_plan(window: Window) -> None:
    """Three amounts, each empty until it was measured; the verdict says what they come to."""
    editor = window.plan_panel.rows["measured.allocated_bytes"].editor
    assert isinstance(editor, BytesEdit)
    assert editor.text() == ""
    tensors = estimate(RUN).process.allocated
    window.document.edit("scenarios[0].measured.allocated_bytes", tensors)
    window.answers.finish()
    assert "Tensors agree with the estimate's" in window.answer_panel.verdict.text
    window.document.undo_stack.undo()
    window.answers.finish()
    assert "Measured" not in window.answer_panel.verdict.text
