"""What leaves the window is the same bytes whatever style the screen has: files and pictures are read anywhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QPlainTextEdit, QTabWidget

from memplan import (
    EXPORT_FORMATS,
    PLAIN_NUMBERS,
    REPORT_FORMATS,
    MemplanError,
    NumberStyle,
    Plan,
    Scenario,
    export_scenario,
    import_files,
    number,
    plan_bytes,
    report,
    set_screen_numbers,
)
from memplan_gui import dialogs
from memplan_gui.charts.stack_marks import Spot
from memplan_gui.document import PlanDocument
from memplan_gui.figure_table import FigureTable
from memplan_gui.presenters.automatic_names import plan_title
from memplan_gui.presenters.help import HelpPages
from memplan_gui.scenario_edits import duplicate_scenario
from memplan_gui.window import Window
from tests.gui.looking import MESSAGE

GERMAN = NumberStyle(",", ".")
VIEWS = ("Memory", "Timeline", "Fit", "Make it fit", "Map", "Compare", "Diagnose", "Evidence")
MODES = {
    "Timeline": ("Table",),
    "Map": ("Table",),
    "Compare": ("Change by change",),
    "Evidence": ("Set-ups", "Families", "Sources"),
}
COPIES = ("copy_table", "copy_text", "copy_markdown")
RECIPES = Path(__file__).parents[1] / "core/exchange/files/axolotl"
PLAN = Plan(
    title="leaving",
    scenarios=tuple(
        Scenario.model_validate(one)
        for one in (
            {
                "name": "eight",
                "model": {"catalog": "meta-llama/Llama-3.1-8B"},
                "training": {"micro_batch": 3, "sequence_length": 12_288},
                "hardware": {"device": "h100-sxm", "devices": 1536, "tensor_parallel": 7, "headroom": 0.125},
            },
            {
                "name": "by size",
                "model": {"parameters": 7_000_000_000},
                "training": {"sequence_length": 4096, "checkpointing": "full"},
                "hardware": {"used_by_others_bytes": 1_500_000_000},
            },
        )
    ),
)


@pytest.fixture(autouse=True)
def _fixed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    yield
    set_screen_numbers(PLAIN_NUMBERS)


class Leaving:
    """Takes out of a window whatever can be taken out of it."""

    def __init__(self, window: Window, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._window, self._folder = window, folder
        self._path = folder / "a"
        monkeypatch.setattr(dialogs, "ask_save_as_kind", lambda *_: (self._path, ""))
        monkeypatch.setattr(dialogs, "ask_save", lambda *_: self._path)
        self.found: dict[str, str | bytes] = {}

    def trigger(self, command: str) -> None:
        self._window.menus.actions[command].trigger()

    def take(self, what: str) -> None:
        """Copies and files of what is in front, and every cell that can be selected."""
        showing = self._window.answer_panel.showing()
        if showing is not None:
            for command in COPIES:
                self.trigger(command)
                self.found[f"{what}: {command}"] = QGuiApplication.clipboard().text()
            if showing.picture is not None:
                self.trigger("copy_picture")
                image = QGuiApplication.clipboard().image()
                self.found[f"{what}: copy_picture"] = bytes(image.constBits())
            for ending in (*(("png", "svg", "pdf") if showing.picture else ()), "csv", "md"):
                self.found[f"{what}: {ending}"] = self.written("export_chart", ending)
        for table in self._window.answer_panel.findChildren(FigureTable):
            if table.isVisible():
                table.selectAll()
                self.found[f"{what}: cells of {table.accessibleName()}"] = table.selected_text()

    def written(self, command: str, ending: str) -> bytes:
        self._path = self._folder / f"a.{ending}"
        self.trigger(command)
        return self._path.read_bytes()


def all_that_leaves(window: Window, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str | bytes]:
    leaving, panel = Leaving(window, folder, monkeypatch), window.answer_panel
    for title in VIEWS:
        panel.views.show_view(title)
        view = panel.views.view(title)
        for box in view.findChildren(QPlainTextEdit) if view is not None else ():
            box.setPlainText(MESSAGE)
        for mode in ("", *MODES.get(title, ())):
            for button in view.findChildren(QAbstractButton) if view is not None and mode else ():
                if button.text() == mode:
                    button.click()
            for tabs in view.findChildren(QTabWidget) if view is not None else ():
                tabs.setCurrentIndex(tabs.count() - 1)
            if view is not None:
                view.finish()
            QApplication.processEvents()
            leaving.take(f"{title} {mode}".strip())
    panel.views.show_view("Memory")
    chart = panel.chart.chart
    assert chart is not None
    for row, bar in enumerate(chart.bars):
        for segment in bar.segments:
            panel.explain(Spot(row, segment.term))
            QApplication.processEvents()
            leaving.take(f"explained {row} {segment.term}")
    for ending in ("pdf", "png", "svg"):
        leaving.found[f"sheet.{ending}"] = leaving.written("export_sheet", ending)
    duplicate_scenario(window.document)
    leaving.found["plan"] = plan_bytes(window.document.plan)
    return leaving.found


def test_everything_that_leaves_is_the_same_in_either_style(
    open_window: Callable[..., Window], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = all_that_leaves(open_window(PlanDocument(PLAN)), tmp_path, monkeypatch)
    set_screen_numbers(GERMAN)
    window = open_window(PlanDocument(PLAN))
    assert "12.288" in [field.text() for field in window.plan_panel.findChildren(QLineEdit)], "the screen has the style"
    german = all_that_leaves(window, tmp_path, monkeypatch)
    assert german.keys() == plain.keys()
    assert [what for what, content in german.items() if content != plain[what]] == []
    assert len(plain) > 60


def test_files_that_the_core_writes_are_the_same_in_either_style() -> None:
    """Reports, and scenarios as trainers' configurations with the estimate as a comment."""

    def written() -> dict[str, str]:
        found = {ending: report(PLAN, ending) for ending in REPORT_FORMATS}
        for form in EXPORT_FORMATS:
            for scenario in PLAN.scenarios:
                try:
                    found[f"{form} {scenario.name}"] = export_scenario(scenario, form).text
                except MemplanError:
                    found[f"{form} {scenario.name}"] = "it has no way to say that"
        return found

    plain = written()
    set_screen_numbers(GERMAN)
    assert written() == plain
    assert sum("GiB" in text for text in plain.values()) > 5


