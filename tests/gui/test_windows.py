"""Several windows: each its own plan, history and kept copy; a file is open once; Quit asks each window once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from memplan import load_plan, plan_bytes, replaced, save_plan
from memplan_gui import dialogs, recovery
from memplan_gui.document import PlanDocument, new_plan
from memplan_gui.mistakes import tell_qt_message
from memplan_gui.recovery import Recovery, leftovers
from memplan_gui.settings import Settings
from memplan_gui.theme import Theme
from memplan_gui.window import Window
from memplan_gui.window_of_file import raise_window_of
from memplan_gui.windowless_menu import windowless_menu
from memplan_gui.windows import Windows

SCRIPT = Path(__file__).with_name("editing_under_fire.py")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "recovery"
    monkeypatch.setattr(recovery, "recovery_folder", lambda: place)
    return place


@pytest.fixture
def windows(theme: Theme, settings: Settings, folder: Path) -> Iterator[Windows]:
    opened = Windows(theme, settings)
    yield opened
    for window in opened.windows:
        window.close_unasked()
    QApplication.processEvents()


def first(windows: Windows, qtbot: QtBot, path: Path | None = None) -> Window:
    start_up = windows.open_first(path)
    with qtbot.waitSignal(start_up.ready, timeout=20_000):
        windows.windows[0].show()
    return windows.windows[0]


def another(windows: Windows, qtbot: QtBot) -> Window:
    windows.windows[0].menus.actions["new_window"].trigger()
    window = windows.windows[-1]
    qtbot.waitUntil(lambda: window.is_filled and window.answer_panel.chart.plot is not None, timeout=20_000)
    QApplication.processEvents()
    return window


def saved_plan(path: Path, title: str) -> Path:
    save_plan(replaced(new_plan(), "title", title), path)
    return path


def test_each_window_has_a_plan_a_history_and_a_kept_copy_of_its_own(
    windows: Windows, qtbot: QtBot, folder: Path
) -> None:
    one = first(windows, qtbot)
    before = plan_bytes(one.document.plan)
    other = another(windows, qtbot)
    assert other.document.plan == new_plan()
    assert other.frameGeometry().topLeft() != one.frameGeometry().topLeft()
    other.document.edit("notes", "of the second")
    assert plan_bytes(one.document.plan) == before
    assert not one.document.undo_stack.canUndo()
    one.document.edit("notes", "of the first")
    assert windows.keep()
    kept = {file.read_text() for file in folder.glob("*.json")}
    assert len(kept) == 2
    assert sorted("of the second" in text for text in kept) == [False, True]
    other.close_unasked()
    assert len(list(folder.glob("*.json"))) == 1
    assert windows.windows == (one,)


def test_a_file_that_is_open_is_shown_and_not_opened_again(windows: Windows, qtbot: QtBot, tmp_path: Path) -> None:
    path = saved_plan(tmp_path / "p.memplan", "Once")
    one = first(windows, qtbot, path)
    other = another(windows, qtbot)
    (tmp_path / "link.memplan").symlink_to(path)
    for name in (path, tmp_path / "link.memplan"):
        assert other.files.open_path(name)
        assert other.document.path is None  # it stays as it was
    raised = raise_window_of(path)
    assert raised
    assert one.document.plan.title == "Once"
    windows.open_file(path)
    assert len(windows.windows) == 2
    assert one.files.open_path(path)  # its own file is read anew


def test_a_plan_is_not_saved_over_what_another_window_shows(
    windows: Windows, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved_plan(tmp_path / "p.memplan", "Once")
    first(windows, qtbot, path)
    other = another(windows, qtbot)
    told: list[str] = []
    monkeypatch.setattr(dialogs, "ask_save", lambda *_: path)
    monkeypatch.setattr(dialogs, "show_problem", lambda parent, title, text: told.append(text))
    before = path.read_bytes()
    assert not other.files.save_as()
    assert "“p.memplan” is open in another window" in told[0]
    assert path.read_bytes() == before
    assert other.document.path is None


def test_what_the_system_hands_over_gets_a_free_window_or_a_new_one(
    windows: Windows, qtbot: QtBot, tmp_path: Path
) -> None:
    one = first(windows, qtbot)
    windows.open_file(saved_plan(tmp_path / "a.memplan", "A"))
    assert one.document.plan.title == "A"
    windows.open_file(saved_plan(tmp_path / "b.memplan", "B"))
    second = windows.windows[-1]
    qtbot.waitUntil(lambda: second.is_filled, timeout=20_000)
    assert (one.document.plan.title, second.document.plan.title) == ("A", "B")
    qtbot.waitUntil(lambda: second.answer_panel.chart.plot is not None, timeout=20_000)
    bad = tmp_path / "bad.memplan"
    bad.write_text("nonsense")
    windows.open_file(bad)
    third = windows.windows[-1]
    qtbot.waitUntil(lambda: third.is_filled and third.answer_panel.chart.plot is not None, timeout=20_000)
    assert "bad.memplan" in third.answer_panel.notice.text


def test_quit_asks_each_window_with_changes_once(
    windows: Windows, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    answers: dict[str, dialogs.Wish] = {"One": "discard", "Three": "cancel"}
    monkeypatch.setattr(dialogs, "ask_about_changes", lambda parent, name: asked.append(name) or answers[name])
    one = first(windows, qtbot)
    another(windows, qtbot)
    three = another(windows, qtbot)
    one.document.edit("title", "One")
    three.document.edit("title", "Three")
    one.menus.actions["quit"].trigger()
    assert asked == ["One", "Three"]
    assert len(windows.windows) == 3  # one of them stays, so all do
    answers["Three"] = "discard"
    asked.clear()
    one.menus.actions["quit"].trigger()
    assert asked == ["One", "Three"]
    assert windows.windows == ()
    assert list(leftovers(recovery.recovery_folder())) == []


def test_leftovers_of_several_windows_are_opened_in_as_many(
    windows: Windows, qtbot: QtBot, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for title in ("One", "Two"):
        document = PlanDocument()
        kept = Recovery(document, folder, document)
        document.edit("title", title)
        assert kept.keep()
        assert kept._lock is not None
        kept._lock.unlock()
        kept._soon.stop()
    monkeypatch.setattr(dialogs, "ask_about_recovery", lambda *_: "open")
    first(windows, qtbot)
    qtbot.waitUntil(lambda: len(windows.windows) == 2 and windows.windows[1].is_filled, timeout=20_000)
    second = windows.windows[1]
    qtbot.waitUntil(lambda: second.answer_panel.chart.plot is not None, timeout=20_000)
    assert {window.document.plan.title for window in windows.windows} == {"One", "Two"}
    assert all(window.document.modified for window in windows.windows)
    assert len(list(folder.glob("*.json"))) == 2
    assert list(leftovers(folder)) == []  # both are held by this memplan


def test_a_closed_window_is_gone(windows: Windows, qtbot: QtBot) -> None:
    one = first(windows, qtbot)
    other = another(windows, qtbot)
    with qtbot.waitSignal(windows.closed, timeout=5000):
        other.menus.actions["close_window"].trigger()
    qtbot.waitUntil(lambda: len([w for w in QApplication.topLevelWidgets() if isinstance(w, Window)]) == 1)
    one.choose_theme("dark")  # what listened to the theme is gone too
    one.choose_theme("light")


@pytest.mark.qt_log_ignore("QBackingStore::flush", extend=True)  # it is closed while it is painted
def test_a_window_that_is_closed_as_it_comes_up_leaves_nothing(
    windows: Windows, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closed between its paint and its last stride, it once came back into the list after it was gone."""
    stays = first(windows, qtbot)
    fill = Window.fill

    def fill_until_painted(self: Window, document: PlanDocument) -> None:
        fill(self, document)
        self.answer_panel.chart.first_painted.connect(self.close)

    monkeypatch.setattr(Window, "fill", fill_until_painted)
    with qtbot.waitSignal(windows.closed, timeout=20_000):
        windows.open_new()
    for _ in range(20):
        QApplication.processEvents()
    assert windows.windows == (stays,)
    assert windows.keep()


