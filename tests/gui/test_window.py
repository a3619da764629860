"""The whole window: what a person does, and what stands on screen then."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QScrollArea, QStyle, QStyleOptionComboBox, QWidget
from pytestqt.qtbot import QtBot

from memplan import Advice, load_plan, save_plan, verdict_sentence
from memplan_gui import dialogs
from memplan_gui.charts.stack_marks import Spot
from memplan_gui.document import PlanDocument, new_plan
from memplan_gui.fields import WORDS_IN_LIST, ChoiceEdit
from memplan_gui.first_plan import example_plan, example_plans
from memplan_gui.settings import Settings
from memplan_gui.window import Window

OpenWindow = Callable[..., Window]
BATCH = "training.micro_batch"


def edit(window: Window, path: str, value: Any) -> bool:
    taken = window.document.edit(window.document.full_path(path), value)
    window.document.end_gesture()
    window.answers.finish()
    return taken


def activate(window: Window, qtbot: QtBot) -> None:
    """Gives the keyboard to the window: only then does it come and go in the fields."""
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=2000)


def press(window: Window, qtbot: QtBot, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> None:
    """Presses a key as the window system hands it over: shortcuts are asked before the widget with the focus."""
    activate(window, qtbot)
    QTest.keyClick(window.windowHandle(), key, modifiers)


def drop(window: Window, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDropEvent(
        QPointF(9, 9), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    window.dropEvent(event)


class Appearing(QObject):
    """Notes everything that is shown as a window of its own, be it for a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.kinds.append(type(watched).__name__)
        return False


def test_nothing_but_the_window_appears_while_it_comes_up(open_window: OpenWindow, qapp: QApplication) -> None:
    """A part that is shown before it has its place flashes up as an empty window, and may take the keyboard."""
    appearing = Appearing()
    qapp.installEventFilter(appearing)
    window = open_window()
    for title in window.answer_panel.views.titles:
        window.answer_panel.views.show_view(title)
        qapp.processEvents()
    qapp.removeEventFilter(appearing)
    assert appearing.kinds == ["Window"]


# A person who has never seen it asks: does a full fine-tune of Llama 3.1 8B fit 80 GB, and what would make it fit?


def test_the_example_answers_and_says_what_would_make_it_fit(open_window: OpenWindow) -> None:
    window = open_window(PlanDocument(example_plan()))
    panel, scenario = window.answer_panel, window.document.scenario
    assert scenario.model.catalog == "meta-llama/Llama-3.1-8B"
    assert scenario.training.method == "full"
    assert scenario.hardware.device == "a100-80gb-sxm"
    answer = window.answers.answer().estimate
    assert answer is not None
    assert panel.verdict.text.startswith(verdict_sentence(answer).partition(":")[0])
    helping = [button.card for button in panel.levers.buttons if button.card and button.card.then == "fits"]
    assert helping
    assert panel.levers.isVisible()
    window.toggle_lever(helping[0].id)
    assert panel.verdict.text.startswith("Fits")


def test_an_edit_changes_verdict_chart_table_and_levers(window: Window) -> None:
    panel = window.answer_panel
    before = (panel.verdict.text, panel.chart.chart, panel.details.breakdown.figures.table)
    cards = [button.card for button in panel.levers.buttons]
    assert edit(window, "training.sequence_length", 8192)
    assert panel.verdict.text != before[0]
    assert panel.chart.chart != before[1]
    assert panel.details.breakdown.figures.table != before[2]
    assert [button.card for button in panel.levers.buttons] != cards
    assert panel.chart.chart is not None
    assert panel.details.breakdown.figures.table is not None
    assert panel.details.breakdown.figures.table.cells[0] == tuple(bar.total for bar in panel.chart.chart.bars)


def test_typing_in_the_panel_edits_the_plan(window: Window, qtbot: QtBot) -> None:
    editor = window.plan_panel.rows[BATCH].editor
    editor.selectAll()  # type: ignore[attr-defined]  # an IntegerEdit
    qtbot.keyClicks(editor, "4")
    assert window.document.scenario.training.micro_batch == 4
    assert window.isWindowModified()
    window.menus.actions["undo"].trigger()
    assert window.document.scenario.training.micro_batch == 1
    assert editor.text() == "1"  # type: ignore[attr-defined]
    assert not window.isWindowModified()


