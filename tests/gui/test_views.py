"""Views cost nothing until they are looked at, and show the latest answer when they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QLabel, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from memplan import Estimate, Scenario, Unit, lever_offers
from memplan_gui.document import PlanDocument
from memplan_gui.first_plan import example_plans
from memplan_gui.presenters.answer import Answer
from memplan_gui.views import AnswerView, Views
from memplan_gui.window import LEAST_SIZE, Window
from tests.gui.looking import look_at

SCENARIO = Scenario.model_validate({"model": {"parameters": 1_000_000}})


class Names(AnswerView):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def show_answer(self, scenario: Scenario, answer: Answer, unit: Unit) -> None:
        self.told.append(f"{answer.estimate.name if answer.estimate else answer.problem} in {unit}")


def test_a_view_is_made_when_first_shown_and_told_the_latest_answer_only(qtbot: QtBot, estimate: Estimate) -> None:
    made: list[Names] = []

    def make() -> Names:
        made.append(Names())
        return made[-1]

    views = Views("Memory", QLabel("chart"))
    qtbot.addWidget(views)
    views.add_view("Names", make)
    views.show_answer(SCENARIO, Answer(None, "first"), "gib")
    views.show_answer(SCENARIO, Answer(estimate), "gb")
    assert not made
    assert views.view("Names") is None

    views.show_view("Names")

    assert [view.told for view in made] == [["by hand in gb"]]
    assert views.view("Names") is made[0]


def test_a_view_that_is_not_looked_at_is_not_told(qtbot: QtBot) -> None:
    views, view = Views("Memory", QLabel("chart")), Names()
    qtbot.addWidget(views)
    views.add_view("Names", lambda: view)
    views.show_answer(SCENARIO, Answer(None, "one"), "gib")
    views.show_view("Names")
    views.show_view("Memory")
    views.show_answer(SCENARIO, Answer(None, "two"), "gib")
    views.show_answer(SCENARIO, Answer(None, "three"), "gib")
    assert view.told == ["one in gib"]

    views.show_view("Names")

    assert view.told == ["one in gib", "three in gib"]


def test_levers_and_chart_wait_while_another_view_hides_them(window: Window, qtbot: QtBot) -> None:
    views, plot, answers = window.answer_panel.views, window.answer_panel.chart.plot, window.answers
    views.show_view("Evidence")
    before, drawn = answers.offers, plot.chart if plot else None
    window.document.edit(window.document.full_path("training.micro_batch"), 3)
    with qtbot.waitSignal(answers.others_answered):
        pass  # all that follows an edit is over then
    assert answers.offers is before
    assert plot is not None
    assert plot.chart is drawn

    window.menus.submenus["levers"].aboutToShow.emit()  # who looks there sees the plan as it is
    assert answers.offers is not before

    window.document.edit(window.document.full_path("training.micro_batch"), 5)
    with qtbot.waitSignal(answers.offered):
        views.show_view("Memory")
    assert [offer.need_bytes for offer in answers.offers] == [
        offer.need_bytes for offer in lever_offers(window.document.scenario)
    ]
    assert plot.chart is window.answer_panel.chart.chart


def bars_inside_bars(window: Window) -> list[str]:
    """What scrolls up and down inside of what does so too: the wheel then moves now this, now that."""
    areas = [area for area in window.findChildren(QAbstractScrollArea) if area.verticalScrollBar().isVisible()]
    return [
        f"{area.accessibleName()} in {outer.metaObject().className()}"
        for area in areas
        for outer in areas
        if outer is not area and outer.isAncestorOf(area)
    ]


@pytest.mark.parametrize("example", [0, 1])
def test_nothing_scrolls_inside_of_what_scrolls_in_the_smallest_window(
    open_window: Callable[..., Window], example: int
) -> None:
    window = open_window(PlanDocument(example_plans()[example]))
    window.resize(LEAST_SIZE)
    views, nested = window.answer_panel.views, []
    for scenario in range(len(window.document.plan.scenarios)):
        window.document.show_scenario(scenario)
        for title in views.titles:
            look_at(window, title)
            nested += [f"{title}, scenario {scenario}: {words}" for words in bars_inside_bars(window)]
    assert not nested, "\n".join(nested)


@pytest.mark.parametrize("width", [900, 840, 760])
def test_on_a_small_screen_the_verdict_does_not_scroll_around_what_scrolls(
    open_window: Callable[..., Window], width: int
) -> None:
    """A window is no larger than its screen: there the answer scrolled, in it the view, and in that its table."""
    window = open_window(PlanDocument(example_plans()[0]))
    window.setMinimumSize(width, 600)
    window.resize(width, 600)
    views = window.answer_panel.views
    outer: QWidget | None = views
    while not isinstance(outer, QScrollArea):
        assert outer is not None
        outer = outer.parentWidget()
    for title in views.titles:
        look_at(window, title)
        assert not outer.verticalScrollBar().isVisible(), title


def test_a_bar_inside_a_bar_is_found(window: Window) -> None:
    inner, outer = QScrollArea(), QScrollArea(window)
    for area, content in ((inner, QWidget()), (outer, inner)):
        content.setMinimumHeight(2000)
        area.setWidget(content)
    outer.setGeometry(0, 0, 200, 200)
    outer.show()
    inner.resize(150, 2000)
    inner.widget().setMinimumHeight(9000)
    QApplication.processEvents()
    assert bars_inside_bars(window)
