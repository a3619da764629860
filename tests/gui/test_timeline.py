"""The Timeline view: memory over a step, a cursor that says what is held, and the same in words and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from PySide6.QtCore import QLineF, QModelIndex, QPoint, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTableView
from pytestqt.qtbot import QtBot

from memplan import Plan, Scenario, estimate, format_bytes
from memplan_gui.charts.areas import Point, hatch_lines
from memplan_gui.charts.export import svg_bytes
from memplan_gui.charts.picture import Picture, paper
from memplan_gui.charts.timeline_marks import USABLE_GAP, above, marks_of
from memplan_gui.document import PlanDocument
from memplan_gui.figure_table import PADDING
from memplan_gui.presenters import timeline as words
from memplan_gui.presenters.cells import Amounts, as_tsv
from memplan_gui.presenters.timeline import Moment, TimelineChart, largest_tensors, timeline_chart
from memplan_gui.timeline_view import LEAST_NAME, TimelineView
from memplan_gui.window import Window

BASE = Scenario.model_validate({"name": "base", "model": {"catalog": "meta-llama/Llama-3.2-1B"}})
CHECKPOINTED = Scenario.model_validate({**BASE.model_dump(mode="json"), "training": {"checkpointing": "full"}})
ONLY_READS = Scenario.model_validate({**BASE.model_dump(mode="json"), "training": {"method": "inference"}})


def paper_picture(view: TimelineView) -> Picture:
    showing = view.showing()
    assert showing is not None
    assert showing.picture is not None
    return showing.picture(paper(), ("a plan", showing.subtitle, showing.sentence))


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("height", [120, 170, 240, 400, 900])
def test_the_usable_line_has_its_words_inside_of_the_chart(height: int) -> None:
    chart, look = chart_of(BASE), paper()
    marks = marks_of(chart, look, QRectF(0, 0, 600, height))
    words_top = marks.scale.x(chart.usable) - USABLE_GAP - look.height("caption")
    assert words_top >= marks.area.top()
    assert marks.scale.x(chart.usable) <= marks.area.top() + marks.area.height() / 2, (
        "what is held has most of the room"
    )


def chart_of(scenario: Scenario, shown: str = "both") -> TimelineChart:
    chart = timeline_chart(estimate(scenario), "gib", shown)
    assert chart is not None
    return chart


def at(chart: TimelineChart, step: int, name: str, where: str = "") -> Moment:
    for stop in chart.stops:
        moment = chart.moments[stop]
        instant = moment.point.instant
        if (instant.step, instant.name) == (step, name) and where in ("", instant.where):
            return moment
    raise AssertionError(f"there is no {where} in {name} of step {step}")


def test_parts_follow_one_another_without_gaps() -> None:
    chart = chart_of(BASE)
    one_step = ["Forward", "Loss", "Backward", "Optimizer step"]
    assert [part.title for part in chart.parts] == ["Loaded", *one_step, *one_step]
    assert [step.title for step in chart.steps] == ["First step", "Later steps"]
    for before, after in pairwise(chart.parts):
        assert before.end == pytest.approx(after.start)
    assert chart.parts[-1].end == chart.width


def test_each_step_alone_begins_with_what_is_loaded() -> None:
    for shown, step in (("first", 1), ("later", 2)):
        steps = [moment.point.instant.step for moment in chart_of(BASE, shown).moments]
        assert steps[0] == 0
        assert set(steps[1:]) == {step}


def test_the_peak_is_the_estimates() -> None:
    for scenario in (BASE, CHECKPOINTED, ONLY_READS):
        assert chart_of(scenario).fullest.total == estimate(scenario).peak.total_bytes


def test_the_sentence_says_the_peak_and_where_it_stands() -> None:
    found, sentence = estimate(BASE), chart_of(BASE).sentence
    assert format_bytes(found.peak.total_bytes) in sentence
    assert format_bytes(found.usable_bytes) in sentence
    assert format_bytes(found.instants[0].total_bytes) in sentence


def test_inference_is_one_pass_and_knows_no_steps() -> None:
    chart = chart_of(ONLY_READS)
    assert [part.title for part in chart.parts] == ["Loaded", "Prefill", "Decode"]
    assert not chart.steps
    assert "step" not in words.moment_title(chart.fullest, chart)


def test_tensors_of_layers_come_in_forward_and_go_in_backward() -> None:
    """Of sixteen layers, the fourth's forward finds four of them holding what they keep, and its backward as well."""
    found, chart = estimate(BASE), chart_of(BASE)
    for name in ("forward", "backward"):
        moment = at(chart, 2, name, "layer 4 of 16")
        counts = {row.count for term, row in largest_tensors(found, moment) if term == "activations"}
        assert counts == {4}
    counts = {row.count for term, row in largest_tensors(found, at(chart, 2, "loss")) if term == "activations"}
    assert counts == {16}