def test_a_refused_value_is_said_under_its_field(window: Window, qtbot: QtBot) -> None:
    row, before = window.plan_panel.rows[BATCH], window.document.plan
    row.editor.selectAll()  # type: ignore[attr-defined]
    qtbot.keyClicks(row.editor, "0")
    said = "Found 0; allowed is a whole number from 1 to 1,000,000. The plan keeps 1; Escape shows it."
    assert row.rejection == said
    assert window.document.plan is before
    qtbot.keyClick(row.editor, Qt.Key.Key_Return)
    assert row.editor.text() == "0"  # type: ignore[attr-defined]
    assert row.rejection == said
    row.editor.selectAll()  # type: ignore[attr-defined]
    qtbot.keyClicks(row.editor, "2")
    assert row.rejection == ""


@pytest.mark.parametrize(
    ("path", "typed"), [(BATCH, "1.5M"), (BATCH, "20x"), ("hardware.headroom", "100"), ("hardware.headroom", "1..")]
)
@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Tab, Qt.Key.Key_Escape])
def test_a_refused_text_leaves_the_value_from_before(
    window: Window, qtbot: QtBot, path: str, typed: str, key: Qt.Key
) -> None:
    activate(window, qtbot)
    edit(window, BATCH, 4)
    window.plan_panel.open_fold("Offload and headroom")
    row, before = window.plan_panel.rows[path], window.document.plan
    shown = row.editor.text()  # type: ignore[attr-defined]  # a ParsedEdit
    row.editor.setFocus()
    row.editor.selectAll()  # type: ignore[attr-defined]
    qtbot.keyClicks(row.editor, typed)
    qtbot.keyClick(row.editor, key)
    assert window.document.plan == before
    escaped = key == Qt.Key.Key_Escape
    assert row.editor.text() == (shown if escaped else typed)  # type: ignore[attr-defined]
    assert bool(row.rejection) is not escaped
    assert row.editor.property("rejected") is not escaped
    edit(window, "training.sequence_length", 512)
    assert row.editor.text() == (shown if escaped else typed)  # type: ignore[attr-defined]
    row.editor.setFocus()
    qtbot.keyClick(row.editor, Qt.Key.Key_Escape)
    assert (row.editor.text(), row.rejection) == (shown, "")  # type: ignore[attr-defined]


def test_a_refused_text_gives_way_to_another_scenario_and_to_undo(window: Window, qtbot: QtBot) -> None:
    edit(window, BATCH, 4)
    row = window.plan_panel.rows[BATCH]
    for give_way in (
        lambda: window.menus.actions["duplicate"].trigger(),
        lambda: window.document.undo_stack.undo(),
    ):
        row.editor.selectAll()  # type: ignore[attr-defined]  # a ParsedEdit
        qtbot.keyClicks(row.editor, "20x")
        qtbot.keyClick(row.editor, Qt.Key.Key_Return)
        assert row.rejection
        give_way()
        plan = str(window.document.scenario.training.micro_batch)
        assert (row.editor.text(), row.rejection) == (plan, "")  # type: ignore[attr-defined]


def test_nodes_stand_beside_the_devices_and_are_typed_with_them(window: Window, qtbot: QtBot) -> None:
    row, nodes = window.plan_panel.rows["hardware.devices"], window.plan_panel.rows["hardware.devices_per_node"]
    assert nodes.isHidden()  # one device is in no nodes
    hardware = window.document.scenario.hardware
    for typed, devices, per_node, note in (
        ("2x8", 16, 8, "2 nodes"),
        ("3 × 4", 12, 4, "3 nodes"),
        ("6", 6, 4, "2 nodes"),
        ("1*2", 2, 2, "1 node"),
    ):
        row.editor.selectAll()  # type: ignore[attr-defined]  # an IntegerEdit
        qtbot.keyClicks(row.editor, typed)
        qtbot.keyClick(row.editor, Qt.Key.Key_Return)
        hardware = window.document.scenario.hardware
        assert (hardware.devices, hardware.devices_per_node) == (devices, per_node)
        assert row.editor.text() == str(devices)  # type: ignore[attr-defined]
        assert not nodes.isHidden()
        assert nodes.note is not None
        assert nodes.note.text() == note
    for typed in ("2x", "x8", "2x8x2", "2x0"):
        row.editor.selectAll()  # type: ignore[attr-defined]
        qtbot.keyClicks(row.editor, typed)
        qtbot.keyClick(row.editor, Qt.Key.Key_Return)
        assert window.document.scenario.hardware == hardware, typed
        assert row.rejection, typed


