"""What is opened and closed again leaves nothing behind: no widget, no timer, no thread, no other object of Qt."""

from __future__ import annotations

import gc
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from memplan import resource
from memplan_gui import dialogs, recovery
from memplan_gui.document import PlanDocument
from memplan_gui.first_plan import example_plan
from memplan_gui.log_dialog import LogDialog
from memplan_gui.mistake_dialog import MistakeDialog
from memplan_gui.settings import Settings
from memplan_gui.theme import Theme
from memplan_gui.window import Window
from memplan_gui.windows import Windows

Census = Counter[str]


def census() -> Census:
    """What is alive, by kind, once everything that waits for its deletion has had it."""
    for _ in range(3):  # what is deleted may leave others to be
        QApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        gc.collect()
    found: Census = Counter(f"widget {type(widget).__name__}" for widget in QApplication.allWidgets())
    for thing in gc.get_objects():
        if isinstance(thing, QObject) and not isinstance(thing, QWidget) and shiboken6.isValid(thing):
            found[f"object {type(thing).__name__}"] += 1
    found.update(f"timer of {type(timer.parent()).__name__}" for timer in all_timers())
    found["threads of Python"] = threading.active_count()
    if sys.platform.startswith("linux"):
        found["threads of the process"] = len(list(Path("/proc/self/task").iterdir()))
    return found


def all_timers() -> Iterator[QTimer]:
    """Timers that nobody in Python holds are found under the windows that they belong to."""
    for window in QApplication.topLevelWidgets():
        yield from window.findChildren(QTimer)


def grown(repeat: Callable[[], object], times: int = 3) -> Census:
    """What there is more of after doing something again and again than after the first time, which may load things.

    Only what grows each time counts: a cache that fills once is no leak.
    """
    repeat()
    counts = [census()]
    for _ in range(times):
        repeat()
        counts.append(census())
    kinds = {kind for count in counts for kind in count}
    return Counter(
        {
            kind: counts[-1][kind] - counts[0][kind]
            for kind in kinds
            if all(later[kind] > earlier[kind] for earlier, later in pairwise(counts))
        }
    )


@pytest.fixture
def example(open_window: Callable[..., Window]) -> Window:
    return open_window(PlanDocument(example_plan()))


def show_all_views(window: Window) -> None:
    views = window.answer_panel.views
    for title in (*views.titles, views.titles[0]):
        views.show_view(title)
        QApplication.processEvents()
        view = views.view(title) if title != views.titles[0] else None
        if view is not None:
            view.finish()


@pytest.mark.slow
def test_windows_with_all_views_leave_nothing(
    theme: Theme, settings: Settings, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(recovery, "recovery_folder", lambda: tmp_path / "recovery")
    windows = Windows(theme, settings)

    def open_and_close() -> None:
        windows.open_new()
        window = windows.windows[-1]
        qtbot.waitUntil(lambda: window.is_filled and window.answer_panel.chart.plot is not None, timeout=20_000)
        QApplication.processEvents()
        window.document.edit("notes", "not saved")
        show_all_views(window)
        window.menus.actions["help_glossary"].trigger()
        window.close_unasked()
        QApplication.processEvents()

    assert grown(open_and_close) == {}
    assert windows.windows == ()


@pytest.mark.slow
def test_views_shown_again_and_again_leave_nothing(example: Window) -> None:
    def use() -> None:
        show_all_views(example)
        example.document.edit(
            "scenarios[0].training.micro_batch", example.document.scenario.training.micro_batch % 8 + 1
        )
        example.answers.finish()
        example.menus.actions["duplicate"].trigger()
        example.menus.actions["remove"].trigger()
        for choice in ("dark", "light"):
            example.choose_theme(choice)
        example.answer_panel.notice.say("a word", "error", {"One": lambda: None, "Two": lambda: None})
        example.answer_panel.notice.clear("error")
        example.menus.submenus["recent"].aboutToShow.emit()
        example.document.undo_stack.clear()  # steps of undo are no leak

    assert grown(use) == {}


def answer_next(button: str | None = None) -> None:
    """Answer the dialog that opens next, by Escape or by a button."""

    def act() -> None:
        box = QApplication.activeModalWidget()
        assert box is not None
        if button is not None and isinstance(box, QMessageBox):
            next(one for one in box.buttons() if one.text().replace("&", "") == button).click()
        else:
            box.close()

    QTimer.singleShot(0, act)


def test_dialogs_leave_nothing(example: Window, theme: Theme, qtbot: QtBot) -> None:
    path = Path("folder") / "run.memplan"

    def ask() -> None:
        for question in (
            lambda: dialogs.ask_about_changes(example, "run"),
            lambda: dialogs.ask_about_recovery(example, "run"),
            lambda: dialogs.ask_replace(example, path),
            lambda: dialogs.ask_about_other_version(example, path),
            lambda: dialogs.show_problem(example, "Odd", "Something is odd."),
            lambda: dialogs.show_about(example, theme),
            lambda: dialogs.ask_name(example, "a name"),
            example.menus.actions["export_config"].trigger,
            lambda: example.imports.take([resource("examples", "qlora-axolotl.yaml")]),
        ):
            answer_next()
            question()
        mistake = MistakeDialog(example, "a report", is_kept=True)
        mistake.open()
        mistake.more.click()
        mistake.reject()
        LogDialog(example, path).reject()
        example.menus.submenus["levers"].aboutToShow.emit()

    assert grown(ask) == {}


# The census itself: what is planted is found.


def test_a_planted_widget_timer_and_thread_are_found(example: Window) -> None:
    halt = threading.Event()
    kept: list[QObject] = []

    def leak() -> None:
        QLabel("left", example)  # as a dialog that is closed and not deleted
        QTimer(example.answer_panel)
        kept.append(QObject())
        threading.Thread(target=halt.wait, daemon=True).start()

    left = grown(leak, times=2)
    halt.set()
    assert left["widget QLabel"] == 2
    assert left["timer of AnswerPanel"] == 2
    assert left["object QObject"] >= 2
    assert left["threads of Python"] == 2


def test_what_fills_once_is_no_leak() -> None:
    kept: list[QObject] = []

    def fill() -> None:
        if len(kept) < 2:
            kept.append(QObject())

    assert grown(fill)["object QObject"] == 0
