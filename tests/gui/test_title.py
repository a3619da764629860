"""The title bar. What is right: what documents of other programs have there: the file, and a mark of what is not saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memplan import load_plan, save_plan
from memplan_gui.document import PlanDocument, new_plan
from memplan_gui.scenario_edits import duplicate_scenario
from memplan_gui.window import Window


def test_a_file_is_named_and_what_is_not_saved_is_marked(open_window: Callable[..., Window], tmp_path: Path) -> None:
    path = tmp_path / "run 7.memplan"
    save_plan(new_plan().model_copy(update={"title": "What it is about"}), path)
    window = open_window(PlanDocument(load_plan(path), path))
    assert (window.windowTitle(), window.isWindowModified()) == ("run 7.memplan[*] — memplan", False)
    assert Path(window.windowFilePath()) == path
    duplicate_scenario(window.document)
    assert (window.windowTitle(), window.isWindowModified()) == ("run 7.memplan[*] — memplan", True)
    window.document.show_scenario(0)
    assert window.isWindowModified()
    window.document.save()
    assert not window.isWindowModified()
    window.document.save(tmp_path / "other.memplan")
    assert window.windowTitle() == "other.memplan[*] — memplan"


def test_a_plan_without_a_file_is_called_what_it_is_about(window: Window) -> None:
    window.document.edit("title", "LoRA [*] runs")
    assert window.windowTitle() == "LoRA [*][*] runs[*] — memplan"  # Qt shows "LoRA [*] runs*"
    window.document.edit("title", "")
    assert window.windowTitle() == "Untitled[*] — memplan"