def test_a_model_that_nobody_knows_stays_to_be_mended(window: Window, qtbot: QtBot) -> None:
    activate(window, qtbot)
    row, before = window.plan_panel.rows["hardware.device"], window.document.plan
    shown = row.editor.text()  # type: ignore[attr-defined]  # a SearchEdit
    row.editor.setFocus()
    row.editor.selectAll()  # type: ignore[attr-defined]
    qtbot.keyClicks(row.editor, "zzqq")
    qtbot.keyClick(row.editor._list, Qt.Key.Key_Tab)  # type: ignore[attr-defined]  # the list has the keyboard
    window.plan_panel.rows[BATCH].editor.setFocus()
    assert row.editor.text() == "zzqq"  # type: ignore[attr-defined]
    assert "zzqq" in row.rejection
    assert window.document.plan == before
    row.editor.setFocus()
    qtbot.keyClick(row.editor, Qt.Key.Key_Escape)
    assert (row.editor.text(), row.rejection) == (shown, "")  # type: ignore[attr-defined]


def test_undo_reaches_the_document_while_a_field_has_the_keyboard(window: Window, qtbot: QtBot) -> None:
    editor = window.plan_panel.rows[BATCH].editor
    editor.setFocus()
    editor.selectAll()  # type: ignore[attr-defined]  # an IntegerEdit
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClicks(editor, "4")
    press(window, qtbot, Qt.Key.Key_Z, control)
    assert window.document.scenario.training.micro_batch == 1
    assert editor.text() == "1"  # type: ignore[attr-defined]
    press(window, qtbot, Qt.Key.Key_Z, control | shift)
    assert window.document.scenario.training.micro_batch == 4
    qtbot.keyClicks(editor, "x")  # text that the plan does not have is the line's own to undo
    press(window, qtbot, Qt.Key.Key_Z, control)
    assert editor.text() == "4"  # type: ignore[attr-defined]


def test_undo_reaches_the_document_from_title_and_model(window: Window, qtbot: QtBot) -> None:
    edit(window, BATCH, 4)
    for widget in (window.plan_panel.rows["model.catalog"].editor, window.plan_panel.title):
        widget.setFocus()
        press(window, qtbot, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        assert window.document.scenario.training.micro_batch == 1
        window.document.undo_stack.redo()


def test_only_fields_that_apply_are_shown(window: Window) -> None:
    def hidden(path: str) -> bool:
        return window.plan_panel.rows[path].isHidden()

    assert hidden("training.lora.rank")
    edit(window, "training.method", "lora")
    assert not hidden("training.lora.rank")
    assert hidden("hardware.sharding.strategy")
    edit(window, "hardware.devices", 8)
    assert not hidden("hardware.sharding.strategy")
    edit(window, "hardware.sharding.strategy", "zero3")
    edit(window, "hardware.devices", 1)
    assert not hidden("hardware.sharding.strategy")  # it counts, so it is shown
    edit(window, "training.method", "inference")
    assert hidden("training.optimizer")


def test_advice_moves_no_field(window: Window) -> None:
    """Who changes one field and clicks the next must hit the next."""
    panel = window.plan_panel
    panel.show_answer(None)
    QApplication.processEvents()
    assert panel.advice.isHidden()
    before = {path: line.y() for path, line in panel.rows.items() if line.isVisible()}
    estimate = window.answers.answer().estimate
    assert estimate is not None
    said = (Advice("training.micro_batch", "Too large."), Advice("", "An unknown family."))
    panel.show_answer(dataclasses.replace(estimate, advise=lambda: said))
    QApplication.processEvents()
    assert panel.advice.isVisible()
    assert panel.advice.text == "Micro-batch: Too large.\nAn unknown family."
    assert {path: line.y() for path, line in panel.rows.items() if line.isVisible()} == before
    assert "Too large." in panel.rows["training.micro_batch"].editor.accessibleDescription()


def test_advice_is_told_by_its_field(window: Window) -> None:
    answer = window.answers.answer().estimate
    assert answer is not None
    for advice in answer.warnings:
        assert advice.message in window.plan_panel.rows[advice.path].advice


def test_recipes_are_one_step(window: Window) -> None:
    recipe = window.plan_panel._recipe
    recipe.editor.edited.emit("fp32 master copy")  # type: ignore[attr-defined]  # a ChoiceEdit
    training = window.document.scenario.training
    assert (training.master_weights, training.optimizer_state_dtype) == (True, "fp32")
    assert window.document.undo_stack.count() == 1
    edit(window, "training.gradients_dtype", "fp32")
    assert recipe.editor.value() == "Custom"  # type: ignore[attr-defined]


def test_recipes_can_be_read_in_the_field_and_in_its_list(window: Window, qtbot: QtBot) -> None:
    window.resize(1280, 800)
    window.show()
    qtbot.waitExposed(window)
    choice = window.plan_panel._recipe.editor
    assert isinstance(choice, ChoiceEdit)
    option = QStyleOptionComboBox()
    choice.initStyleOption(option)
    field = choice.style().subControlRect(
        QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, choice
    )
    titles = [choice.itemText(at) for at in range(choice.count())]
    assert all(choice.fontMetrics().horizontalAdvance(title) <= field.width() for title in titles), field.width()
    assert not any("case" in title for title in titles)
    choice.showPopup()
    in_full = [choice.itemData(at, WORDS_IN_LIST) or titles[at] for at in range(choice.count())]
    room = choice.view().viewport().width()
    assert all(choice.view().fontMetrics().horizontalAdvance(words) <= room for words in in_full), room
    choice.hidePopup()


def test_a_lever_toggles_on_and_off_and_undoes(window: Window, qtbot: QtBot) -> None:
    button = window.answer_panel.levers.buttons[0]
    assert button.card is not None
    assert not button.isChecked()
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Space)
    window.answers.finish()
    assert button.isChecked()
    assert window.document.undo_stack.undoText().lower() == f"{button.card.title} on".lower()
    window.answer_panel.levers.press(1)
    window.answers.finish()
    assert not button.isChecked()
    window.document.undo_stack.undo()
    window.answers.finish()
    assert button.isChecked()


