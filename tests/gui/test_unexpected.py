"""Errors that nobody expected: kept work, one calm dialog, a report with nothing personal, a log that stops nobody."""

from __future__ import annotations

import getpass
import platform
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QTimer, QtMsgType
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from memplan import MemplanError, __version__, parse_plan
from memplan_gui import log_file, mistakes
from memplan_gui.log_dialog import LogDialog, end_of
from memplan_gui.log_file import open_log
from memplan_gui.mistake_dialog import KEPT, NOT_KEPT, MistakeDialog
from memplan_gui.mistakes import MOST_DIALOGS, Mistakes
from memplan_gui.presenters import mistake
from memplan_gui.presenters.mistake import mistake_report, running_versions, without_personal
from memplan_gui.window import Window

HOME = str(Path.home())


def caught(error: BaseException) -> BaseException:
    """The error as it comes after it was raised."""
    try:
        raise error
    except BaseException as found:
        return found


def dialogs_open() -> list[MistakeDialog]:
    return [widget for widget in QApplication.topLevelWidgets() if isinstance(widget, MistakeDialog)]


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What went to the log."""
    lines: list[str] = []
    monkeypatch.setattr(mistakes, "_note", lambda level, text: lines.append(text))
    return lines


@pytest.fixture
def heard(qtbot: QtBot, noted: list[str], capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Mistakes]]:
    """Makes a listener whose dialogs are closed at the end."""
    parent = QWidget()
    qtbot.addWidget(parent)
    made: list[Mistakes] = []

    def make(**given: object) -> Mistakes:
        wanted = {"keep": lambda: True, "parent_of_dialog": lambda: parent, "private": lambda: ("Acme 70B",), **given}
        made.append(Mistakes(**wanted))  # type: ignore[arg-type]  # a test's own
        return made[-1]

    yield make
    for dialog in dialogs_open():
        dialog.reject()
    QApplication.processEvents()


def take(listener: Mistakes, error: BaseException) -> None:
    found = caught(error)
    listener.take(type(found), found, found.__traceback__)
    QApplication.processEvents()


def test_the_dialog_says_what_became_of_the_plan_and_its_details_can_be_copied(
    heard: Callable[..., Mistakes], noted: list[str]
) -> None:
    kept: list[bool] = []
    take(heard(keep=lambda: kept.append(True) or True), RuntimeError(f"odd in {HOME}/Acme 70B.memplan"))
    (dialog,) = dialogs_open()
    assert kept == [True]
    assert dialog.text.text() == KEPT
    assert dialog.details.isHidden()
    dialog.more.click()
    assert not dialog.details.isHidden()
    dialog.copy.click()
    copied = QApplication.clipboard().text()
    assert copied == dialog.details.toPlainText() == noted[0]
    assert "RuntimeError: odd in ~" in copied
    assert "test_unexpected.py:" in copied
    for version in (f"memplan {__version__}", platform.python_version(), "PySide6 ", "Qt ", platform.system()):
        assert version in copied
    for personal in (HOME, "Acme", getpass.getuser()):
        assert personal not in copied


@pytest.mark.parametrize("keep", [lambda: False, lambda: 1 // 0])
def test_the_dialog_promises_only_what_was_done(heard: Callable[..., Mistakes], keep: Callable[[], bool]) -> None:
    take(heard(keep=keep), RuntimeError("odd"))
    assert dialogs_open()[0].text.text() == NOT_KEPT


def test_the_same_mistake_is_told_once_and_dialogs_never_come_in_a_row(
    heard: Callable[..., Mistakes], noted: list[str]
) -> None:
    listener = heard()
    for _ in range(5):
        take(listener, RuntimeError("odd"))
    take(listener, KeyError("another"))  # while the first stands there
    assert len(dialogs_open()) == 1
    assert len(noted) == 2
    shown = 1
    for number in range(10):
        for dialog in dialogs_open():
            dialog.reject()
        exec(compile(f"def f{number}(): raise ValueError", f"file{number}.py", "exec"), globals())
        try:
            globals()[f"f{number}"]()
        except ValueError as error:
            listener.take(type(error), error)
        QApplication.processEvents()
        shown += len(dialogs_open())
        del globals()[f"f{number}"]
    assert shown == MOST_DIALOGS
    assert len(noted) == 12  # the log goes on


def test_a_mistake_in_telling_of_one_is_told_to_nobody(
    heard: Callable[..., Mistakes], capsys: pytest.CaptureFixture[str]
) -> None:
    take(heard(parent_of_dialog=lambda: 1 // 0), RuntimeError("odd"))
    assert dialogs_open() == []
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_an_error_in_a_thread_is_told_in_the_window(heard: Callable[..., Mistakes], qtbot: QtBot) -> None:
    listener, error = heard(), caught(RuntimeError("odd"))
    thread = threading.Thread(target=lambda: listener.take(type(error), error))
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: len(dialogs_open()) == 1, timeout=5000)


def test_hooks_are_set_for_slots_threads_and_qt(heard: Callable[..., Mistakes], noted: list[str], qtbot: QtBot) -> None:
    code = (
        "import sys, threading\n"
        "from PySide6.QtCore import QTimer, qWarning\n"
        "from PySide6.QtWidgets import QApplication\n"
        "from memplan_gui.mistakes import Mistakes\n"
        "app = QApplication([])\n"
        "taken = []\n"
        "mistakes = Mistakes(lambda: True, lambda: None, tuple)\n"
        "mistakes._show = lambda report, kept: taken.append(report.splitlines()[2])\n"
        "mistakes.listen()\n"
        "def in_slot():\n    raise LookupError('slot')\n"
        "def in_thread():\n    raise OSError('thread')\n"
        "QTimer.singleShot(0, in_slot)\n"
        "QTimer.singleShot(20, lambda: (setattr(mistakes, '_is_telling', False), threading.Thread(target=in_thread).start()))\n"
        "QTimer.singleShot(40, lambda: qWarning('a word of Qt'))\n"
        "QTimer.singleShot(500, app.quit)\n"
        "app.exec()\n"
        "print(taken)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "['LookupError: slot', 'OSError: thread']", result.stderr
    assert "Qt: a word of Qt" in result.stderr


def test_before_qt_ends_the_process_work_is_kept(heard: Callable[..., Mistakes], noted: list[str]) -> None:
    kept: list[bool] = []
    listener = heard(keep=lambda: kept.append(True) or True)
    listener.take_qt_message(QtMsgType.QtWarningMsg, None, "odd")  # type: ignore[arg-type]  # no context is read
    assert kept == []
    listener.take_qt_message(QtMsgType.QtFatalMsg, None, "the end")  # type: ignore[arg-type]
    assert kept == [True]
    assert noted == ["Qt: odd", "Qt: the end"]


def test_where_nobody_can_answer_the_program_ends(heard: Callable[..., Mistakes], qapp: QApplication) -> None:
    listener = heard(alone=True)
    QTimer.singleShot(0, lambda: take(listener, RuntimeError("odd")))
    assert qapp.exec() == 1
    assert dialogs_open() == []


def test_control_c_ends_the_program_and_is_no_mistake(heard: Callable[..., Mistakes], noted: list[str]) -> None:
    take(heard(), SystemExit(2))
    assert noted == []
    assert dialogs_open() == []


# What a report may hold.


SECRET = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=6, max_size=20).map(lambda s: f"zq{s}qz")


@given(
    secret=SECRET,
    shape=st.sampled_from(["{home}/{s}/x", "open '{s}' failed", "{s}", '"{s}" is', "/mnt/{s}/b", "C:\\Users\\{s}\\a"]),
)
def test_no_report_holds_a_secret(secret: str, shape: str) -> None:
    error = ValueError(shape.format(home=HOME, s=secret))
    error.__cause__ = KeyError(secret)
    report = mistake_report(caught(error), running_versions("Qt 6"), [secret])
    assert secret not in report
    assert HOME + "/" not in report


def test_a_message_about_a_file_is_left_out() -> None:
    try:
        parse_plan(b'{"memplan": 1, "title": "Secret plan", "scenarios": "Secret words"}')
    except MemplanError as error:
        report = mistake_report(error, "memplan")
    assert "Secret" not in report
    assert "memplan/" in report  # where it came about is there


def test_names_of_the_program_stay_and_frames_have_no_folder() -> None:
    report = mistake_report(caught(AttributeError("'Plan' object has no attribute 'titel'")), "memplan")
    assert "AttributeError: 'Plan' object has no attribute 'titel'" in report
    assert HOME not in report
    assert str(Path(__file__).parent) not in report


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("see https and/or text/html", "see https and/or text/html"),
        (f"{HOME}/plans/a.memplan is odd", "~/… is odd"),
        ("C:\\Users\\someone\\plan.memplan", "C:\\…"),
        ("\\\\server\\share\\acme.memplan", "\\\\…"),
        ("user Ada on ada-laptop, adage", "user … on …, adage"),
    ],
)
def test_paths_and_names_are_taken_out(text: str, left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mistake, "_names", lambda: ("ada-laptop", "ada"))
    assert without_personal(text) == left


# The log.


def test_the_log_rotates_and_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "MOST_BYTES", 2000)
    log = open_log(tmp_path / "new" / "memplan.log")
    for number in range(200):
        log.error("line %s of %s/secret.memplan", number, HOME)
    files = sorted((tmp_path / "new").iterdir())
    assert [file.name for file in files] == ["memplan.log", "memplan.log.1"]
    assert all(file.stat().st_size <= 2000 for file in files)
    text = files[0].read_text()
    assert "line 199 of ~/…" in text
    assert "secret" not in text
    log.handlers[0].close()


def test_a_log_that_cannot_be_written_stops_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    log = open_log(tmp_path / "file" / "memplan.log")  # no folder can be made there
    log.error("odd")
    (tmp_path / "folder.log").mkdir()
    log = open_log(tmp_path / "folder.log")  # opens no file
    log.error("odd")
    if Path("/dev/full").exists():
        log = open_log(Path("/dev/full"))
        log.error("odd")
        log.handlers[0].close()
    assert capsys.readouterr().err == ""


def test_the_log_is_in_the_folder_for_such() -> None:
    path = log_file.log_path()
    assert path.name == "memplan.log"
    if sys.platform.startswith("linux"):
        assert "xdg_state_home" in path.parts


def test_help_shows_the_log_itself_and_where_it_is(
    window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where nothing opens files, or says that it does and does nothing, nothing was to be seen."""
    path = tmp_path / "memplan.log"
    log = open_log(path)
    monkeypatch.setattr(log_file, "log_path", lambda: path)
    monkeypatch.setattr(log_file, "log", lambda: log)
    window.menus.actions["show_log"].trigger()
    log.handlers[0].close()
    (dialog,) = window.findChildren(LogDialog)
    assert dialog.isVisible()
    assert f"memplan {__version__}" in dialog.text.toPlainText()
    assert dialog.place.text() == str(path)
    dialog.copy.click()
    assert QApplication.clipboard().text() == str(path)
    dialog.reject()


def test_of_a_long_log_the_end_is_shown_and_of_none_why(tmp_path: Path) -> None:
    path = tmp_path / "memplan.log"
    path.write_text("first\n" + "x" * 98 + "\n" + "last line\n" * 10_000)
    assert end_of(path).splitlines()[0] == "last line"
    assert end_of(path).endswith("last line\n")
    assert "cannot be read" in end_of(tmp_path / "none.log")


def test_a_log_that_cannot_be_made_is_said(window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "memplan.log"
    monkeypatch.setattr(log_file, "log_path", lambda: path)
    monkeypatch.setattr(log_file, "log", lambda: open_log(path))
    window.help.show_log()
    assert window.answer_panel.notice.kind == "error"
