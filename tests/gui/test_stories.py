"""Whole stories, told in plain words in stories/*.feature, and done by hand in memplan's own windows."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QTableView
from pytest_bdd import given, parsers, scenarios, then, when
from pytestqt.qtbot import QtBot

from memplan import estimate, load_plan, replaced, save_plan, value_at
from memplan_gui import recovery
from memplan_gui.presenters.cells import EXACT
from memplan_gui.recovery import KEPT_WITHIN_MS
from memplan_gui.settings import Settings
from memplan_gui.theme import Theme
from memplan_gui.windows import Windows
from tests.gui.stories import hands
from tests.gui.stories.hands import Hands

ROOT = Path(__file__).parents[2]
PERSON = Path(__file__).parent / "stories/person_at_the_keyboard.py"

scenarios("stories")


@pytest.fixture
def windows(theme: Theme, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Windows]:
    """All of memplan, as its start opens it."""
    monkeypatch.setattr(recovery, "recovery_folder", lambda: tmp_path / "recovery")
    opened = Windows(theme, settings)
    yield opened
    for window in opened.windows:
        window.close_unasked()
    hands.QApplication.processEvents()


@given(parsers.parse('the example "{title}" is open'), target_fixture="person")
def example_is_open(windows: Windows, qtbot: QtBot, title: str) -> Hands:
    start_up = windows.open_first(None)
    with qtbot.waitSignal(start_up.ready, timeout=20_000):
        windows.windows[0].resize(1280, 800)
        windows.windows[0].show()
    person = Hands(windows.windows[0])
    assert person.window.document.plan.title == title
    return person


@given(parsers.parse('a file "{name}" that holds: {text}'))
def file_holds(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")


@when(parsers.re(r'"(?P<name>[^"]+)" is set to "(?P<value>[^"]*)"'))
def is_set(person: Hands, name: str, value: str) -> None:
    person.set(name, value)


@when(parsers.re(r"(?P<keys>(Ctrl|Shift|Alt)\+\S+) is pressed"))
def is_pressed(person: Hands, keys: str) -> None:
    person.press(keys)


@when(parsers.re(r'"(?P<path>[^"]+ > [^"]+)" is chosen'))
def is_chosen(person: Hands, path: str) -> None:
    person.command(path).trigger()


@when(parsers.re(r'"(?P<path>[^"]+ > [^"]+)" is chosen, and "(?P<name>[^"]+)" is given as its name'))
def is_chosen_with_a_name(person: Hands, tmp_path: Path, path: str, name: str) -> None:
    hands.name_file(str(tmp_path / name))
    person.command(path).trigger()


@when(parsers.re(r'"(?P<words>[^">]+)" is clicked'))
def is_clicked(person: Hands, words: str) -> None:
    person.click(words)


@when(parsers.re(r'"(?P<words>[^">]+)" is clicked, and "(?P<name>[^"]+)" is given as its name'))
def is_clicked_with_a_name(person: Hands, tmp_path: Path, words: str, name: str) -> None:
    hands.name_file(str(tmp_path / name))
    person.click(words)


@when(parsers.re(r'"(?P<text>[^"]+)" is typed into "(?P<name>[^"]+)"'))
def is_typed(person: Hands, text: str, name: str) -> None:
    QTest.keyClicks(person.field(name), text)


@when("two seconds go by")
def two_seconds_go_by(qtbot: QtBot) -> None:
    qtbot.wait(2000)


@when(parsers.parse('Escape is pressed in "{name}"'))
def escape_is_pressed(person: Hands, name: str) -> None:
    QTest.keyClick(person.field(name), Qt.Key.Key_Escape)


@when(parsers.parse('"{name}" is imported as a new plan, with "{devices}" as its devices'))
def is_imported(person: Hands, tmp_path: Path, name: str, devices: str) -> None:
    hands.answer("New plan", {"Devices": devices})
    person.window.imports.take([tmp_path / name])


@when(parsers.parse('the view "{title}" is looked at'))
def view_is_looked_at(person: Hands, title: str) -> None:
    views = person.window.answer_panel.views
    views.show_view(title)
    person.wait_until(lambda: views.current_view is not None and views.current_view.isVisible(), title)
    person.window.answers.finish()


@when(parsers.parse('another program sets "{field}" in "{name}" to {value:d}'))
def another_program_writes(tmp_path: Path, field: str, name: str, value: int) -> None:
    path = tmp_path / name
    save_plan(replaced(load_plan(path), f"scenarios[0].{field}", value), path)


@then(parsers.parse('the verdict is "{word}"'))
def verdict_is(person: Hands, word: str) -> None:
    assert person.window.answer_panel.verdict.text.splitlines()[0] == word


@then("the window is marked as changed")
def is_marked(person: Hands) -> None:
    assert person.window.isWindowModified()


@then("the window is not marked as changed")
def is_not_marked(person: Hands) -> None:
    assert not person.window.isWindowModified()


@then(parsers.parse('the window\'s title begins with "{words}"'))
def title_begins(person: Hands, words: str) -> None:
    assert person.window.windowTitle().startswith(words)


@then(parsers.parse('the menu "{menu}" offers "{words}"'))
def menu_offers(person: Hands, menu: str, words: str) -> None:
    assert person.command(f"{menu} > {words}").isEnabled()


@then(parsers.parse('the menu "{menu}" offers no step to undo'))
def nothing_to_undo(person: Hands, menu: str) -> None:
    assert not person.command(f"{menu} > Undo").isEnabled()


@then(parsers.parse('the scenario is called "{name}"'))
def scenario_is_called(person: Hands, name: str) -> None:
    assert person.window.document.scenario.name == name


@then("the keyboard is in no field")
def keyboard_is_in_no_field() -> None:
    assert not isinstance(hands.QApplication.focusWidget(), QLineEdit)


@then(parsers.re(r'"(?P<name>[^"]+)" shows "(?P<value>[^"]*)"'))
def shows(person: Hands, name: str, value: str) -> None:
    assert person.shown(name) == value


@then(parsers.parse('something is said under "{name}"'))
def is_said_under(person: Hands, name: str) -> None:
    lines = person.window.plan_panel.rows.values()
    assert next(one for one in lines if one.editor.accessibleName() == name).rejection


@then(parsers.parse('the plan\'s "{field}" is {value:d}'))
def plan_holds(person: Hands, field: str, value: int) -> None:
    assert value_at(person.window.document.scenario, field) == value


@then(parsers.parse("there are {count:d} scenarios"))
def scenarios_are(person: Hands, count: int) -> None:
    assert len(person.window.document.plan.scenarios) == count == person.window.answer_panel.tabs.bar.count()


@then(parsers.parse('the window says "{words}"'))
def window_says(person: Hands, words: str) -> None:
    panel = person.window.answer_panel
    person.wait_until(lambda: words in f"{panel.notice.text} {panel.file_notice.text}", words)


@then(parsers.re(r'"(?P<one>[^"]+)" and "(?P<other>[^"]+)" differ in one line, about "(?P<word>[^"]+)"'))
def differ_in_one_line(tmp_path: Path, one: str, other: str, word: str) -> None:
    lines = [(tmp_path / name).read_text(encoding="utf-8").splitlines() for name in (one, other)]
    changed = [line for line in difflib.ndiff(*lines) if line[0] in "+-"]
    assert [line[0] for line in changed] == ["-", "+"]
    assert all(word in line for line in changed)


@then(parsers.re(r'the table "(?P<table>[^"]+)" says in its row "(?P<title>[^"]+)": (?P<cells>.+)'))
def row_says(person: Hands, table: str, title: str, cells: str) -> None:
    assert _row(person, table, title) == re.findall(r'"([^"]*)"', cells)


@then(parsers.re(r'in its row "(?P<title>[^"]+)" the 2nd figure is more than the 1st'))
def second_is_more(person: Hands, title: str) -> None:
    first, second = map(float, _row(person, "Scenarios side by side", title)[:2])
    assert second > first


def _row(person: Hands, table: str, title: str) -> list[str]:
    tables = person.window.findChildren(QTableView)
    model = next(one for one in tables if one.accessibleName() == table and one.isVisibleTo(person.window)).model()
    titles = [str(model.headerData(at, Qt.Orientation.Vertical)) for at in range(model.rowCount())]
    return [str(model.index(titles.index(title), at).data()) for at in range(model.columnCount())]


@then("the steps of the waterfall lead from the first scenario's need to the last one's")
def steps_add_up(person: Hands) -> None:
    """In whole bytes."""
    view = person.window.answer_panel.views.view("Compare")
    assert view is not None
    view.finish()
    showing = view.showing()
    assert showing is not None
    (*_, start, _), *rows = showing.table(EXACT).rows
    needs = [estimate(scenario).need_bytes for scenario in person.window.document.plan.scenarios]
    assert int(start) == needs[0]
    assert len(rows) > 1
    assert int(start) + sum(int(by.replace("−", "-")) for *_, by, _, _ in rows) == needs[-1]
    assert needs[-1] != needs[0]


@then(parsers.parse('"{name}" is a PDF of {pages:d} page that carries its fonts'))
def is_a_pdf(tmp_path: Path, name: str, pages: int) -> None:
    data = (tmp_path / name).read_bytes()
    assert data.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", data)) == pages
    assert b"/FontFile2" in data


@then(parsers.re(r'"(?P<one>[^"]+)" and "(?P<other>[^"]+)" hold the same bytes'))
def same_bytes(tmp_path: Path, one: str, other: str) -> None:
    assert (tmp_path / one).read_bytes() == (tmp_path / other).read_bytes()


@then(parsers.re(r'"(?P<name>[^"]+\.svg)" says "(?P<words>[^"]+)"'))
def file_says(tmp_path: Path, name: str, words: str) -> None:
    assert words in (tmp_path / name).read_text(encoding="utf-8")


class OwnProcess:
    """memplan in a process of its own, with somebody at its keyboard; its settings and what it keeps are of a test."""

    def __init__(self, folder: Path, plan: Path) -> None:
        self.plan, self.before = plan, plan.read_bytes()
        places = {name: str(folder / name) for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "HOME")}
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        self._environment = {**os.environ, **places, "PYTHONPATH": paths, "QT_QPA_PLATFORM": "offscreen"}
        self.running: subprocess.Popen[str] | None = None

    def start(self, task: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(PERSON), str(self.plan), task]
        self.running = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=self._environment, cwd=self.plan.parent
        )
        return self.running


@given(parsers.parse('memplan runs with a plan "{name}" of its own process'), target_fixture="process")
def runs_by_itself(tmp_path: Path, name: str) -> Iterator[OwnProcess]:
    plan = tmp_path / name
    save_plan(load_plan(ROOT / "resources/examples/llama-3.1-8b.memplan"), plan)
    process = OwnProcess(tmp_path, plan)
    yield process
    if process.running is not None:
        process.running.kill()
        process.running.communicate()


@when(parsers.parse('"Micro-batch" is set to "3" there, and two seconds go by'))
def typed_there(process: OwnProcess, qtbot: QtBot) -> None:
    running = process.start("type")
    assert running.stdout is not None
    assert running.stdout.readline() == "typed\n"
    qtbot.wait(KEPT_WITHIN_MS + 500)


@when("the process is killed")
def killed(process: OwnProcess) -> None:
    assert process.running is not None
    process.running.kill()
    process.running.communicate()


@when('memplan is started again, and "Open it" is answered')
def started_again(process: OwnProcess) -> None:
    process.start("recover")


@then(parsers.parse('"Micro-batch" shows "{value}" there, unsaved, under "{title}", in one window'))
def shows_there(process: OwnProcess, value: str, title: str) -> None:
    assert process.running is not None
    said, _ = process.running.communicate(timeout=60)
    shown, title_bar, is_modified, windows = said.strip().split("|")
    assert (shown, is_modified, windows) == (value, "True", "1")
    assert title_bar.startswith(title)


@then(parsers.parse('"{name}" is on disk as it was'))
def on_disk_as_it_was(process: OwnProcess, name: str) -> None:
    assert process.plan.name == name
    assert process.plan.read_bytes() == process.before
