"""Files that are written: under which name, over whose work, and where the dialog begins."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QToolButton

from memplan import load_plan, resource, save_plan
from memplan_gui import dialogs
from memplan_gui.document import PlanDocument, new_plan
from memplan_gui.recent_menu import RecentMenu
from memplan_gui.settings import Settings
from memplan_gui.window import Window

BATCH = "scenarios[0].training.micro_batch"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("plan", "plan.memplan"),
        ("plan.v2", "plan.v2.memplan"),
        ("plan.", "plan.memplan"),
        ("plan.memplan", "plan.memplan"),
        ("PLAN.MEMPLAN", "PLAN.MEMPLAN"),
    ],
)
def test_every_plan_gets_its_ending(name: str, written: str) -> None:
    assert dialogs.with_ending(Path(name), dialogs.PLAN_KINDS, dialogs.PLAN_KINDS[0]) == Path(written)


def test_a_picture_gets_the_ending_of_the_chosen_kind() -> None:
    kinds = dialogs.CHART_KINDS
    assert dialogs.with_ending(Path("a"), kinds, ("SVG picture", "*.svg")) == Path("a.svg")
    assert dialogs.with_ending(Path("a.v2"), kinds, ("PNG picture", "*.png")) == Path("a.v2.png")
    assert dialogs.with_ending(Path("a.pdf"), kinds, ("PNG picture", "*.png")) == Path("a.pdf")


def test_a_name_that_gets_an_ending_asks_before_it_overwrites(
    window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "foo.memplan").write_text("precious")
    typed, asked = [str(tmp_path / "foo"), str(tmp_path / "bar")], []
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (typed.pop(0), "Plans (*.memplan)"))
    monkeypatch.setattr(dialogs, "ask_replace", lambda parent, path: asked.append(path.name))
    window.menus.actions["save_as"].trigger()
    assert asked == ["foo.memplan"]
    assert (tmp_path / "foo.memplan").read_text() == "precious"
    assert window.document.path == tmp_path / "bar.memplan"


@pytest.fixture
def saved(window: Window, tmp_path: Path) -> Path:
    """The window's plan has this file."""
    path = tmp_path / "p.memplan"
    window.document.save(path)
    return path


def change_elsewhere(path: Path) -> None:
    other = PlanDocument(load_plan(path), path)
    other.edit("title", "Elsewhere")
    other.save()


@pytest.mark.parametrize(
    ("wish", "title", "copy"),
    [("cancel", "Elsewhere", False), ("overwrite", "Here", False), ("save_as", "Elsewhere", True)],
)
def test_a_file_that_changed_elsewhere_is_not_overwritten_unasked(
    window: Window, saved: Path, monkeypatch: pytest.MonkeyPatch, wish: str, title: str, copy: bool
) -> None:
    window.document.edit("title", "Here")
    change_elsewhere(saved)
    beside = saved.with_name("beside.memplan")
    monkeypatch.setattr(dialogs, "ask_about_other_version", lambda *_: wish)
    monkeypatch.setattr(dialogs, "ask_save", lambda *_: beside)
    assert window.files.save() is (wish != "cancel")
    assert load_plan(saved).title == title
    assert beside.exists() is copy
    assert window.document.modified is (wish == "cancel")


def test_nothing_is_asked_about_a_file_of_ones_own(
    window: Window, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogs, "ask_about_other_version", lambda *_: pytest.fail("asked"))
    for value in (2, 3):
        window.document.edit(BATCH, value)
        assert window.files.save()
    saved.unlink()  # what is gone holds nothing to lose
    window.document.edit(BATCH, 4)
    assert window.files.save()
    assert load_plan(saved).scenarios[0].training.micro_batch == 4


def test_a_plan_is_never_suggested_beside_what_comes_with_memplan(
    window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    suggested: list[Path] = []
    monkeypatch.setattr(dialogs, "ask_save", lambda parent, title, filters, name: suggested.append(Path(name)))
    assert window.files.open_path(resource("examples", "llama-3.1-8b.memplan"))
    window.files.save_as()
    window.files.new()
    window.files.save()
    own = tmp_path / "own.memplan"
    save_plan(new_plan(), own)
    assert window.files.open_path(own)
    window.files.save_as()
    assert resource("examples") not in suggested[0].parents
    assert resource("examples") not in suggested[1].parents
    assert suggested[2] == own


def test_a_recent_file_that_is_not_there_is_marked_said_and_removed_when_told(
    window: Window, tmp_path: Path, settings: Settings
) -> None:
    for name in ("here", "gone"):
        save_plan(new_plan(), tmp_path / f"{name}.memplan")
        assert window.files.open_path(tmp_path / f"{name}.memplan")
    (tmp_path / "gone.memplan").unlink()
    menu = window.menus.submenus["recent"]
    recent = window.findChild(RecentMenu)
    assert recent is not None
    menu.aboutToShow.emit()
    recent.finish()
    gone, here = menu.actions()[:2]
    assert gone.text().startswith("gone.memplan")
    assert gone.text().endswith("(not found)")
    assert "not found" not in here.text()
    notice = window.answer_panel.notice
    gone.trigger()
    assert "gone.memplan" in notice.text
    assert len(settings.recent) == 2  # a share may come back
    remove = next(button for button in notice.findChildren(QToolButton) if "Remove" in button.text())
    remove.click()
    assert notice.text == ""
    assert [path.name for path in settings.recent] == ["here.memplan"]
    window.menus.submenus["recent"].actions()[-1].trigger()
    assert settings.recent == []
    assert not menu.isEnabled()