def test_levers_have_shortcuts_before_the_menu_was_opened(window: Window, qtbot: QtBot) -> None:
    actions = window.menus.submenus["levers"].actions()
    button = window.answer_panel.levers.buttons[0]
    assert button.card is not None
    assert actions[0].text() == button.card.line
    assert [action.isEnabled() for action in actions[:8]] == [
        button.card is not None and button.card.applies for button in window.answer_panel.levers.buttons
    ]
    press(window, qtbot, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    window.answers.finish()
    assert button.isChecked()
    assert actions[0].isChecked()


def test_a_levers_number_means_the_card_that_is_seen(window: Window, qtbot: QtBot) -> None:
    # In another view nobody sees which card is the first, and an edit there may have moved them.
    views, actions = window.answer_panel.views, window.menus.submenus["levers"].actions()
    views.show_view("Map")
    before = window.document.plan
    press(window, qtbot, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert window.document.plan is before
    window.menus.submenus["levers"].aboutToShow.emit()
    assert actions[0].text()  # the menu, where they are read, works from every view
    assert actions[0].isEnabled()
    views.show_view("Memory")
    press(window, qtbot, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert window.document.plan is not before


def test_only_what_makes_text_is_asked_about_its_cache(window: Window) -> None:
    edit(window, "training.method", "inference")
    cache = window.plan_panel.rows["training.inference.kv_cache"]
    assert not cache.isHidden()
    edit(window, "model", {"catalog": "google-bert/bert-base-uncased"})
    assert cache.isHidden()


def test_a_lever_that_does_not_apply_changes_nothing(window: Window) -> None:
    edit(window, "training.method", "inference")
    window.answers.finish()
    before = window.document.plan
    inapplicable = [button for button in window.answer_panel.levers.buttons if button.card and not button.card.applies]
    assert inapplicable
    inapplicable[0].click()
    assert window.document.plan is before
    assert not inapplicable[0].isChecked()


def test_a_figure_of_the_table_is_explained(window: Window) -> None:
    panel = window.answer_panel
    breakdown = panel.details.breakdown
    assert breakdown.figures.table is not None
    row = breakdown.figures.table.terms.index("activations")
    breakdown.activated.emit(breakdown.figures.index(row, 1))
    assert panel.spot == Spot(1, "activations")
    assert panel.details.currentWidget() is panel.details.explanation
    assert "Activations" in panel.details.explanation.text
    assert panel.details.explanation.tensors.rowCount() > 0
    assert panel.chart.plot is not None
    assert panel.chart.plot.pinned_spot == panel.spot


def test_the_unit_changes_everywhere(window: Window, settings: Settings) -> None:
    panel = window.answer_panel
    assert "GiB" in panel.verdict.text
    window.menus.actions["show_gb"].trigger()
    assert "GiB" not in panel.verdict.text
    assert panel.chart.chart is not None
    assert panel.chart.chart.unit == "gb"
    assert panel.unit_switch.value() == "gb"
    assert settings.unit == "gb"


def test_the_first_step_can_be_shown(window: Window) -> None:
    chart = window.answer_panel.chart
    window.menus.actions["show_first_step"].trigger()
    assert chart.chart is not None
    assert chart.chart.first_step
    assert chart.steps.value() == "first"
    assert window.answer_panel.details.breakdown.figures.table is not None


def test_scenarios_have_tabs(window: Window) -> None:
    bar = window.answer_panel.tabs.bar
    window.menus.actions["duplicate"].trigger()
    assert [bar.tabText(at) for at in range(bar.count())] == ["Full fine-tune", "Full fine-tune 2"]
    assert bar.currentIndex() == 1
    edit(window, BATCH, 4)
    bar.setCurrentIndex(0)
    assert window.document.current == 0
    assert window.plan_panel.rows[BATCH].editor.text() == "1"  # type: ignore[attr-defined]
    bar.tabCloseRequested.emit(1)
    assert bar.count() == 1
    window.document.undo_stack.undo()
    assert bar.count() == 2


def test_a_tab_that_is_dragged_moves_its_scenario(window: Window) -> None:
    window.menus.actions["duplicate"].trigger()
    window.answer_panel.tabs.bar.moveTab(1, 0)
    assert [scenario.name for scenario in window.document.plan.scenarios] == ["Full fine-tune 2", "Full fine-tune"]
    assert window.document.current == 0


def test_a_scenario_is_renamed(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogs, "ask_name", lambda parent, name: f"{name} & more")
    window.menus.actions["rename"].trigger()
    assert window.document.scenario.name == "Full fine-tune & more"
    assert window.answer_panel.tabs.bar.tabText(0) == "Full fine-tune && more"


def test_without_an_estimate_the_window_says_why(window: Window) -> None:
    edit(window, "hardware.device", "abacus")
    panel = window.answer_panel
    assert panel.verdict.text.startswith("No estimate")
    assert "abacus" in panel.verdict.text
    assert panel.chart.chart is None
    assert panel.showing() is None
    assert not any(button.isVisible() for button in panel.levers.buttons)
    edit(window, "hardware.device", "a100-80gb-sxm")
    assert panel.chart.chart is not None


def test_the_table_fits_its_view_after_there_was_none(window: Window) -> None:
    window.resize(1360, 900)
    table = window.answer_panel.details.breakdown
    for device in ("abacus", "a100-80gb-sxm"):
        edit(window, "hardware.device", device)
        window.answers.finish()
        QApplication.processEvents()
    assert table.horizontalHeader().length() == table.viewport().width()
    assert table.horizontalScrollBar().maximum() == 0


def test_save_open_and_recent(window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.memplan"
    monkeypatch.setattr(dialogs, "ask_save", lambda *_: path)
    edit(window, BATCH, 2)
    window.menus.actions["save"].trigger()
    assert load_plan(path) == window.document.plan
    assert window.answer_panel.said == "Saved run.memplan"
    assert not window.isWindowModified()
    saved = window.document.plan
    window.menus.actions["new"].trigger()
    assert window.document.plan == new_plan()
    assert window.document.path is None
    window.menus.submenus["recent"].actions()[0].trigger()
    assert window.document.plan == saved
    assert window.document.path == path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("broken.memplan", "{"),
        ("newer.memplan", '{"memplan": 99, "scenarios": []}'),
        ("odd.memplan", '{"memplan": 1, "scenarios": [{"model": {"catalog": "x"}, "colour": "red"}]}'),
        ("config.json", "[]"),
        ("model.safetensors", "\x00\x01"),
    ],
)
def test_a_bad_file_is_told_and_the_document_untouched(window: Window, tmp_path: Path, name: str, text: str) -> None:
    edit(window, BATCH, 2)  # unsaved, and yet nothing is asked: the file does not open
    before, path = window.document.plan, tmp_path / name
    path.write_text(text)
    drop(window, path)
    assert name in window.answer_panel.notice.text
    assert window.document.plan is before
    assert window.document.modified


def test_a_file_can_be_dropped_anywhere(window: Window, qapp: QApplication) -> None:
    class Receivers(QObject):
        """Notes who was asked last whether it takes what is dragged."""

        last: QObject | None = None

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.DragEnter and isinstance(watched, QWidget):
                self.last = watched
            return False

    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile("x.memplan")])
    mime.setText("file:///x.memplan")  # as file managers do, so that a line of text would take it
    receivers = Receivers()
    qapp.installEventFilter(receivers)
    for _, fold in window.plan_panel._folds:
        fold.open()
    QApplication.processEvents()
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    missed = set()
    for x in range(5, window.width(), 30):
        for y in range(5, window.height(), 12):
            under = window.childAt(x, y) or window
            event = QDragEnterEvent(under.mapFrom(window, QPoint(x, y)), copy, mime, left, none)
            QApplication.sendEvent(under, event)
            if not event.isAccepted() or receivers.last is not window:
                missed.add(type(under).__name__)
    qapp.removeEventFilter(receivers)
    assert missed == set()