def test_no_tensor_is_larger_than_its_term() -> None:
    for scenario in (BASE, CHECKPOINTED, ONLY_READS):
        found, chart = estimate(scenario), chart_of(scenario)
        for stop in chart.stops:
            moment = chart.moments[stop]
            rows = largest_tensors(found, moment)
            assert [row.total_bytes for _, row in rows] == sorted((row.total_bytes for _, row in rows), reverse=True)
            for term, row in rows:
                assert row.total_bytes <= moment.size(term) * words.WHOLE


def test_what_is_recomputed_is_there_while_a_layer_runs_back_alone() -> None:
    found, chart = estimate(CHECKPOINTED), chart_of(CHECKPOINTED)

    def notes(moment: Moment) -> set[str]:
        return {row.note for _, row in largest_tensors(found, moment)}

    assert any(notes(at(chart, 2, "backward", "layer 4 of 16")))
    assert not any(notes(at(chart, 2, "forward", "layer 4 of 16")))
    assert not any(notes(at(chart, 2, "loss")))


def test_the_table_has_a_line_for_each_fullest_moment_and_marks_the_peak() -> None:
    chart = chart_of(BASE)
    rows = words.table_rows(chart)
    assert len(rows.cells) == len(chart.stops)
    assert rows.cells[rows.bold][3] == format_bytes(chart.fullest.total).split(" ")[0]
    cells = words.timeline_cells(chart, Amounts("gib"))
    assert {len(row) for row in cells.rows} == {len(cells.titles)} == {4 + len(chart.terms)}
    assert cells.titles[3] == "Total, GiB"


def test_a_curve_is_cut_where_it_crosses_the_usable_line() -> None:
    """From 10 under the line to 10 over it: it crosses half-way. Smaller is higher on screen."""
    assert above([(0, 60), (10, 40)], 50) == [(0, 50), (5, 50), (10, 40)]


def test_hatching_stays_inside_a_shape_with_teeth() -> None:
    """Two teeth with a gap down to the ground: no line crosses the gap."""
    teeth: list[Point] = [(0, 100), (0, 0), (40, 0), (40, 100), (60, 100), (60, 0), (100, 0), (100, 100)]
    for rising in (True, False):
        lines: list[QLineF] = hatch_lines(teeth, rising=rising, spacing=7)
        assert len(lines) > 20
        for line in lines:
            middle = line.center()
            assert 0 <= middle.y() <= 100
            assert not 40 < middle.x() < 60


@pytest.fixture
def window(open_window: Callable[..., Window]) -> Window:
    plan = Plan(title="three", scenarios=(BASE, CHECKPOINTED, ONLY_READS))
    return open_window(PlanDocument(plan))


@pytest.fixture
def view(window: Window) -> TimelineView:
    window.answer_panel.views.show_view("Timeline")
    QApplication.processEvents()
    shown = window.answer_panel.views.view("Timeline")
    assert isinstance(shown, TimelineView)
    return shown


def moment_of(view: TimelineView) -> Moment:
    assert view.plot.moment is not None
    return view.plot.moment


def test_the_cursor_stands_on_the_peak_and_says_what_is_held(view: TimelineView) -> None:
    assert view.chart is not None
    assert moment_of(view) is view.chart.fullest
    assert view.place.text() == words.moment_title(view.chart.fullest, view.chart)
    assert view.terms.rows is not None
    assert [cells[0].lower() for cells in view.terms.rows.cells] == list(moment_of(view).point.instant.bytes_by_term)
    assert view.tensors.rows is not None
    assert view.tensors.rows.cells


def test_the_mouse_moves_the_cursor(view: TimelineView, qtbot: QtBot) -> None:
    marks = view.plot.marks
    assert marks is not None
    wanted = at(marks.chart, 2, "forward", "layer 9 of 16")
    before = view.place.text()
    qtbot.mouseMove(view.plot, QPoint(round(marks.x(wanted.middle)), round(marks.area.center().y())))
    assert moment_of(view).point.instant.where == "layer 9 of 16"
    assert view.place.text() != before
    assert "layer 9 of 16" in view.plot.accessibleDescription()


