"""What stands on screen when memplan itself makes a mistake: words, and never the figures of another scenario."""

from __future__ import annotations

import pytest

from memplan import Scenario
from memplan_gui import answers as answers_module
from memplan_gui.charts.stack_marks import Spot
from memplan_gui.window import Window

BATCH = "training.micro_batch"


def fail(*_: object) -> None:
    raise ZeroDivisionError("odd")


def edit(window: Window, path: str, value: object) -> None:
    window.document.edit(window.document.full_path(path), value)


def shows_nothing(window: Window) -> bool:
    panel = window.answer_panel
    table, tensors = panel.details.breakdown, panel.details.explanation.tensors
    cards = [button for button in panel.levers.buttons if button.isVisible()]
    return panel.chart.chart is None and table.figures.rowCount() == 0 and tensors.rowCount() == 0 and not cards


def test_a_mistake_in_the_estimate_clears_what_was_shown(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    window.answer_panel.explain(Spot(1, "activations"))
    assert window.answer_panel.details.explanation.tensors.rowCount() > 0
    monkeypatch.setattr(answers_module, "estimate", fail)
    edit(window, BATCH, 7)
    assert shows_nothing(window)  # at once, not only when the levers follow
    window.answers.finish()
    assert shows_nothing(window)
    assert window.answer_panel.verdict.text.startswith("No estimate")
    assert "ZeroDivisionError: odd" in window.answer_panel.verdict.text
    assert "Undo" in window.answer_panel.verdict.text
    monkeypatch.undo()
    window.document.undo_stack.undo()
    assert window.answer_panel.chart.chart is not None


def test_an_answer_that_cannot_be_shown_is_a_mistake_too(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_with_estimate(scenario: object, answer: object, unit: object) -> None:
        if answer.estimate is not None:  # type: ignore[attr-defined]  # an Answer
            raise ZeroDivisionError("odd")
        shows(scenario, answer, unit)

    shows = window.answer_panel.chart.show_answer
    monkeypatch.setattr(window.answer_panel.chart, "show_answer", fail_with_estimate)
    edit(window, BATCH, 7)
    assert shows_nothing(window)
    assert "odd" in window.answer_panel.verdict.text


def test_a_mistake_in_the_levers_is_said_in_their_place(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers_module, "each_offer", fail)
    edit(window, BATCH, 7)
    window.answers.finish()
    assert not any(button.isVisible() for button in window.answer_panel.levers.buttons)
    assert "odd" in window.answer_panel._levers_title.text()
    assert window.answer_panel.chart.chart is not None  # the estimate is right, and stands


def test_an_offer_for_another_scenario_is_refused(window: Window) -> None:
    edit(window, "training.sequence_length", 512)
    lever = next(offer.lever.id for offer in window.answers.offers if offer.scenario is not None)
    window.toggle_lever(lever)  # before the offers for the new length were made
    assert window.document.scenario.training.sequence_length == 512


def test_levers_that_failed_toggle_nothing(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    lever = next(offer.lever.id for offer in window.answers.offers if offer.scenario is not None)
    monkeypatch.setattr(answers_module, "each_offer", fail)
    edit(window, BATCH, 7)
    before: Scenario = window.document.scenario
    window.toggle_lever(lever)
    assert window.document.scenario is before
