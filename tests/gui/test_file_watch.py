"""A plan's file that somebody else writes, replaces or removes while it is open: noticed, told quietly, nothing lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

from memplan import Plan, load_plan, plan_bytes, replaced, save_plan
from memplan_gui import dialogs, file_watch
from memplan_gui.document import new_plan
from memplan_gui.file_notice import FileNotice
from memplan_gui.file_watch import FileNews, FileWatch
from memplan_gui.window import Window

LENGTH = "scenarios[0].training.sequence_length"


@pytest.fixture
def path(window: Window, tmp_path: Path) -> Path:
    """The window's plan has this file."""
    place = tmp_path / "run.memplan"
    window.document.save(place)
    return place


@pytest.fixture
def watch(window: Window, path: Path) -> FileWatch:
    watch = FileWatch(window.document, window)
    FileNotice(watch, window.document, window.files, window.answer_panel.file_notice)
    return watch


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_watch, "SETTLED_MS", 30)
    monkeypatch.setattr(file_watch, "GONE_MS", 60)


def theirs(title: str = "Theirs") -> Plan:
    return replaced(new_plan(), "title", title)


def look(watch: FileWatch) -> None:
    watch.look()
    watch.finish()


def press(window: Window, words: str) -> None:
    bar = window.answer_panel.file_notice
    next(button for button in bar.findChildren(QToolButton) if button.text() == words and not button.isHidden()).click()


def said(window: Window) -> str:
    return window.answer_panel.file_notice.text


def write_in_place(path: Path) -> None:
    path.write_bytes(plan_bytes(theirs()))


def replace_by_rename(path: Path) -> None:
    beside = path.with_name("run.memplan~new")
    beside.write_bytes(plan_bytes(theirs()))
    beside.replace(path)


def remove_and_write(path: Path) -> None:
    path.rename(path.with_name("run.memplan~old"))
    path.write_bytes(plan_bytes(theirs()))


WAYS = [write_in_place, replace_by_rename, remove_and_write]


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.usefixtures("hasty")
def test_each_way_of_writing_is_noticed_and_the_next_one_too(
    window: Window, watch: FileWatch, path: Path, qtbot: QtBot, write: Callable[[Path], None]
) -> None:
    before = window.document.plan
    write(path)
    qtbot.waitUntil(lambda: bool(said(window)), timeout=10_000)
    assert "“run.memplan” was changed by another window or program" in said(window)
    assert window.document.plan is before  # nothing happens by itself
    press(window, "Reload")
    assert said(window) == ""
    assert window.document.plan == load_plan(path) == theirs()
    assert not window.document.modified
    save_plan(theirs("Again"), path)
    qtbot.waitUntil(lambda: bool(said(window)), timeout=10_000)
    press(window, "Reload")
    assert window.document.plan.title == "Again"


@pytest.mark.usefixtures("hasty")
def test_own_saves_are_no_news(window: Window, watch: FileWatch, path: Path, qtbot: QtBot) -> None:
    told: list[FileNews] = []
    watch.told.connect(told.append)
    for length in (512, 1024, 4096):
        window.document.edit(LENGTH, length)
        assert window.files.save()
        qtbot.wait(80)
    look(watch)
    assert told == []
    assert said(window) == ""


def test_a_save_while_the_file_is_read_is_no_news(window: Window, watch: FileWatch, path: Path) -> None:
    window.document.edit(LENGTH, 512)
    watch.look()  # reads what was there before
    window.document.save()
    watch.finish()
    assert said(window) == ""


def test_reload_sets_unsaved_changes_aside_and_undo_brings_them_back(
    window: Window, watch: FileWatch, path: Path
) -> None:
    window.document.edit(LENGTH, 512)
    mine = plan_bytes(window.document.plan)
    write_in_place(path)
    look(watch)
    assert "Undo brings them back" in said(window)
    press(window, "Reload")
    assert window.document.undo_stack.undoText() == "reload run.memplan"
    assert not window.document.modified
    window.document.undo_stack.undo()
    assert plan_bytes(window.document.plan) == mine
    assert window.document.modified
    window.document.undo_stack.redo()
    assert window.document.plan == theirs()
    assert not window.document.modified


def test_a_reload_takes_the_file_as_it_is(window: Window, watch: FileWatch, path: Path) -> None:
    # The title is the automatic one, and would follow the device if a person had chosen that here.
    window.document.edit("scenarios[0].hardware.device", "h200-sxm")
    window.document.save()
    other = replaced(window.document.plan, "scenarios[0].hardware.device", "rtx-4090")
    path.write_bytes(plan_bytes(other))
    look(watch)
    press(window, "Reload")
    assert plan_bytes(window.document.plan) == path.read_bytes()