def test_without_a_window_new_ones_can_be_opened(
    windows: Windows, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = saved_plan(tmp_path / "a.memplan", "A")
    monkeypatch.setattr(dialogs, "ask_open", lambda *_: path)
    bar = windowless_menu(windows)
    qtbot.addWidget(bar)
    new, open_file, _ = bar.actions()[0].menu().actions()
    open_file.trigger()
    window = windows.windows[0]
    qtbot.waitUntil(lambda: window.is_filled and window.answer_panel.chart.plot is not None, timeout=20_000)
    assert window.document.plan.title == "A"
    new.trigger()
    assert len(windows.windows) == 2
    second = windows.windows[1]
    qtbot.waitUntil(lambda: second.is_filled and second.answer_panel.chart.plot is not None, timeout=20_000)


@pytest.mark.slow
def test_two_processes_keep_their_work_side_by_side(tmp_path: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(tmp_path)], stdout=subprocess.PIPE, text=True, env=os.environ
        )
        for _ in range(2)
    ]
    for process in started:
        assert process.stdout is not None
        start_s = 0.0
        for line in process.stdout:  # each for longer than it takes to keep something
            moment_s = float(line.split()[1])
            start_s = start_s or moment_s
            if moment_s > start_s + 1.5:
                break
    assert list(leftovers(tmp_path)) == []  # both are alive
    for process in started:
        process.kill()
        process.communicate()
    found = list(leftovers(tmp_path))
    assert len(found) == 2
    assert all(int(leftover.plan.notes) > 10 for leftover in found)
    for leftover in found:
        leftover.forget()


