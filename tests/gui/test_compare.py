"""Scenarios side by side: what differs, what each needs, and a click that looks at one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from memplan import CHANGES_ORDER, TERMS, Plan, Scenario, changes_between, estimate, format_bytes, replaced
from memplan_gui.changes_pane import ScenarioPair
from memplan_gui.charts.compare_marks import legend_of, total_place
from memplan_gui.charts.compare_marks import marks_of as compare_marks
from memplan_gui.charts.legend import BEYOND, USABLE
from memplan_gui.charts.picture import paper
from memplan_gui.charts.row_pieces import GAP
from memplan_gui.charts.waterfall_marks import legend_of as waterfall_legend
from memplan_gui.charts.waterfall_marks import marks_of
from memplan_gui.compare_view import CompareView
from memplan_gui.document import PlanDocument
from memplan_gui.presenters.cells import EXACT
from memplan_gui.presenters.changes import change_cells, change_sentence, change_waterfall, telling
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
    assert titles == ["Optimizer variant", "Sequence length"]
    assert row(found, "Optimizer variant") == ("Foreach", "Fused", "Foreach")
    assert row(found, "Sequence length") == ("256", "256", "8,192")


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
    assert ("Optimizer variant", "Foreach", "Fused") in cells.rows
    terms = [row for row in cells.rows if row[0].removesuffix(", bytes").lower() in TERMS]
    assert [str(sum(int(row[at]) for row in terms)) for at in (1, 2)] == list(peaks)


SERVES = replaced(replaced(LONG, "training.method", "inference"), "name", "serves")


def test_a_field_that_does_nothing_is_no_difference() -> None:
    """Inference checkpoints nothing, so it has no "Checkpoint every 4" beside a run that has 1."""
    spaced = replaced(replaced(SERVES, "training.checkpoint_every", 4), "training.optimizer", "sgd")
    found = compared(spaced, replaced(LONG, "training.checkpointing", "full"))
    titles = {row.title for row in found.rows}
    assert "Checkpoint every" not in titles  # it is 1 where it counts, as everywhere that nobody asked
    assert "Optimizer" not in titles
    assert row(found, "Checkpointing") == ("–", "Whole layers")
    assert row(found, "Method") == ("Inference", "Full fine-tune")
    every = replaced(replaced(LONG, "training.checkpointing", "full"), "training.checkpoint_every", 2)
    assert row(compared(spaced, every), "Checkpoint every") == ("–", "2")
    assert row(compared(BASE, replaced(BASE, "hardware.devices", 4)), "Devices") == ("1", "4")


def test_a_change_of_what_does_nothing_is_not_told() -> None:
    spaced = replaced(SERVES, "training.checkpoint_every", 4)
    checkpointed = replaced(LONG, "training.checkpointing", "full")
    way = changes_between(spaced, checkpointed)
    told = telling(way, spaced, checkpointed)
    values = {field.title: (field.before, field.after) for step in told for field in step.fields}
    assert values == {"Method": ("inference", "full"), "Checkpointing": (None, "full")}
    assert sum(step.change_bytes for step in told) == sum(step.change_bytes for step in way)
    assert told[-1].estimate == way[-1].estimate


def test_every_dashed_line_is_named_and_every_colour(qapp: object) -> None:
    alike = compared(BASE, LONG)
    assert alike.shared_device
    assert USABLE not in legend_of(alike)  # the line has its own words
    two = compared(BASE, replaced(LONG, "hardware.device", "rtx-4090"))
    assert legend_of(two) == [*two.terms, BEYOND, USABLE]
    assert BEYOND not in legend_of(alike)
    way = changes_between(BASE, replaced(BASE, "hardware.device", "rtx-4090"))
    look = paper()
    named = [entry.text for entry in waterfall_legend(marks_of(change_waterfall(way, ("a", "b"), "gib"), look, 800))]
    assert USABLE in named


@pytest.mark.parametrize("width", [360.0, 800.0])
def test_a_peak_stands_behind_its_bar(qapp: object, width: float) -> None:
    look, crossed = paper(), 0
    for headroom in range(0, 95, 1):
        found = compared(*(replaced(one, "hardware.headroom", headroom / 100) for one in (BASE, LONG)))
        marks = compare_marks(found, look, width)
        for at, one in enumerate(found.scenarios):
            assert one.estimate is not None
            place = total_place(marks, at, one.estimate)
            assert place.left() == marks.scale.x(one.estimate.peak.total_bytes) + GAP
            assert place.right() <= marks.area.right() + 1
            crossed += place.left() <= marks.scale.x(one.estimate.usable_bytes) <= place.right()
    assert crossed  # wherever the dashed line stands


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


def test_colours_are_named_under_the_bars(view: CompareView) -> None:
    assert view.figures.compared is not None
    assert view.legend.texts == legend_of(view.figures.compared)
    assert view.legend.isVisible()
    bars = view.legend.parentWidget()
    assert bars is not None
    place = view.legend.geometry()
    assert place.top() >= view.chart.geometry().bottom()
    assert 0 <= bars.height() - place.bottom() <= 2  # right above the table: no gap, and nothing to scroll for


def test_a_click_on_a_bar_looks_at_its_scenario(window: Window, view: CompareView, qtbot: QtBot) -> None:
    qtbot.mouseClick(view.chart, Qt.MouseButton.LeftButton, pos=QPoint(200, 20 + 40 * 2 + 20))
    assert window.document.current == 2


def test_an_edit_moves_the_figures_at_once(window: Window, view: CompareView) -> None:
    before = view.figures.compared
    assert before is not None
    window.document.edit(window.document.full_path("training.optimizer_impl"), "fused")
    after = view.figures.compared
    assert after is not None
    assert row(after, "Optimizer variant") == ("Fused", "Fused", "Foreach")
    assert row(after, "Peak")[0] != row(before, "Peak")[0]
    assert row(after, "Peak")[1:] == row(before, "Peak")[1:]


# Change by change: the waterfall between two scenarios. What is right: the core's own way, and sums to the byte.


def in_changes(window: Window, view: CompareView) -> CompareView:
    view.kinds.set_value("changes")
    view.kinds.chosen.emit("changes")
    QApplication.processEvents()
    view.finish()
    return view


def test_bars_stand_where_estimates_on_the_way_do() -> None:
    other = replaced(FUSED, "training.sequence_length", 8192)
    way = changes_between(BASE, other)
    chart = change_waterfall(way, ("base", "other"), "gib")
    assert [row.title for row in chart.rows] == [
        "base",
        "Optimizer variant: Fused",
        "Sequence length: 8,192",
        "other",
    ]
    assert [row.level for row in chart.rows] == [
        *(step.estimate.need_bytes for step in way),
        way[-1].estimate.need_bytes,
    ]
    falls, grows = chart.rows[1:3]
    assert (falls.end, falls.start) == (way[0].estimate.need_bytes, way[1].estimate.need_bytes)
    assert (grows.start, grows.end) == (way[1].estimate.need_bytes, way[2].estimate.need_bytes)
    assert falls.figure.startswith("−")
    assert grows.figure.startswith("+")
    for row in (falls, grows):
        assert sum(segment.size for segment in row.segments) == pytest.approx(row.end - row.start, abs=len(TERMS))
    assert "temporary buffers: −" in falls.tip
    assert [row.is_scaled for row in chart.rows] == [False, True, True, False]
    assert "both ways in: Optimizer variant: Fused; Sequence length: 8,192." in chart.note
    assert change_waterfall(changes_between(BASE, BASE), ("a", "b"), "gib").note == ""
    assert chart.sentence.startswith("The peak grows from ")
    assert f"Optimizer variant: Fused ({falls.figure})" in chart.sentence


def test_the_table_has_every_change_and_its_figures_come_to_the_difference() -> None:
    other = replaced(replaced(LONG, "hardware.device", "rtx-4090"), "hardware.headroom", 0.1)
    cells = change_cells(changes_between(BASE, other), EXACT)
    assert [row[0] for row in cells.rows] == ["Start", "Sequence length", "Device", "Headroom"]
    assert cells.rows[2][1:3] == ("A100 SXM4 80 GB", "GeForce RTX 4090")
    assert sum(int(row[3]) for row in cells.rows[1:]) == int(cells.rows[-1][4]) - int(cells.rows[0][4])
    assert cells.note == CHANGES_ORDER


def test_peaks_on_two_devices_have_a_usable_line_each() -> None:
    chart = change_waterfall(changes_between(BASE, replaced(BASE, "hardware.device", "rtx-4090")), ("a", "b"), "gib")
    assert chart.device == ""
    assert chart.rows[0].usable != chart.rows[-1].usable


def test_scenarios_that_are_alike_say_so() -> None:
    assert change_sentence(changes_between(BASE, BASE), ("a", "b"), "gib") == "“a” and “b” are set up alike."


def test_the_scenario_that_is_looked_at_is_held_against_the_first(window: Window, view: CompareView) -> None:
    in_changes(window, view)
    assert view.pair.positions == (0, 1)
    window.document.show_scenario(2)
    view.finish()
    assert view.pair.positions == (0, 2)
    chart = view.changes.chart
    assert chart is not None
    assert (chart.rows[0].title, chart.rows[-1].title) == ("base", "long")
    view.pair.turn.click()
    view.finish()
    turned = view.changes.chart
    assert turned is not None
    assert turned.rows[0].title == "long"
    assert view.changes.sentence.text() == turned.sentence == view.changes.picture.accessibleDescription()


def test_names_are_whole_where_there_is_room(qtbot: QtBot) -> None:
    """They were cut at the letters of a tab, however wide the view was."""
    name = "LoRA, rank 16, 8,192 tokens, whole layers checkpointing"
    pair = ScenarioPair()
    qtbot.addWidget(pair)
    pair.show_names((name, "base"), 1)
    assert pair.first.currentText() == name
    widths = {}
    for width in (300, 1300):
        pair.resize(width, pair.heightForWidth(width))
        pair.show()
        QApplication.processEvents()
        widths[width] = pair.first.width()
    room = pair.first.fontMetrics().horizontalAdvance(name)
    assert widths[300] < room < widths[1300] < 1.5 * room
    assert pair.minimumSizeHint().width() <= 300


def test_a_copy_is_one_click_away_and_what_is_tried_in_it_is_the_waterfall(window: Window, view: CompareView) -> None:
    window.document.show_scenario(1)
    in_changes(window, view)
    view.duplicate.click()
    QApplication.processEvents()
    assert window.answer_panel.views.current_view is view
    assert window.document.scenario.name == "fused 2"
    assert view.pair.positions == (1, 2)
    window.document.edit(window.document.full_path("training.checkpointing"), "full")
    view.finish()
    chart = view.changes.chart
    assert chart is not None
    assert chart.sentence.startswith("The peak ")
    rows = view.changes.steps.rows
    assert rows is not None
    assert rows.cells[1][:3] == ("Checkpointing", "None", "Whole layers")


def test_the_waterfall_is_what_leaves_while_it_is_in_front(window: Window, view: CompareView) -> None:
    in_changes(window, view)
    showing = window.answer_panel.showing()
    assert showing is not None
    assert showing.name == "changes"
    view.kinds.set_value("bars")
    view.kinds.chosen.emit("bars")
    showing = window.answer_panel.showing()
    assert showing is not None
    assert showing.name == "comparison"


def test_without_an_estimate_there_is_no_way_and_it_is_said(window: Window, view: CompareView) -> None:
    in_changes(window, view)
    window.document.edit(window.document.full_path("hardware.device"), "no-such-card")
    view.finish()
    assert view.changes.chart is None
    assert "no-such-card" in view.changes.sentence.text()
    assert window.answer_panel.showing() is None


def test_one_scenario_alone_has_no_waterfall(open_window: Callable[..., Window]) -> None:
    window = open_window(PlanDocument(Plan(title="one", scenarios=(BASE,))))
    window.answer_panel.views.show_view("Compare")
    view = window.answer_panel.views.view("Compare")
    assert isinstance(view, CompareView)
    assert not view.kinds.isEnabled()
    view.duplicate.click()
    QApplication.processEvents()
    assert view.kinds.isEnabled()
