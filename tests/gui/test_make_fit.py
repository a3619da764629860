"""Make it fit. What is right: the core's own proposal, and what a person does with it."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from memplan import PREFERENCES, Preferences, Proposal, Scenario, make_fit, proposal_sentence, replaced, waterfall
from memplan_gui.charts.front_marks import paint_front, time_ticks
from memplan_gui.charts.waterfall_marks import height_of, marks_of, paint_waterfall
from memplan_gui.make_fit_view import MakeFitView
from memplan_gui.presenters.make_fit import waterfall_chart
from memplan_gui.settings import Settings
from memplan_gui.window import Window

TITLE = "Make it fit"


def shown(window: Window) -> MakeFitView:
    window.answer_panel.fit_button.click()
    QApplication.processEvents()
    view = window.answer_panel.views.view(TITLE)
    assert isinstance(view, MakeFitView)
    return view


def on_small_card(window: Window) -> MakeFitView:
    window.document.edit("scenarios[0].hardware.device", "rtx-4090")
    view = shown(window)
    view.finish()
    return view


def known(view: MakeFitView) -> Proposal:
    assert view.proposal is not None
    return view.proposal


def test_nothing_is_searched_for_before_somebody_asks(window: Window) -> None:
    assert window.answer_panel.views.view(TITLE) is None
    view = shown(window)
    assert view.search.is_running
    assert not view.apply.isEnabled()


def test_the_proposal_is_the_cores(window: Window) -> None:
    view = on_small_card(window)
    expected = make_fit(window.document.scenario)
    assert view.sentence.text() == proposal_sentence(expected)
    assert view.accessibleDescription() == view.sentence.text()
    assert [way.need for way in known(view).front] == [way.need for way in expected.front]
    assert view.way == known(view).best
    assert view.ways.rowCount() == len(expected.front)
    assert view.picture.accessibleDescription().startswith("The peak falls from ")


def test_apply_is_one_step_of_undo(window: Window, qtbot: QtBot) -> None:
    view = on_small_card(window)
    before, steps = window.document.plan, window.document.undo_stack.count()
    best = known(view).best
    assert best is not None
    qtbot.mouseClick(view.apply, Qt.MouseButton.LeftButton)
    scenario = window.document.scenario
    assert scenario == replaced(best.scenario, "name", scenario.name)  # the name follows what it names
    assert window.document.undo_stack.count() == steps + 1
    assert window.document.undo_stack.undoText() == "make it fit"
    view.finish()
    assert view.sentence.text() == "Fits as it is: nothing has to change."
    assert not view.apply.isEnabled()
    window.document.undo_stack.undo()
    assert window.document.plan == before


def test_another_way_can_be_chosen_and_applied(window: Window) -> None:
    view = on_small_card(window)
    view.keep.toggles["method"].click()
    view.finish()
    last = len(known(view).front) - 1
    view.way_table.selectRow(last)
    assert view.way == known(view).smallest
    assert view.picture.chart is not None
    assert [row.title for row in view.picture.chart.rows[1:-1]] == [
        view.steps.index(row, 0).data() for row in range(1, view.steps.rowCount())
    ]
    smallest = known(view).smallest.scenario
    view.apply.click()
    scenario = window.document.scenario
    assert scenario == replaced(smallest, "name", scenario.name)  # the name follows what it names
    assert scenario.training.method in ("lora", "qlora")


def test_a_way_can_be_chosen_in_the_chart_of_memory_against_time(window: Window, qtbot: QtBot) -> None:
    view = on_small_card(window)
    view.front.resize(QSize(600, 240))
    marks = view.front.marks()
    assert marks is not None
    assert [(point.need_bytes, point.fits) for point in marks.front.points] == [
        (way.need.high, way.fits) for way in known(view).front
    ]
    assert str(len(marks.front.points)) in view.front.accessibleDescription()
    last = len(marks.front.points) - 1
    qtbot.mouseClick(view.front, Qt.MouseButton.LeftButton, pos=marks.place(marks.front.points[last]).toPoint())
    assert view.way == known(view).front[last]
    image = QImage(QSize(600, 240), QImage.Format.Format_ARGB32)
    painter = QPainter(image)
    paint_front(painter, marks)
    painter.end()
    assert marks.point_at(marks.area.topLeft()) is None


@pytest.mark.parametrize(
    ("fastest", "slowest"), [(0.95, 1.35), (0.67, 3.2), (1.0, 1.1), (0.2, 14.0), (1.0, 1000.0), (0.98, 2.08)]
)
def test_times_are_marked_at_round_values(fastest: float, slowest: float) -> None:
    times, decimals = time_ticks(fastest, slowest)
    assert 2 <= len(times) <= 6
    assert fastest <= times[0]
    assert times[-1] <= slowest
    step = times[1] - times[0]
    assert f"{step:e}"[0] in "125"
    assert [float(f"{time:.{decimals}f}") for time in times] == pytest.approx(times)
    assert [time / step for time in times] == pytest.approx([round(time / step) for time in times])


def test_what_must_stay_is_searched_with_and_remembered(window: Window, settings: Settings) -> None:
    view = on_small_card(window)
    assert view.keep.toggles["method"].isChecked()
    assert {way.scenario.training.method for way in known(view).front} == {"full"}
    view.keep.toggles["method"].click()
    assert view.search.is_running
    view.finish()
    assert view.preferences == Preferences().toggled("method")
    assert known(view).front[-1].scenario.training.method in ("lora", "qlora")
    assert set(settings.kept(frozenset())) == view.preferences.kept
    for one in PREFERENCES:
        if one not in view.preferences.kept:
            view.keep.toggles[one].click()
    view.finish()
    assert known(view).best is None
    assert view.sentence.text().startswith("Nothing that may change makes it fit: at best it is ")


def test_the_method_may_change_at_the_press_of_a_button_where_nothing_fits_with_it(window: Window) -> None:
    window.document.edit("scenarios[0].hardware.device", "t4")
    view = shown(window)
    view.finish()
    assert known(view).best is None
    assert "If the method may change, it fits with " in view.sentence.text()
    assert not view.let_change.isHidden()
    view.let_change.click()
    view.finish()
    assert not view.keep.toggles["method"].isChecked()
    assert known(view).best is not None
    assert view.let_change.isHidden()


def test_only_the_latest_question_is_answered(window: Window, qtbot: QtBot) -> None:
    view = shown(window)
    answers: list[Proposal] = []
    view.search.found.connect(answers.append)
    for batch in (2, 4, 8):
        window.document.edit("scenarios[0].training.micro_batch", batch)
    qtbot.waitUntil(lambda: bool(answers), timeout=20_000)
    QApplication.processEvents()
    assert len(answers) == 1
    assert answers[0].now.scenario.training.micro_batch == 8


def test_the_window_has_its_turn_while_it_searches(window: Window, qtbot: QtBot) -> None:
    view = on_small_card(window)
    threads, told = threading.active_count(), []
    view.search.progressed.connect(told.append)
    view.keep.toggles["optimizer"].click()
    assert view.halt.isVisible()
    qtbot.waitUntil(lambda: not view.search.is_running, timeout=20_000)
    assert told == sorted(told)
    assert len(told) > 2
    assert all(0 <= one < 1 for one in told)
    assert not view.halt.isVisible()
    assert threading.active_count() == threads


def test_a_search_can_be_stopped(window: Window, qtbot: QtBot) -> None:
    view = on_small_card(window)
    view.keep.toggles["host"].click()
    view.halt.click()
    assert not view.search.is_running
    assert "stopped" in view.sentence.text()
    assert not view.apply.isEnabled()
    view.keep.toggles["host"].click()
    view.finish()
    assert view.proposal is not None


def test_what_nobody_sees_is_not_searched_for(window: Window) -> None:
    view = shown(window)
    assert view.search.is_running
    window.answer_panel.views.show_view("Memory")
    assert not view.search.is_running
    window.document.edit("scenarios[0].training.micro_batch", 3)
    assert not view.search.is_running
    window.answer_panel.views.show_view(TITLE)
    view.finish()
    assert known(view).now.scenario.training.micro_batch == 3


def test_a_scenario_without_an_estimate_says_why(window: Window) -> None:
    view = on_small_card(window)
    window.document.edit("scenarios[0].hardware.device", "no such device")
    assert not view.search.is_running
    assert view.proposal is None
    assert "no such device" in view.sentence.text()
    assert view.ways.rowCount() == 0
    assert not view.apply.isEnabled()


def test_amounts_follow_the_unit(window: Window) -> None:
    view = on_small_card(window)
    window.set_unit("gb")
    assert " GB of " in view.sentence.text()
    assert "GB" in view.ways.index(0, 0).data()
    assert view.picture.chart is not None
    assert view.picture.chart.unit == "gb"


@pytest.mark.parametrize("width", [300, 900])
def test_the_waterfall_paints_in_any_width(window: Window, width: int) -> None:
    view = on_small_card(window)
    view.picture.resize(QSize(width, 400))
    marks = view.picture.marks()
    assert marks is not None
    image = QImage(QSize(width, 400), QImage.Format.Format_ARGB32)
    painter = QPainter(image)
    paint_waterfall(painter, marks)
    painter.end()
    assert marks.row_at(marks.bar_rect(1, 0, 1).center()) == 1


def test_the_waterfall_has_room_for_every_line_of_its_legend(window: Window) -> None:
    """Nothing is painted below the height that it asks for, least of all where it just asks for a line less."""
    view = on_small_card(window)
    marks = view.picture.marks()
    assert marks is not None
    heights = {width: height_of(marks.chart, marks.look, width) for width in range(200, 1600, 4)}
    lower = [width for width in heights if heights[width] < heights.get(width - 4, 0)]
    assert lower
    for width in lower:
        height = heights[width]
        image = QImage(QSize(width, height + 60), QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        paint_waterfall(painter, marks_of(marks.chart, marks.look, width))
        painter.end()
        below = image.copy(0, height, width, 60)
        empty = QImage(below.size(), below.format())
        empty.fill(Qt.GlobalColor.transparent)
        assert below == empty, width


def test_bars_fall_from_one_to_the_next(window: Window) -> None:
    scenario: Scenario = replaced(window.document.scenario, "hardware.device", "rtx-4090")
    proposal = make_fit(scenario)
    assert proposal.best is not None
    falls = waterfall(scenario, proposal.best)
    chart = waterfall_chart(falls, proposal.best.usable_bytes, "RTX 4090", "gib")
    level = chart.rows[0].end
    for row in chart.rows[1:-1]:
        assert row.end == level
        assert abs(sum(part.size for part in row.segments) - (row.end - row.start)) <= len(row.segments)
        level = row.start
    assert chart.rows[-1].end == level
    assert chart.overflows


def test_a_way_that_does_not_fit_is_not_offered(window: Window) -> None:
    window.document.edit("scenarios[0].hardware.device", "t4")
    view = shown(window)
    view.finish()
    assert known(view).best is None
    assert view.way is not None
    assert view.way.uses
    assert not view.apply.isEnabled()
    assert "does not fit" in view.apply.toolTip()


def test_the_way_that_is_proposed_is_in_sight(window: Window) -> None:
    view = on_small_card(window)
    window.resize(1000, 640)
    QApplication.processEvents()
    view._show_proposal(known(view))
    rect = view.way_table.visualRect(view.way_table.currentIndex())
    assert view.way_table.viewport().rect().contains(rect.center())


def test_what_is_kept_has_a_tick(window: Window) -> None:
    view = on_small_card(window)
    toggle = view.keep.toggles["method"]
    assert toggle.isChecked()
    width = toggle.sizeHint().width()
    for toggle in view.keep.toggles.values():
        image = toggle.icon().pixmap(16, 16).toImage()
        inked = any(image.pixelColor(x, y).alpha() for x in range(image.width()) for y in range(image.height()))
        assert inked == toggle.isChecked()
    view.keep.toggles["method"].click()
    assert view.keep.toggles["method"].sizeHint().width() == width, "nothing moves when one of them is let go"


def test_what_the_time_is_compared_with_is_said(window: Window) -> None:
    view = on_small_card(window)
    assert view.sentence.text().count(" now") == 1, view.sentence.text()
    across = Qt.Orientation.Horizontal
    assert view.ways.headerData(2, across) == "Time against now"
    assert "against the plan as it is now" in view.ways.headerData(2, across, Qt.ItemDataRole.ToolTipRole)


def test_enter_applies_the_way_that_is_pointed_at_where_it_fits(window: Window, qtbot: QtBot) -> None:
    view = on_small_card(window)
    table, front = view.way_table, known(view).front
    before = window.document.scenario
    misses = next(at for at, way in enumerate(front) if not way.fits)
    table.selectRow(misses)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert window.document.scenario == before
    fits = next(at for at, way in enumerate(front) if way.fits and way.uses)
    table.selectRow(fits)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert window.document.scenario.training == front[fits].scenario.training  # its name follows it
    window.document.undo_stack.undo()
    assert window.document.scenario == before


def test_the_way_down_of_what_cannot_share_a_run_has_no_tick() -> None:
    hardware = {"device": "apple-m3-ultra-512gb", "devices": 4, "sharding": {"strategy": "fsdp2"}}
    scenario = Scenario.model_validate({"model": {"catalog": "Qwen/Qwen2.5-0.5B"}, "hardware": hardware})
    found = make_fit(scenario)
    (now, *_) = waterfall_chart(waterfall(scenario, found.front[0]), found.now.usable_bytes, "Macs", "gib").rows
    assert now.verdict == "does_not_fit"
    assert ": runs alone." in now.tip
