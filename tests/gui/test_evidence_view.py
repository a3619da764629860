"""The Evidence view. What is right: what `memplan evidence` says of the same scenario."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from memplan import basis_sentence, case_title, evidence_groups, evidence_rows, replaced, save_plan
from memplan.cli.ending import run
from memplan_gui.document import PlanDocument
from memplan_gui.evidence_view import EvidenceView
from memplan_gui.presenters.evidence import MODES, all_sentence, nearest_rows, own_sentence
from memplan_gui.window import Window


def shown(window: Window) -> EvidenceView:
    window.answer_panel.views.show_view("Evidence")
    QApplication.processEvents()
    view = window.answer_panel.views.view("Evidence")
    assert isinstance(view, EvidenceView)
    return view


def choose(view: EvidenceView, mode: str) -> None:
    view.modes.set_value(mode)
    view.modes.chosen.emit(mode)


def test_the_nearest_cases_are_those_of_the_command(
    window: Window, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    view = shown(window)
    save_plan(window.document.plan, tmp_path / "a.memplan")
    run(["evidence", str(tmp_path / "a.memplan"), "--json"])
    told = json.loads(capsys.readouterr().out)["scenarios"][0]["nearest"]
    lines = view.cases.table.lines
    assert [line.cells[0] for line in lines] == [case_title(one["id"]) for one in told]
    assert [line.cells[5] for line in lines] == [", ".join(one["differs_in"]) or "nothing that counts" for one in told]
    assert [line.cells[6] for line in lines] == [one["source"] for one in told]
    assert {line.cells[1] for line in lines} == {"Trace", "Device"}


def test_the_sentence_begins_with_the_basis_and_follows_an_edit(window: Window) -> None:
    view = shown(window)
    estimate = window.answers.answer().estimate
    assert estimate is not None
    assert view.sentence.text().lower().startswith(basis_sentence(estimate).lower())
    before = [line.cells for line in view.cases.table.lines]
    window.document.edit("scenarios[0].training.method", "qlora")
    assert [line.cells for line in view.cases.table.lines] != before
    assert view.accessibleDescription() == view.sentence.text()


def test_the_basis_of_the_verdict_leads_there(window: Window) -> None:
    assert "Basis: traced" in window.answer_panel.verdict.text
    window.answer_panel.verdict._basis.click()
    views = window.answer_panel.views
    assert views.titles[views.currentIndex()] == "Evidence"


def test_names_in_the_verdict_are_no_markup(window: Window) -> None:
    assert "<" not in window.answer_panel.verdict.text


@pytest.mark.parametrize("mode", ["set_up", "family", "source"])
def test_groups_are_all_there_and_the_scenario_s_own_is_pointed_at(window: Window, mode: str) -> None:
    view = shown(window)
    choose(view, mode)
    groups = [group for kind in ("traced", "measured") for group in evidence_groups(evidence_rows(kind), mode)]  # type: ignore[arg-type]  # names of both
    lines = view.cases.table.lines
    assert [(line.cells[0], line.cells[2]) for line in lines] == [(group.name, str(group.cases)) for group in groups]
    own = {line.cells[0] for line in lines if line.is_own}
    assert own == {"set_up": {"full fine-tune"}, "family": {"llama"}, "source": set()}[mode]
    if own:
        assert view.detail_title.text() in own
    assert view.detail.text()


def test_the_table_is_copied_and_spoken(window: Window) -> None:
    view = shown(window)
    for _, mode in MODES:
        choose(view, mode)
        view.copy.click()
        rows = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
        assert rows[0] == list(view.cases.table.headers)
        assert len(rows) == len(view.cases.table.lines) + 1
        text = view.cases.data(view.cases.index(0, 1), Qt.ItemDataRole.AccessibleTextRole)
        assert text.startswith(view.cases.table.lines[0].title)
    assert view.table.accessibleName()


def test_a_scenario_without_an_estimate_says_why(open_window: Callable[..., Window]) -> None:
    scenario = replaced(PlanDocument().scenario, "model", {"config": {"model_type": "llama", "hidden_size": "x"}})
    window = open_window(PlanDocument(replaced(PlanDocument().plan, "scenarios", (scenario,))))
    view = shown(window)
    assert "hidden_size" in view.sentence.text()
    assert view.cases.table.lines == ()


def test_what_is_said_of_all_cases_is_counted() -> None:
    traced = [row for row in evidence_rows("traced") if row.exact]
    assert all_sentence().startswith(f"{len(traced):,} traces of the framework's own code: ")


def test_a_case_of_the_very_set_up_is_said_to_be_one() -> None:
    scenario = replaced(PlanDocument().scenario, "training.sequence_length", 1024)
    rows = nearest_rows(scenario)
    assert "is of this very set-up; the estimate is exact to 0.01%" in own_sentence(None, rows, scenario)