def test_keys_walk_through_the_step(view: TimelineView) -> None:
    plot, chart = view.plot, view.chart
    assert chart is not None

    def press(key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> tuple[str, str]:
        QTest.keyClick(plot, key, modifier)
        instant = moment_of(view).point.instant
        return instant.name, instant.where

    assert press(Qt.Key.Key_Home) == ("loaded", "")
    assert press(Qt.Key.Key_Left) == ("loaded", "")
    assert press(Qt.Key.Key_Right) == ("forward", "embeddings")
    assert press(Qt.Key.Key_Right) == ("forward", "layer 1 of 16")
    assert press(Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)[0] == "loss"
    assert press(Qt.Key.Key_End) == ("optimizer_step", "")
    press(Qt.Key.Key_Home)
    press(Qt.Key.Key_Return)
    assert moment_of(view) is chart.fullest


def test_the_cursor_keeps_its_place_when_the_plan_changes(view: TimelineView, window: Window) -> None:
    chart = view.chart
    assert chart is not None
    view.plot.point(chart.moments.index(at(chart, 2, "backward", "layer 5 of 16")))
    document = window.document
    document.edit(document.full_path("training.micro_batch"), 4)
    QApplication.processEvents()
    assert view.chart is not chart
    assert moment_of(view).point.instant.where == "layer 5 of 16"
    assert moment_of(view).point.instant.name == "backward"


def test_a_cursor_on_the_peak_follows_it(view: TimelineView, window: Window) -> None:
    document = window.document
    document.edit(document.full_path("training.micro_batch"), 16)
    QApplication.processEvents()
    assert view.chart is not None
    assert moment_of(view) is view.chart.fullest
    assert moment_of(view).point.instant.name == "backward"


def test_the_switch_shows_one_step_or_both(view: TimelineView, window: Window) -> None:
    view.steps.set_value("first")
    view.steps.chosen.emit("first")
    assert view.chart is not None
    assert [step.title for step in view.chart.steps] == ["First step"]
    window.document.show_scenario(2)  # inference, where there is one pass alone
    QApplication.processEvents()
    assert view.steps.isHidden()


def test_the_table_twin_shows_what_the_chart_does(view: TimelineView) -> None:
    view.kinds.set_value("table")
    view.kinds.chosen.emit("table")
    assert view.chart is not None
    assert view.table.isVisible()
    assert view.figures.rows == words.table_rows(view.chart)
    assert view.figures.columnCount() == 4 + len(view.chart.terms)
    view.copy.click()
    assert QGuiApplication.clipboard().text() == as_tsv(words.timeline_cells(view.chart, Amounts("gib")))


def test_the_picture_on_paper_has_the_chart(view: TimelineView) -> None:
    picture = paper_picture(view)
    image = QImage(picture.size.toSize(), QImage.Format.Format_RGB32)
    painter = QPainter(image)
    picture.paint(painter)
    painter.end()
    colours = {image.pixelColor(x, y).name().upper() for x in range(0, 960, 7) for y in range(100, 460, 7)}
    assert {"#E69F00", "#0072B2", "#56B4E9"} <= colours  # weights, optimizer states, gradients


def test_exported_while_it_is_looked_at_its_words_are_text(view: TimelineView) -> None:
    picture = paper_picture(view)
    text = svg_bytes(picture.paint, picture.size, "a plan").decode()
    assert "Backward" in text
    assert "usable" in text


def test_without_an_estimate_it_says_so(view: TimelineView, window: Window) -> None:
    document = window.document
    document.edit(document.full_path("hardware.device"), "no-such-card")
    QApplication.processEvents()
    assert view.chart is None
    assert "nothing to draw" in view.sentence.text()
    assert not view.plot.isVisible()
    assert QRectF(view.sentence.geometry()).top() < 80


def test_every_term_is_painted_in_the_tables(open_window: Callable[..., Window]) -> None:
    # "KV cache" was looked up as "kV cache", and nothing below it was painted.
    inference = Scenario.model_validate(
        {**BASE.model_dump(mode="json"), "training": {"method": "inference", "inference": {"kv_cache": True}}}
    )
    window = open_window(PlanDocument(Plan(scenarios=(inference,))))
    window.answer_panel.views.show_view("Timeline")
    view = window.answer_panel.views.view("Timeline")
    assert isinstance(view, TimelineView)
    view.finish()
    shown = {str(index.data()) for table in view.findChildren(QTableView) for index in cells(table)}
    assert "KV cache" in shown
    view.grab()  # an error in painting fails the test


def cells(table: QTableView) -> Iterator[QModelIndex]:
    model = table.model()
    for row in range(model.rowCount()):
        for column in range(model.columnCount()):
            yield model.index(row, column)


def test_columns_of_tensors_take_the_room_there_is(window: Window, view: TimelineView) -> None:
    """In a wide window shapes are whole, and not cut beside a name with much room."""
    window.resize(1920, 1080)
    QApplication.processEvents()
    view.finish()
    table = view.tensors_table
    metrics, model = table.fontMetrics(), table.model()
    shapes = [str(model.index(row, 1).data()) for row in range(model.rowCount())]
    widest = max(metrics.horizontalAdvance(shape) for shape in shapes)
    assert any("×" in shape for shape in shapes)
    assert table.columnWidth(1) >= widest + 2 * PADDING
    assert table.columnWidth(0) >= LEAST_NAME
