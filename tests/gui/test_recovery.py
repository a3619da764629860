"""Unsaved work outlives memplan: after a kill at any moment no more than two seconds of it are gone."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from memplan import Plan, plan_bytes, replaced
from memplan_gui import dialogs
from memplan_gui.document import PlanDocument, new_plan
from memplan_gui.file_stamp import stamp_of
from memplan_gui.recovery import KEPT_WITHIN_MS, Leftover, Recovery, leftovers
from memplan_gui.recovery_offer import offer_leftovers
from memplan_gui.window import Window

SCRIPT = Path(__file__).with_name("editing_under_fire.py")


def only(folder: Path) -> Leftover:
    (found,) = leftovers(folder)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "recovery"


@pytest.fixture
def document(qapp: object) -> PlanDocument:
    return PlanDocument()


def test_nothing_is_kept_of_what_is_saved(document: PlanDocument, folder: Path, tmp_path: Path) -> None:
    recovery = Recovery(document, folder, document)
    recovery.keep()
    assert not folder.exists()
    document.edit("notes", "new")
    recovery.keep()
    assert len(list(folder.glob("*.json"))) == 1
    document.save(tmp_path / "a.memplan")
    assert list(folder.iterdir()) == []


def test_undoing_every_change_leaves_nothing_to_keep(document: PlanDocument, folder: Path) -> None:
    recovery = Recovery(document, folder, document)
    document.edit("notes", "new")
    recovery.keep()
    document.undo_stack.undo()
    assert list(folder.iterdir()) == []


def test_a_change_is_kept_without_being_asked_for_although_changes_go_on(
    document: PlanDocument, folder: Path, qtbot: QtBot
) -> None:
    Recovery(document, folder, document)
    for number in range(2 * KEPT_WITHIN_MS // 100):
        document.edit("notes", str(number))
        qtbot.wait(100)
    assert len(list(folder.glob("*.json"))) == 1


def test_what_a_running_memplan_keeps_is_not_offered_to_another(document: PlanDocument, folder: Path) -> None:
    recovery = Recovery(document, folder, document)
    document.edit("notes", "new")
    recovery.keep()
    assert list(leftovers(folder)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_kill_at_any_moment_costs_two_seconds_at_most(folder: Path, seed: int) -> None:
    edited_s = random.Random(seed).uniform(1.5, 4.0)  # by the child's own clock: a busy machine slows both
    moments: dict[int, float] = {}
    with subprocess.Popen([sys.executable, str(SCRIPT), str(folder)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            number, moment = line.split()
            moments[int(number)] = float(moment)
            if float(moment) - moments[1] > edited_s:
                break
        child.kill()
    kept = int(only(folder).plan.notes)
    newest = max(moments.values())
    assert all(newest - moment < 2.0 for number, moment in moments.items() if number > kept)


def left_behind(folder: Path, plan: Plan, path: Path | None = None) -> None:
    """As a memplan that was killed leaves it: a file, and no lock that anybody holds."""
    document = PlanDocument(new_plan(), path)
    recovery = Recovery(document, folder, document)
    document.edit_together({"title": plan.title, "notes": plan.notes, "scenarios": plan.scenarios})
    recovery.keep()
    assert recovery._lock is not None
    recovery._lock.unlock()


def test_a_leftover_is_opened_as_unsaved_under_its_own_file(
    window: Window, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = replaced(replaced(new_plan(), "title", "Lost"), "notes", "and found")
    left_behind(folder, plan, tmp_path / "lost.memplan")
    asked: list[str] = []
    monkeypatch.setattr(dialogs, "ask_about_recovery", lambda _, name: asked.append(name) or "open")
    recovery = Recovery(window.document, folder, window)

    def open_one(leftover: Leftover) -> None:
        window.document.begin(leftover.plan, leftover.path, is_recovered=True)
        assert recovery.keep()
        leftover.forget()

    offer_leftovers(window, folder, open_one)
    assert asked == ["Lost"]
    assert window.document.plan == plan
    assert window.document.path == tmp_path / "lost.memplan"
    assert window.document.modified
    assert window.isWindowModified()
    title = "lost.memplan (recovered)[*] — memplan"  # its saved state may be open in another window
    assert window.windowTitle() == title
    assert len(list(folder.glob("*.json"))) == 1  # its own now
    assert list(leftovers(folder)) == []
    window.document.save()
    assert window.windowTitle() == "lost.memplan[*] — memplan"
    recovery.forget()


@pytest.mark.parametrize(("wish", "num_left"), [("discard", 0), ("later", 1)])
def test_a_leftover_is_thrown_away_or_asked_about_again(
    window: Window, folder: Path, monkeypatch: pytest.MonkeyPatch, wish: str, num_left: int
) -> None:
    left_behind(folder, replaced(new_plan(), "title", "Lost"))
    before = window.document.plan
    monkeypatch.setattr(dialogs, "ask_about_recovery", lambda *_: wish)
    offer_leftovers(window, folder, lambda _: pytest.fail("opened"))
    assert window.document.plan == before
    assert len(list(leftovers(folder))) == num_left


NOT_UNDERSTOOD = {
    "empty": "",
    "a list": "[1]",
    "no plan": '{"recovery": 1}',
    "no scenarios": '{"recovery": 1, "plan": "{}", "path": null}',
    "a number": '{"recovery": 1, "plan": 3, "path": null}',
    "nested": "[" * 100_000,
    "a newer plan": json.dumps({"recovery": 1, "path": None, "plan": json.dumps({"memplan": 2, "scenarios": []})}),
    "a newer form": json.dumps({"recovery": 2, "path": None, "plan": plan_bytes(new_plan()).decode()}),
}


@pytest.mark.parametrize("name", NOT_UNDERSTOOD)
def test_what_is_not_understood_stays_and_hides_nothing(folder: Path, name: str) -> None:
    """It may be somebody's work: that of a newer memplan, which is started again tomorrow."""
    left_behind(folder, replaced(new_plan(), "title", "Lost"))
    (folder / "a.json").write_text(NOT_UNDERSTOOD[name], encoding="utf-8")
    assert only(folder).name == "Lost"
    assert (folder / "a.json").read_text(encoding="utf-8") == NOT_UNDERSTOOD[name]
    assert not (folder / "a.json.lock").exists()


@pytest.mark.skipif(os.name != "posix", reason="pipes and links of POSIX")
def test_what_is_no_file_in_the_folder_hides_nothing(folder: Path) -> None:
    left_behind(folder, replaced(new_plan(), "title", "Lost"))
    (folder / "link.json").symlink_to(folder / "nowhere")
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    names = sorted(file.name for file in folder.glob("*.json"))
    assert only(folder).name == "Lost"
    assert sorted(file.name for file in folder.glob("*.json")) == names


@pytest.mark.parametrize("path", ["/a\0b.memplan", "/a\ud800.memplan"])
def test_work_whose_file_cannot_exist_is_offered_without_one(folder: Path, path: str) -> None:
    folder.mkdir()
    content = {"recovery": 1, "path": path, "plan": plan_bytes(new_plan()).decode()}
    (folder / "a.json").write_text(json.dumps(content), encoding="utf-8")
    assert only(folder).path is None
    assert stamp_of(Path(path)) is None


def test_a_disk_that_takes_nothing_stops_nobody(document: PlanDocument, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    recovery = Recovery(document, tmp_path / "file" / "recovery", document)
    document.edit("notes", "new")
    assert not recovery.keep()
    assert document.plan.notes == "new"
