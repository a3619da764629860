"""A scenario as a trainer's configuration, from the window: seen before it is saved, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from memplan import EXPORT_FORMATS, Plan, Scenario, export_scenario, import_files, replaced
from memplan_gui import dialogs
from memplan_gui.document import PlanDocument
from memplan_gui.export_dialog import ExportDialog
from memplan_gui.presenters.exchange import about_words, field_text, unsaid_rows
from memplan_gui.theme import Theme
from memplan_gui.window import Window

LORA = Scenario.model_validate(
    {"name": "lora", "model": {"catalog": "meta-llama/Llama-3.1-8B"}, "training": {"method": "lora"}}
)
SHARDED = replaced(replaced(replaced(LORA, "hardware.devices", 8), "hardware.sharding.strategy", "zero2"), "name", "8")
NOWHERE = replaced(LORA, "hardware.device", "no-such-card")


@pytest.fixture
def dialog(qtbot: QtBot, theme: Theme) -> ExportDialog:
    made = ExportDialog(None, [LORA, SHARDED, NOWHERE], 0, "axolotl", theme)
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def window(open_window: Callable[..., Window]) -> Window:
    return open_window(PlanDocument(Plan(title="two", scenarios=(LORA, SHARDED))))


def choose(dialog: ExportDialog, scenario: int, format_id: str) -> None:
    dialog.scenario.set_value(str(scenario))
    dialog.format.set_value(format_id)
    dialog.format.edited.emit(format_id)


@pytest.mark.parametrize("format_id", EXPORT_FORMATS)
@pytest.mark.parametrize("scenario", [0, 1])
def test_what_is_shown_is_what_will_be_written(dialog: ExportDialog, scenario: int, format_id: str) -> None:
    choose(dialog, scenario, format_id)
    wanted = (LORA, SHARDED)[scenario]
    found = export_scenario(wanted, format_id)
    assert dialog.found == found
    assert dialog.text.toPlainText() == found.text
    assert dialog.save.isEnabled()
    shown = dialog.unsaid.rows
    assert shown is not None
    assert [row[0] for row in shown.cells] == [one.title for one in found.unsaid]
    assert dialog.table.isHidden() == (not found.unsaid)


def test_values_are_called_as_in_the_forms() -> None:
    assert field_text("hardware.sharding.strategy", "zero2") == "ZeRO-2"
    assert field_text("hardware.device", "a100-80gb-sxm") == "A100 SXM4 80 GB"
    assert field_text("hardware.device", "no-such-card") == "no-such-card"
    rows = dict(unsaid_rows(SHARDED, export_scenario(SHARDED, "mlx")))
    assert rows["Sharding"] == "ZeRO-2"


def test_a_file_that_stands_beside_another_says_what_it_is_about() -> None:
    assert about_words("axolotl") == ""
    assert about_words("deepspeed").startswith("Stands beside a trainer's own file; it is about: Hardware, ")


def test_what_cannot_be_written_is_told_and_cannot_be_saved(dialog: ExportDialog) -> None:
    choose(dialog, 2, "axolotl")
    assert "no-such-card" in dialog.problem.text()
    assert dialog.problem.isVisible()
    assert not dialog.save.isEnabled()
    assert not dialog.copy.isEnabled()
    assert dialog.text.toPlainText() == ""
    choose(dialog, 0, "axolotl")
    assert dialog.save.isEnabled()
    assert dialog.problem.isHidden()


def test_the_keyboard_reaches_everything_and_everything_is_named(dialog: ExportDialog, qtbot: QtBot) -> None:
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow, timeout=2000)
    assert QApplication.focusWidget() is dialog.format
    reached = set[QWidget | None]()
    for _ in range(12):
        qtbot.keyClick(QApplication.focusWidget() or dialog, Qt.Key.Key_Tab)
        reached.add(QApplication.focusWidget())
    wanted = {dialog.format, dialog.scenario, dialog.text, dialog.table, dialog.save, dialog.copy}
    assert wanted <= reached
    for widget in (dialog.format, dialog.scenario, dialog.text, dialog.table):
        assert widget.accessibleName()
    assert dialog.accessibleDescription() == dialog.unsaid_title.text()
    qtbot.keyClick(dialog.format, Qt.Key.Key_Down)
    assert dialog.found == export_scenario(LORA, str(dialog.format.value()))
    assert dialog.format.value() != "axolotl"


def test_the_text_can_be_copied(dialog: ExportDialog) -> None:
    dialog.copy.click()
    assert QGuiApplication.clipboard().text() == export_scenario(LORA, "axolotl").text


# A person exports the scenario of eight devices as a recipe, gives it to the trainer, and reads it back.


def test_a_recipe_is_saved_and_reads_back_as_the_scenario(
    window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, suggested = tmp_path / "recipe.yaml", []

    def person(dialog: ExportDialog) -> int:
        choose(dialog, 1, "llama-factory")
        dialog.save.click()
        return 1

    def ask_save(_: QWidget, __: str, kinds: dialogs.Kinds, name: str) -> Path:
        suggested.append((kinds, Path(name).name))
        return path

    monkeypatch.setattr(ExportDialog, "exec", person)
    monkeypatch.setattr(dialogs, "ask_save", ask_save)
    window.menus.actions["export_config"].trigger()
    assert suggested == [((("YAML", "*.yaml"),), "two-8-llama-factory.yaml")]
    assert path.read_text(encoding="utf-8") == export_scenario(SHARDED, "llama-factory").text
    assert window.answer_panel.said == "Exported recipe.yaml"
    back = import_files([path], {"hardware.devices": 8}).scenario
    assert back is not None
    assert back.training.method == "lora"
    assert back.training.lora.rank == SHARDED.training.lora.rank
    monkeypatch.setattr(ExportDialog, "exec", lambda dialog: formats.append(dialog.format.value()))
    formats: list[str] = []
    window.menus.actions["export_config"].trigger()
    assert formats == ["llama-factory"]  # the format stays for the next time


def test_thinking_better_of_it_writes_nothing(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExportDialog, "exec", lambda dialog: dialog.reject())
    monkeypatch.setattr(dialogs, "ask_save", lambda *_: pytest.fail("nothing is to be saved"))
    window.menus.actions["export_config"].trigger()


def test_a_folder_that_is_not_there_is_told_in_the_window(
    window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ExportDialog, "exec", lambda dialog: dialog.save.click())
    monkeypatch.setattr(dialogs, "ask_save", lambda *_: tmp_path / "nowhere" / "a.py")
    window.menus.actions["export_config"].trigger()
    assert "a.py" in window.answer_panel.notice.text
