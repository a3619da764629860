"""Scenarios side by side: what differs, what each needs, and a click that looks at one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from memplan import TERMS, Plan, Scenario, estimate, format_bytes, replaced
from memplan_gui.compare_view import CompareView
from memplan_gui.document import PlanDocument
from memplan_gui.presenters.cells import EXACT
from memplan_gui.presenters.compare import ONE_ALONE, Comparison, comparison, comparison_cells
from memplan_gui.window import Window

SHORT = {"sequence_length": 256}  # so that the optimizer step is the peak
BASE = Scenario.model_validate({"name": "base", "model": {"catalog": "meta-llama/Llama-3.2-1B"}, "training": SHORT})
FUSED = replaced(replaced(BASE, "training.optimizer_impl", "fused"), "name", "fused")
LONG = replaced(replaced(BASE, "training.sequence_length", 8192), "name", "long")


def compared(*scenarios: Scenario) -> Comparison:
    return comparison(scenarios, [estimate(one) for one in scenarios], 0, "gib")


def row(found: Comparison, title: str) -> tuple[str, ...]:
    return next(row.cells for row in found.rows if row.title == title)


def test_only_fields_that_differ_are_listed_with_their_titles_and_values() -> None:
    found = compared(BASE, FUSED, LONG)
    titles = [row.title for row in found.rows if not row.term][5:]
    assert titles == ["Optimizer implementation", "Sequence length"]
    assert row(found, "Optimizer implementation") == ("Foreach", "Fused", "Foreach")
    assert row(found, "Sequence length") == ("256", "256", "8192")


def test_figures_are_those_of_the_estimates() -> None:
    found = compared(BASE, FUSED)
    peaks = [estimate(one).peak for one in (BASE, FUSED)]
    assert row(found, "Peak") == tuple(format_bytes(peak.total_bytes).split(" ")[0] for peak in peaks)
    assert row(found, "Weights")[0] == format_bytes(peaks[0].bytes_by_term["weights"]).split(" ")[0]
    least = min(peaks, key=lambda peak: peak.total_bytes).total_bytes
    assert found.sentence.startswith(f"“fused” needs least: {format_bytes(least)}. “base” needs ")


def test_one_scenario_says_how_to_get_another() -> None:
    assert compared(BASE).sentence == ONE_ALONE


def test_a_scenario_without_an_estimate_stands_there_with_dashes() -> None:
    found = comparison([BASE, FUSED], [estimate(BASE), None], 0, "gib")
    assert row(found, "Peak")[1] == "–"
    assert found.scenarios[1].bar is None


def test_the_copied_table_has_answers_differences_and_terms_in_whole_bytes_for_programs() -> None:
    cells = comparison_cells(compared(BASE, FUSED), EXACT)
    assert cells.titles == ("", "base", "fused")
    peaks = tuple(str(estimate(one).need_bytes) for one in (BASE, FUSED))
    assert ("Peak, bytes", *peaks) in cells.rows
    assert ("Optimizer implementation", "Foreach", "Fused") in cells.rows
    terms = [row for row in cells.rows if row[0].removesuffix(", bytes").lower() in TERMS]
    assert [str(sum(int(row[at]) for row in terms)) for at in (1, 2)] == list(peaks)


@pytest.fixture
def window(open_window: Callable[..., Window]) -> Window:
    return open_window(PlanDocument(Plan(title="three", scenarios=(BASE, FUSED, LONG))))


@pytest.fixture
def view(window: Window) -> CompareView:
    window.answer_panel.views.show_view("Compare")
    QApplication.processEvents()
    shown = window.answer_panel.views.view("Compare")
    assert isinstance(shown, CompareView)
    return shown


def test_a_click_on_a_bar_looks_at_its_scenario(window: Window, view: CompareView, qtbot: QtBot) -> None:
    qtbot.mouseClick(view.chart, Qt.MouseButton.LeftButton, pos=QPoint(200, 20 + 40 * 2 + 20))
    assert window.document.current == 2


def test_an_edit_moves_the_figures_at_once(window: Window, view: CompareView) -> None:
    before = view.figures.compared
    assert before is not None
    window.document.edit(window.document.full_path("training.optimizer_impl"), "fused")
    after = view.figures.compared
    assert after is not None
    assert row(after, "Optimizer implementation") == ("Fused", "Fused", "Foreach")
    assert row(after, "Peak")[0] != row(before, "Peak")[0]
    assert row(after, "Peak")[1:] == row(before, "Peak")[1:]
