"""Every control that changes the plan: one edit is one step with a name, and undo leads back to the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from memplan import Plan, Scenario, facts_at, plan_bytes
from memplan_gui import dialogs
from memplan_gui.document import PlanDocument
from memplan_gui.fields import (
    BytesEdit,
    ChoiceEdit,
    FractionEdit,
    IntegerEdit,
    NamesEdit,
    ParsedEdit,
    ToggleEdit,
)
from memplan_gui.notes_edit import NotesEdit
from memplan_gui.plan_fields import all_fields
from memplan_gui.presenters.words import step_name
from memplan_gui.recipes import PRESETS
from memplan_gui.search_field import SearchEdit
from memplan_gui.window import Window

LLAMA = {"catalog": "meta-llama/Llama-3.1-8B"}
SET_UPS: dict[str, dict[str, Any]] = {
    "full": {"model": LLAMA},
    "lora": {"model": LLAMA, "training": {"method": "lora"}, "hardware": {"devices": 8, "tensor_parallel": 2}},
    "qlora": {"model": LLAMA, "training": {"method": "qlora", "checkpointing": "full"}},
    "freeze": {"model": LLAMA, "training": {"method": "freeze"}},
    "inference": {"model": LLAMA, "training": {"method": "inference"}},
    "size": {"model": {"parameters": 7_000_000_000, "name": "a size"}, "training": {"method": "lora"}},
    "fsdp2": {"model": LLAMA, "hardware": {"devices": 16, "sharding": {"strategy": "fsdp2"}}},
    "ddp": {"model": LLAMA, "hardware": {"devices": 8, "sharding": {"strategy": "ddp"}}},
    "zero2": {"model": LLAMA, "hardware": {"devices": 8, "sharding": {"strategy": "zero2"}}},
    "zero3": {"model": LLAMA, "hardware": {"devices": 8, "sharding": {"strategy": "zero3"}}},
    "stages": {"model": LLAMA, "hardware": {"devices": 8, "pipeline_parallel": 2}},
}
TYPED: dict[type, str] = {IntegerEdit: "4", FractionEdit: "12", BytesEdit: "3", NamesEdit: "q_proj"}
TYPED_INTO = {
    "training.kernels_version": "4.48",
    "model.catalog": "Qwen3-8B",
    "hardware.device": "h100",
    "training.trainable_fraction": "2",
}


def use(editor: QWidget, path: str) -> None:
    """Change what a control holds, as a person does."""
    if isinstance(editor, ChoiceEdit):
        position = (editor.currentIndex() + 1) % editor.count()
        editor.setCurrentIndex(position)
        editor.activated.emit(position)
    elif isinstance(editor, ToggleEdit):
        editor.click()
    elif isinstance(editor, NotesEdit):
        QTest.keyClicks(editor, "walked by")
    elif isinstance(editor, IntegerEdit) and editor.value() not in (None, 0):
        QTest.keyClick(editor, Qt.Key.Key_Up)
    else:
        assert isinstance(editor, ParsedEdit | SearchEdit)
        editor.selectAll()
        QTest.keyClicks(editor, TYPED_INTO.get(path) or TYPED.get(type(editor), "walked"))  # letter by letter
        QTest.keyClick(editor, Qt.Key.Key_Return)


def hold(window: Window, act: Callable[[], object], what: str) -> str:
    """Do something that changes the plan; returns what its step is called.

    Fails where it is not one step with a name, or where undo or redo lead to other bytes.
    """
    document = window.document
    stack = document.undo_stack
    before, index = plan_bytes(document.plan), stack.index()
    act()
    QApplication.processEvents()
    after, name = plan_bytes(document.plan), stack.undoText()
    assert after != before, f"{what} changed nothing"
    assert stack.index() == index + 1, f"{what} is {stack.index() - index} steps"
    assert name.strip(), f"{what} has no name"
    undo = window.menus.actions["undo"]
    assert undo.text() == f"&Undo {name}"
    undo.trigger()
    assert plan_bytes(document.plan) == before, f"undo of {what}"
    window.menus.actions["redo"].trigger()
    assert plan_bytes(document.plan) == after, f"redo of {what}"
    stack.undo()
    return name


@pytest.fixture
def open_on(open_window: Callable[..., Window]) -> Callable[[str], Window]:
    def open_one(set_up: str) -> Window:
        scenario = Scenario.model_validate({"name": "one", **SET_UPS[set_up]})
        window = open_window(PlanDocument(Plan(title="A plan", scenarios=(scenario,))))
        for _, fold in window.plan_panel._folds:
            fold.open()
        return window

    return open_one


def fields_of(set_up: str) -> set[str]:
    """The fields that are shown for a set-up."""
    scenario = Scenario.model_validate(SET_UPS[set_up])
    return {path for path, spec in all_fields().items() if spec.applies(scenario)}


def test_the_set_ups_show_every_field_between_them() -> None:
    assert set.union(*map(fields_of, SET_UPS)) == set(all_fields())


@pytest.mark.slow
@pytest.mark.parametrize("set_up", SET_UPS)
def test_each_field_is_one_step_with_its_title_as_name(open_on: Callable[[str], Window], set_up: str) -> None:
    window = open_on(set_up)
    earlier = list(SET_UPS)[: list(SET_UPS).index(set_up)]
    new = fields_of(set_up).difference(*map(fields_of, earlier))  # what another set-up showed was walked there
    walked = set()
    for path, row in window.plan_panel.rows.items():
        if path in new and not row.isHidden():
            name = hold(window, lambda row=row, path=path: use(row.editor, path), path)
            assert name == step_name(facts_at(Scenario, path).title)
            walked.add(path)
    assert walked == new


def test_title_notes_recipe_and_source_are_one_step_each(
    open_on: Callable[[str], Window], monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_on("full")
    panel = window.plan_panel
    title = next(edit for edit in panel.findChildren(QWidget, "plan_title") if isinstance(edit, ParsedEdit))
    assert hold(window, lambda: use(title, "title"), "title") == "title"
    notes = panel.findChild(NotesEdit)
    assert notes is not None
    assert hold(window, lambda: use(notes, "notes"), "notes") == "notes"
    choice = panel._recipe._choice
    for position, preset in enumerate(PRESETS):
        if choice.currentIndex() != position:
            name = hold(window, lambda position=position: choice.activated.emit(position), preset.title)
            assert preset.title in name
    buttons = {button.text(): button for button in panel._source.findChildren(QWidget) if hasattr(button, "text")}
    assert hold(window, buttons["Size"].click, "Size") == "model by its size"


def test_each_command_about_scenarios_is_one_step(
    open_on: Callable[[str], Window], monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_on("full")
    monkeypatch.setattr(dialogs, "ask_name", lambda *_: "another name")
    actions, bar = window.menus.actions, window.answer_panel.tabs.bar
    assert hold(window, actions["duplicate"].trigger, "duplicate") == "duplicate scenario"
    assert hold(window, actions["add"].trigger, "add") == "add scenario"
    assert hold(window, actions["rename"].trigger, "rename") == "rename scenario"
    actions["duplicate"].trigger()
    assert window.document.current == 1
    assert hold(window, actions["move_left"].trigger, "move left") == "move scenario"
    window.document.show_scenario(0)
    assert hold(window, actions["move_right"].trigger, "move right") == "move scenario"
    assert hold(window, lambda: bar.moveTab(0, 1), "tab moved") == "move scenario"
    assert hold(window, actions["remove"].trigger, "remove") == "remove scenario"
    assert hold(window, lambda: bar.tabCloseRequested.emit(1), "tab closed") == "remove scenario"


def test_each_lever_is_one_step_with_its_title(open_on: Callable[[str], Window]) -> None:
    window = open_on("full")
    walked = 0
    for offer in window.answers.offers:
        if offer.scenario is not None:
            window.answers.finish()
            act = lambda lever=offer.lever.id: window.toggle_lever(lever)  # noqa: E731  # one act of many
            assert step_name(offer.lever.title) in hold(window, act, offer.lever.title)
            walked += 1
    assert walked > 10


@pytest.mark.slow
def test_what_views_take_into_the_plan_is_one_step(open_on: Callable[[str], Window]) -> None:
    window = open_on("full")
    views = window.answer_panel.views
    window.document.edit("scenarios[0].hardware.device", "rtx-4090")
    for title, widget_name, keys in (
        ("Fit", "table", [Qt.Key.Key_Down, Qt.Key.Key_Return]),
        ("Make it fit", "apply", [Qt.Key.Key_Space]),
        ("Map", "plot", [Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Return]),
    ):
        views.show_view(title)
        view = views.view(title)
        assert view is not None
        view.finish()
        QApplication.processEvents()
        view.finish()
        widget = getattr(view, widget_name)

        def press(widget: QWidget = widget, keys: list[Qt.Key] = keys) -> None:
            for key in keys:
                QTest.keyClick(widget, key)

        hold(window, press, title)
        view.finish()


def test_a_model_from_a_file_is_one_step(open_on: Callable[[str], Window], tmp_path: Path) -> None:
    window = open_on("full")
    config = tmp_path / "config.json"
    config.write_text('{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2}')
    assert hold(window, lambda: window.files.open_path(config), "config.json") == "model from config.json"