def test_what_is_imported_is_the_same_in_either_style() -> None:
    """The plan, with the names that it gets; what is said about it has the screen's numbers."""
    recipes = sorted(RECIPES.glob("*.y*ml"))[:6]
    plain = [import_files([recipe]).scenario for recipe in recipes]
    set_screen_numbers(GERMAN)
    assert [import_files([recipe]).scenario for recipe in recipes] == plain
    assert number(4096) == "4.096"


@pytest.mark.parametrize("arguments", [["estimate"], ["levers"], ["report", "-o", "out.md"]], ids=lambda one: one[0])
def test_the_command_line_knows_no_style(arguments: list[str], tmp_path: Path) -> None:
    """Whatever the system speaks."""
    plan = tmp_path / "a.memplan"
    plan.write_bytes(plan_bytes(PLAN))
    command, *more = arguments

    def said(language: str) -> tuple[str, bytes]:
        environment = {**os.environ, "LC_ALL": language, "LANG": language, "PYTHONIOENCODING": "utf-8"}
        line = [sys.executable, "-m", "memplan", command, str(plan), *more]
        run = subprocess.run(
            line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert run.returncode in (0, 3), run.stderr
        out = tmp_path / "out.md"
        return run.stdout, out.read_bytes() if out.exists() else b""

    assert said("de_DE.UTF-8") == said("C.UTF-8")


def test_names_that_plans_are_given_are_the_same_in_either_style() -> None:
    """They stand in files."""
    sized = Plan(scenarios=(Scenario.model_validate({"name": "one", "model": {"parameters": 1_500_000_000}}),))
    plain = plan_title(sized)
    assert "1.50B" in plain
    set_screen_numbers(GERMAN)
    assert plan_title(sized) == plain


def test_pages_of_help_are_the_same_in_either_style() -> None:
    """Tables that are worked out stand beside figures that are written."""
    pages = ("recipes", "levers")
    plain = [HelpPages(()).markdown(page) for page in pages]
    assert all(re.search(r"\d\.\d", text) for text in plain)
    set_screen_numbers(GERMAN)
    assert [HelpPages(()).markdown(page) for page in pages] == plain