def test_a_dropped_plan_is_opened_and_a_dropped_config_is_the_model(window: Window, tmp_path: Path) -> None:
    plan = tmp_path / "other.memplan"
    save_plan(example_plan(), plan)
    drop(window, plan)
    assert window.document.plan == example_plan()
    config = tmp_path / "config.json"
    config.write_text(
        '{"model_type": "llama", "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 2,'
        '"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "architectures": ["LlamaForCausalLM"]}'
    )
    drop(window, config)
    assert window.document.scenario.model.kind == "config"
    assert window.answers.answer().estimate is not None
    window.document.undo_stack.undo()
    assert window.document.plan == example_plan()


@pytest.mark.parametrize(("wish", "closes"), [("discard", True), ("cancel", False)])
def test_closing_asks_about_changes(
    window: Window, monkeypatch: pytest.MonkeyPatch, wish: dialogs.Wish, closes: bool
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(dialogs, "ask_about_changes", lambda parent, name: asked.append(name) or wish)
    edit(window, BATCH, 2)
    assert window.close() is closes
    assert asked == ["Untitled"]


def test_a_failed_save_keeps_the_window_open(window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: list[str] = []
    monkeypatch.setattr(dialogs, "ask_about_changes", lambda *_: "save")
    monkeypatch.setattr(dialogs, "ask_save", lambda *_: tmp_path / "missing" / "p.memplan")
    monkeypatch.setattr(dialogs, "show_problem", lambda parent, title, text: told.append(text))
    edit(window, BATCH, 2)
    assert not window.close()
    assert len(told) == 1
    assert "p.memplan" in told[0]


def test_the_window_remembers_its_place_and_theme(open_window: OpenWindow, settings: Settings) -> None:
    first = open_window()
    first.answer_panel.splitter.moveSplitter(500, 1)
    first.choose_theme("dark")
    views, place = first.answer_panel.splitter.saveState(), first.saveGeometry()
    first.close()
    assert settings.theme == "dark"
    assert settings.state("geometry") == place
    assert open_window().answer_panel.splitter.saveState() == views


def test_dark_and_light_restyle_everything(window: Window) -> None:
    window.choose_theme("dark")
    plot = window.answer_panel.chart.plot
    assert plot is not None
    assert plot.backgroundBrush().color().name() == window._theme.roles.window.lower()
    assert window.menus.submenus["theme"].actions()[2].isChecked()
    window.choose_theme("light")
    assert plot.backgroundBrush().color().name() == "#ffffff"


def test_copies_reach_the_clipboard(window: Window) -> None:
    clipboard = QGuiApplication.clipboard()
    window.menus.actions["copy_table"].trigger()
    assert clipboard.text().startswith("GiB\tLoaded\tForward")
    window.menus.actions["copy_text"].trigger()
    assert clipboard.text().startswith("GiB  ")
    assert window.answer_panel.said == "Copied the table as text"
    window.menus.actions["copy_picture"].trigger()
    assert clipboard.image().size().toTuple() == (1920, 960)


def test_selected_cells_are_copied_as_cells(window: Window, qtbot: QtBot) -> None:
    table = window.answer_panel.details.breakdown
    table.setCurrentIndex(table.figures.index(0, 0))
    qtbot.keyClick(table, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert [len(line) for line in copied] == [2, 2]
    assert copied[0][0] == table.figures.index(0, 0).data()


def test_export_writes_the_chosen_file(window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "chart.svg"
    monkeypatch.setattr(dialogs, "ask_save_as_kind", lambda *_: (path, ""))
    window.answer_panel.export_button.click()
    svg = path.read_text(encoding="utf-8")
    assert svg.startswith("<?xml")
    assert "Llama-3.1-8B · Full fine-tune · 1 × 2,048 tokens · A100 SXM4 80 GB · later steps" in svg
    assert window.answer_panel.said == "Exported chart.svg"
    monkeypatch.setattr(dialogs, "ask_save_as_kind", lambda *_: (tmp_path / "chart.bmp", ""))
    window.menus.actions["export_chart"].trigger()
    assert "End it in .png, .svg, .pdf, .csv or .md." in window.answer_panel.notice.text


def test_the_model_can_be_named_in_three_ways(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    source = window.plan_panel._source
    source.chosen.emit("size")
    assert window.document.scenario.model.parameters == 7_000_000_000
    monkeypatch.setattr(dialogs, "ask_open", lambda *_: None)
    source.chosen.emit("config")  # and then the person thinks better of it
    assert source.value() == "size"
    source.chosen.emit("catalog")
    assert window.document.scenario.model.kind == "catalog"


def test_a_folded_fold_says_what_is_in_it(window: Window) -> None:
    fold = next(fold for spec, fold in window.plan_panel._folds if spec.title == "Implementation")
    assert fold.header.text() == "Implementation"
    edit(window, "training.attention", "eager")
    assert fold.header.text().startswith("Implementation · 1 changed")


CONFIG = (
    '{"model_type": "llama", "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 2,'
    '"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "architectures": ["LlamaForCausalLM"]}'
)


def test_a_config_shows_its_file_and_the_way_to_another(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = window.plan_panel
    assert panel.open_another.isHidden() or panel._config_line.isHidden()
    first, second = tmp_path / "good.json", tmp_path / "strange.json"
    first.write_text(CONFIG)
    second.write_text('{"model_type": "abacus"}')
    drop(window, first)
    assert panel.rows["model.name"].editor.text() == "good"  # type: ignore[attr-defined]  # a TextEdit
    assert panel._config_name.text() == f"{tmp_path.name}/good.json"
    assert panel.open_another.isVisible()
    monkeypatch.setattr(dialogs, "ask_open", lambda *_: second)
    panel.open_another.click()
    assert window.answers.answer().estimate is None
    assert panel.rows["model.name"].editor.text() == "strange"  # type: ignore[attr-defined]
    window.document.undo_stack.undo()
    assert panel._config_name.text() == f"{tmp_path.name}/good.json"


def test_a_new_plan_begins_with_its_title_and_explains_nothing(window: Window) -> None:
    window.answer_panel.explain(Spot(1, "activations"))
    window.menus.actions["new"].trigger()
    assert window.plan_panel.title.selectedText() == "Untitled"
    assert window.answer_panel.spot is None
    assert window.answer_panel.chart.plot is not None
    assert window.answer_panel.chart.plot.pinned_spot is None


def test_tabs_stand_at_the_same_height_however_many_there_are(window: Window) -> None:
    bar = window.answer_panel.tabs.bar
    one = (bar.height(), bar.tabRect(0).height(), bar.y())
    window.menus.actions["duplicate"].trigger()
    QApplication.processEvents()
    assert (bar.height(), bar.tabRect(0).height(), bar.y()) == one


def test_the_scroll_bar_cuts_no_frame(window: Window) -> None:
    for title in ("Precision", "Implementation", "Offload and headroom"):
        window.plan_panel.open_fold(title)
    QApplication.processEvents()
    scroll = window.plan_panel.findChild(QScrollArea)
    assert isinstance(scroll, QScrollArea)
    assert scroll.verticalScrollBar().isVisible()
    title = window.plan_panel.title
    assert title.mapTo(scroll.viewport(), title.rect().topRight()).x() < scroll.viewport().width()


def test_each_example_is_opened_by_its_title_and_has_no_file(window: Window) -> None:
    menu = window.menus.submenus["examples"]
    titles = {action.text(): action for action in menu.actions()}
    assert list(titles) == [plan.title for plan in example_plans()]
    titles["Inference or training: Llama 3.1 8B"].trigger()
    assert [one.name for one in window.document.plan.scenarios][:2] == ["Inference, fp16", "Full, mixed precision"]
    assert window.document.path is None
    assert not window.document.modified