def test_closing_the_last_window_ends_the_program_and_saves_nothing_unasked(tmp_path: Path) -> None:
    plan = saved_plan(tmp_path / "p.memplan", "P")
    before = plan.read_bytes()
    code = (
        "import sys\nfrom PySide6.QtCore import QTimer\nfrom PySide6.QtWidgets import QApplication\n"
        "from memplan_gui import application, windows\n"
        "made = windows.Windows._ready\n"
        "def ready(self, window):\n    made(self, window); QTimer.singleShot(0, window.close)\n"
        "windows.Windows._ready = ready\n"
        "sys.exit(application.start(application.Options(file=__import__('pathlib').Path(sys.argv[1]))))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(plan)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert plan.read_bytes() == before
    assert load_plan(plan).title == "P"


STAYING = """
import sys
from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtWidgets import QApplication
from memplan_gui import application, windows

application.stays_without_windows = lambda platform: True
made, opened = windows.Windows._ready, []

def ready(self, window):
    made(self, window)
    opened.append(window)
    if len(opened) == 1:
        window.close()
        QTimer.singleShot(300, turn_to_it)
    else:
        print("again", flush=True)
        window.menus.actions["quit"].trigger()

def turn_to_it():
    print("no window", not any(one.isVisible() for one in QApplication.topLevelWidgets()), flush=True)
    QCoreApplication.sendEvent(QApplication.instance(), QEvent(QEvent.Type.ApplicationActivate))

windows.Windows._ready = ready
sys.exit(application.start(application.Options()))
"""


def test_where_programs_stay_without_windows_it_stays_and_opens_one_when_turned_to() -> None:
    result = subprocess.run([sys.executable, "-c", STAYING], capture_output=True, text=True, timeout=60, check=False)
    assert result.stdout.splitlines() == ["no window True", "again"], result.stderr
    assert result.returncode == 0


def test_qt_messages_reach_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    from PySide6.QtCore import QtMsgType

    tell_qt_message(QtMsgType.QtWarningMsg, None, "odd")  # type: ignore[arg-type]  # no context is read
    tell_qt_message(QtMsgType.QtWarningMsg, None, "This plugin does not support raise()")  # type: ignore[arg-type]
    assert capsys.readouterr().err == "Qt: odd\n"
