"""Trainers' configurations in the window: shown before they are taken, one undoable step, nothing lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel, QTreeWidget

from memplan import MemplanError, import_files, resource
from memplan_gui import dialogs
from memplan_gui.import_dialog import ImportDialog, _device_id
from memplan_gui.window import Window

RECIPE = resource("examples", "qlora-axolotl.yaml")


def answering(field: str, text: str, button: str) -> Callable[[ImportDialog], int]:
    """A person who answers one question and presses a button."""

    def act(dialog: ImportDialog) -> int:
        dialog._fields[field].setText(text)
        pressed = dialog._take if button == "scenario" else dialog._begin
        assert pressed.isEnabled()
        pressed.click()
        return 1

    return act


def test_a_recipe_is_added_as_one_step(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    before = window.document.plan
    monkeypatch.setattr(dialogs, "ask_open_several", lambda *_: [RECIPE])
    monkeypatch.setattr(ImportDialog, "exec", answering("hardware.devices", "4", "scenario"))
    window.menus.actions["import_files"].trigger()
    assert [one.name for one in window.document.plan.scenarios] == [
        *(one.name for one in before.scenarios),
        "qlora-axolotl",
    ]
    assert window.document.scenario.hardware.devices == 4
    assert window.document.scenario.training.method == "qlora"
    window.document.undo_stack.undo()
    assert window.document.plan == before


def test_a_dropped_recipe_can_begin_a_plan(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImportDialog, "exec", answering("hardware.devices", "1", "plan"))
    window.imports.take([RECIPE])
    assert [one.name for one in window.document.plan.scenarios] == ["qlora-axolotl"]
    assert window.document.path is None


def test_thinking_better_of_it_changes_nothing(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    before = window.document.plan
    monkeypatch.setattr(ImportDialog, "exec", lambda dialog: dialog.reject())
    window.imports.take([RECIPE])
    assert window.document.plan is before


def test_what_cannot_be_read_is_told_in_the_window(window: Window, tmp_path: Path) -> None:
    before, told = window.document.plan, []
    window.files.failed.connect(told.append)
    broken = tmp_path / "broken.yaml"
    broken.write_text("base_model: [", encoding="utf-8")
    window.imports.take([broken])
    assert "broken.yaml: is not YAML" in told[0]
    assert window.document.plan is before


def test_a_dropped_config_is_a_model_as_before(window: Window, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    small = '{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, '
    config.write_text(small + '"num_attention_heads": 4, "vocab_size": 1000}', encoding="utf-8")
    window.imports.take([config])
    assert window.document.scenario.model.config is not None
    assert len(window.document.plan.scenarios) == 1 or window.document.scenario.model.kind == "config"


def test_open_questions_keep_the_buttons_off(window: Window) -> None:
    dialog = ImportDialog(window, [RECIPE], import_files([RECIPE]))
    assert not dialog._take.isEnabled()
    assert not dialog._begin.isEnabled()
    dialog._fields["hardware.devices"].setText("many")
    assert not dialog._take.isEnabled()
    assert "is not a count" in " ".join(one.text() for one in dialog.findChildren(QLabel))
    dialog._fields["hardware.devices"].setText("8")
    assert dialog._take.isEnabled()
    tree = dialog.findChild(QTreeWidget)
    titles = [tree.topLevelItem(position).text(0) for position in range(tree.topLevelItemCount())]
    assert titles == ["Understood", "Assumed", "Ignored"]
    dialog.deleteLater()


def test_what_may_be_misspelt_comes_first_and_a_suggestion_reads_as_one(window: Window, tmp_path: Path) -> None:
    """A key that was not read leaves a default that looks settled: nobody scrolls down to find out."""
    recipe = tmp_path / "lora.yml"
    recipe.write_text(RECIPE.read_text() + "gradient_accumulation_step: 16\n")
    imported = import_files([recipe])
    dialog = ImportDialog(window, [recipe], imported)
    tree = dialog.findChild(QTreeWidget)
    first = tree.topLevelItem(0)
    assert first.text(0) == "Perhaps misspelt, and not read"
    assert first.child(0).text(0) == "gradient_accumulation_step"
    assert "did you mean gradient_accumulation_steps?" in first.child(0).text(1)
    assert dialog._fields["hardware.devices"].placeholderText() == "for example 8"
    dialog.deleteLater()


def test_values_are_called_as_in_the_forms(window: Window) -> None:
    dialog = ImportDialog(window, [RECIPE], import_files([RECIPE], {"hardware.devices": 8}))
    tree = dialog.findChild(QTreeWidget)
    groups = [tree.topLevelItem(position) for position in range(tree.topLevelItemCount())]
    words = {group.child(at).text(0): group.child(at).text(1) for group in groups for at in range(group.childCount())}
    assert words["Method"] == "QLoRA (4-bit base)"
    assert words["Optimizer"] == "Paged AdamW 8-bit"
    assert words["Device"] == "A100 SXM4 80 GB: no file names the device"
    assert words["Sharding"] == "DDP: nothing says how devices divide the model"
    dialog.deleteLater()


def test_which_file_says_it_is_told_where_there_are_several(window: Window, tmp_path: Path) -> None:
    first, second = tmp_path / "run.yaml", tmp_path / "ds.json"
    first.write_text("base_model: meta-llama/Llama-3.1-8B\nsequence_len: 4096\nmicro_batch_size: 2\n", encoding="utf-8")
    second.write_text('{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 2}', encoding="utf-8")

    def places(*paths: Path) -> set[str]:
        dialog = ImportDialog(window, paths, import_files(paths))
        tree = dialog.findChildren(QTreeWidget)[0]
        groups = [tree.topLevelItem(at) for at in range(tree.topLevelItemCount())]
        found = {group.child(at).text(2) for group in groups if group for at in range(group.childCount())}
        dialog.deleteLater()
        return found - {""}

    assert "sequence_len" in places(first)
    assert not any(" in run.yaml" in place for place in places(first))
    assert {"sequence_len in run.yaml"} <= places(first, second)


def test_a_device_is_answered_by_its_name_or_its_id() -> None:
    assert _device_id("a100 sxm4 80 gb") == _device_id("a100-80gb-sxm") == "a100-80gb-sxm"
    with pytest.raises(MemplanError):
        _device_id("no such card")