def test_a_reload_with_fewer_scenarios_can_be_undone(window: Window, watch: FileWatch, path: Path) -> None:
    window.menus.actions["duplicate"].trigger()
    assert window.document.current == 1
    write_in_place(path)
    look(watch)
    press(window, "Reload")
    assert window.document.current == 0
    window.answers.finish()
    window.document.undo_stack.undo()
    assert window.document.current == 1


def test_keep_mine_is_unsaved_and_saving_asks_no_more(
    window: Window, watch: FileWatch, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_in_place(path)
    look(watch)
    press(window, "Keep mine")
    assert window.document.modified
    assert window.isWindowModified()
    look(watch)
    assert said(window) == ""  # about this version all is said
    monkeypatch.setattr(dialogs, "ask_about_other_version", lambda *_: pytest.fail("asked"))
    assert window.files.save()
    assert load_plan(path) == window.document.plan
    assert not window.document.modified


def test_what_was_only_closed_is_asked_about_at_saving(
    window: Window, watch: FileWatch, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_in_place(path)
    look(watch)
    window.answer_panel.file_notice._close.click()
    look(watch)
    assert said(window) == ""
    asked: list[Path] = []
    monkeypatch.setattr(dialogs, "ask_about_other_version", lambda _, name: asked.append(name) or "cancel")
    window.document.edit(LENGTH, 512)
    assert not window.files.save()
    assert asked == [path]


def test_the_same_plan_in_another_form_is_taken_silently(window: Window, watch: FileWatch, path: Path) -> None:
    path.write_bytes(plan_bytes(window.document.plan).replace(b"\n", b"\r\n"))
    look(watch)
    assert said(window) == ""
    assert not window.document.modified
    assert not window.document.file_differs


def test_a_change_that_is_taken_back_is_no_news(window: Window, watch: FileWatch, path: Path) -> None:
    before = path.read_bytes()
    write_in_place(path)
    look(watch)
    assert said(window)
    path.write_bytes(before)
    look(watch)
    assert said(window) == ""


@pytest.mark.parametrize("content", [b"", b"<<<<<<< HEAD\n{}", b'{"memplan": 99, "scenarios": []}'])
def test_a_file_that_is_no_plan_now_leaves_the_plan_alone(
    window: Window, watch: FileWatch, path: Path, content: bytes
) -> None:
    before = window.document.plan
    path.write_bytes(content)
    look(watch)
    assert "no plan that can be read now" in said(window)
    assert window.document.plan is before
    write_in_place(path)  # whoever wrote it is done
    look(watch)
    press(window, "Reload")
    assert window.document.plan == theirs()


@pytest.mark.parametrize("removes_folder", [False, True])
@pytest.mark.usefixtures("hasty")
def test_a_file_that_is_gone_makes_the_plan_unsaved_until_it_is_back(
    window: Window, watch: FileWatch, tmp_path: Path, qtbot: QtBot, removes_folder: bool
) -> None:
    share = tmp_path / "share"
    share.mkdir()
    path = share / "run.memplan"
    window.document.save(path)
    content = path.read_bytes()
    if removes_folder:
        shutil.rmtree(share)
    else:
        path.unlink()
    qtbot.waitUntil(lambda: bool(said(window)), timeout=10_000)
    assert "no longer there" in said(window)
    assert window.document.modified
    share.mkdir(exist_ok=True)
    path.write_bytes(content)
    qapp = QApplication.instance()
    assert isinstance(qapp, QApplication)
    qapp.applicationStateChanged.emit(Qt.ApplicationState.ApplicationActive)  # the person comes back to memplan
    qtbot.waitUntil(lambda: not said(window), timeout=10_000)
    assert not window.document.modified


def test_a_file_that_is_gone_can_be_saved_again(window: Window, watch: FileWatch, path: Path) -> None:
    path.unlink()
    look(watch)
    assert said(window) == ""  # it may be on its way: some editors remove before they write
    look(watch)
    press(window, "Save again")
    assert load_plan(path) == window.document.plan
    assert not window.document.modified
    look(watch)
    assert said(window) == ""


def test_another_plan_ends_what_was_said(window: Window, watch: FileWatch, path: Path, tmp_path: Path) -> None:
    write_in_place(path)
    look(watch)
    assert said(window)
    other = tmp_path / "other.memplan"
    save_plan(new_plan(), other)
    assert window.files.open_path(other)
    assert said(window) == ""
    write_in_place(other)
    look(watch)
    assert "other.memplan" in said(window)
    window.files.new()
    assert said(window) == ""
    look(watch)  # a plan without a file has none to look at
