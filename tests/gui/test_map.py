"""The map of batch and sequence: what it says, where the cursor goes, and that a place is taken as one step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from memplan import Plan, Scenario, estimate, largest_micro_batch, memory_map, replaced, verdict_sentence
from memplan_gui.background import Background
from memplan_gui.charts.look import ChartLook, Side, TextKind, chart_fonts
from memplan_gui.charts.map_lines import frontier_line, last_line, line_of, need_lines
from memplan_gui.charts.map_marks import MapMarks, _pieces, area_of, heat, paint_map
from memplan_gui.document import PlanDocument
from memplan_gui.map_view import MapView
from memplan_gui.presenters import memory_map as words
from memplan_gui.presenters.cells import EXACT
from memplan_gui.presenters.memory_map import MapChart
from memplan_gui.theme import Theme
from memplan_gui.window import Window

TRAINING = {"method": "lora", "checkpointing": "full", "micro_batch": 2, "sequence_length": 1024}
LORA = Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.1-8B"}, "training": TRAINING})
FULL_70B = Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.1-70B"}})
GPT2 = Scenario.model_validate({"model": {"catalog": "openai-community/gpt2"}})


def chart_of(scenario: Scenario, limit: int = 64) -> MapChart:
    found = memory_map(scenario, words.batch_axis(limit), words.sequence_axis(scenario.training.sequence_length))
    return words.map_chart(found, scenario, "gib")


def test_the_sentence_gives_batches_that_are_the_largest() -> None:
    chart = chart_of(LORA)
    fits = largest_micro_batch(replaced(LORA, "training.sequence_length", 4096)).fits
    assert f" {fits} × 4k" in words.map_sentence(chart)
    assert words.map_sentence(chart).startswith("The most that fits A100 SXM4 80 GB: ")


def test_where_nothing_fits_the_sentence_says_so() -> None:
    assert words.map_sentence(chart_of(FULL_70B)).endswith("not even one sequence of 256 tokens fits.")


def test_a_map_ends_where_the_model_has_no_more_positions() -> None:
    chart = chart_of(GPT2)
    assert chart.found.sequences[-1] == 1024
    assert chart.found.need_bytes.shape[1] == len(chart.found.sequences)
    assert words.map_sentence(chart).endswith("The model has no more than 1k learned positions.")


def test_the_table_has_the_map_at_powers_of_two() -> None:
    chart = chart_of(LORA)
    table = words.map_table(chart)
    assert [row[0] for row in table.rows] == ["256", "512", "1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k"]
    assert table.titles[2:] == ("1 ×", "2 ×", "4 ×", "8 ×", "16 ×", "32 ×", "64 ×")
    one = table.rows[2][3]  # 2 sequences of 1k tokens
    assert one == f"{estimate(LORA).need_bytes / 2**30:.1f} ✓"
    assert table.rows[-1][-1].endswith(" ✕")
    assert {len(row) for row in table.rows} == {len(table.titles)}
    exact = words.map_cells(chart, EXACT)
    assert exact.rows[2][3] == str(estimate(LORA).need_bytes)


@pytest.mark.parametrize(("own", "limit"), [(1, 16), (16, 16), (17, 64), (2000, 1024)])
def test_the_first_limit_holds_the_plans_own_batch(own: int, limit: int) -> None:
    assert words.limit_for(own, (1, 1)) == limit


def test_lines_of_equal_need_lie_where_the_need_is_that_much() -> None:
    found = chart_of(LORA).found
    lines = dict(need_lines(found, "gib"))
    assert 32 * 2**30 in lines
    for amount, line in lines.items():
        for sequence, batch in line[1:-1]:
            column = found.sequences.index(round(sequence))
            cells = found.need_bytes[:, column]
            below, above = cells[int(np.floor(batch)) - 1 if batch < 16 else 0], cells[-1]
            assert below <= amount <= above


def test_a_line_that_is_nowhere_has_no_points() -> None:
    found = chart_of(LORA).found
    assert line_of(found, found.need_bytes, 1) == []
    assert line_of(found, found.need_bytes, 2**62) == []


def test_the_frontier_runs_between_what_fits_and_what_does_not() -> None:
    found = chart_of(LORA).found
    frontier, last = dict(frontier_line(found)), dict(last_line(found))
    edge = max(sequence for sequence in frontier)
    assert max(last) > edge
    beyond = next(column for column, sequence in enumerate(found.sequences) if sequence > edge)
    assert (found.verdicts[:, beyond] > 0).all()
    assert found.verdicts[0, beyond - 1] == 0
    assert frontier_line(chart_of(FULL_70B).found) == last_line(chart_of(FULL_70B).found) == []


def test_every_place_is_found_again_where_it_is_painted(theme: Theme) -> None:
    chart = chart_of(LORA)
    marks = MapMarks(chart, area_of(800, 500, look_of(theme)), look_of(theme))
    for row, batch in enumerate(chart.found.batches):
        for column, sequence in list(enumerate(chart.found.sequences))[::7]:
            at = marks.place(batch, sequence)
            assert at is not None
            assert marks.cell_at(at + QPointF(0.0, 0.001)) == (row, column)
    assert marks.cell_at(QPointF(1, 1)) is None
    assert marks.place(65, 1024) is None


def test_what_fits_is_blue_and_what_does_not_is_vermilion(theme: Theme) -> None:
    marks = MapMarks(chart_of(LORA), area_of(800, 500, look_of(theme)), look_of(theme))
    image = heat(marks)
    fits, over = QColor(image.pixel(2, image.height() - 3)), QColor(image.pixel(image.width() - 3, 2))
    assert fits.blue() > fits.red() + 40
    assert over.red() > over.blue() + 40


def look_of(theme: Theme) -> ChartLook:
    return ChartLook(theme.roles, theme.font("body"), theme.font("body", bold=True), theme.font("caption"))


@pytest.fixture
def window(open_window: Callable[..., Window]) -> Window:
    return open_window(PlanDocument(Plan(title="one", scenarios=(LORA,))))


@pytest.fixture
def view(window: Window) -> MapView:
    window.answer_panel.views.show_view("Map")
    shown = window.answer_panel.views.view("Map")
    assert isinstance(shown, MapView)
    shown.finish()
    QApplication.processEvents()
    return shown


def test_arrow_keys_walk_from_the_plans_own_place_and_say_the_estimate(view: MapView, qtbot: QtBot) -> None:
    qtbot.keyClick(view.plot, Qt.Key.Key_Right)
    assert view.plot.cursor_place == (2, 1024)
    qtbot.keyClick(view.plot, Qt.Key.Key_Up)
    qtbot.keyClick(view.plot, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert view.plot.cursor_place == (3, 2048)
    right = estimate(words.with_place(LORA, 3, 2048))
    assert view.words.text() == f"3 × 2,048 tokens. {verdict_sentence(right)}."
    assert view.plot.accessibleDescription() == view.words.text()
    qtbot.keyClick(view.plot, Qt.Key.Key_Escape)
    assert view.plot.cursor_place is None
    assert "arrow keys" in view.words.text()


def test_enter_takes_the_place_into_the_plan_as_one_step(window: Window, view: MapView, qtbot: QtBot) -> None:
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Left, Qt.Key.Key_Return):
        qtbot.keyClick(view.plot, key)
    training = window.document.scenario.training
    assert (training.micro_batch, training.sequence_length) == (3, 992)
    window.document.undo_stack.undo()
    training = window.document.scenario.training
    assert (training.micro_batch, training.sequence_length) == (2, 1024)
    assert not window.document.modified


def test_a_click_takes_the_place_under_the_mouse(window: Window, view: MapView, qtbot: QtBot) -> None:
    marks = view.plot._marks()
    assert marks is not None
    area = marks.area
    qtbot.mouseClick(view.plot, Qt.MouseButton.LeftButton, pos=QPoint(round(area.left()) + 2, round(area.bottom()) - 3))
    training = window.document.scenario.training
    assert (training.micro_batch, training.sequence_length) == (1, 256)


def test_an_edit_of_anything_else_makes_another_map_and_its_own_place_does_not(window: Window, view: MapView) -> None:
    before = view.chart
    assert before is not None
    window.document.edit(window.document.full_path("training.micro_batch"), 4)
    view.finish()
    assert view.chart is not None
    assert view.chart.found is before.found
    assert view.chart.batch == 4
    window.document.edit(window.document.full_path("training.checkpointing"), "none")
    view.finish()
    assert view.chart.found.need_bytes[-1, -1] > before.found.need_bytes[-1, -1]


def test_another_limit_shows_more_batches(view: MapView) -> None:
    view.limits.set_value("1024")
    view.limits.chosen.emit("1024")
    view.finish()
    assert view.chart is not None
    assert view.chart.found.batches[-1] == 1024
    assert view.limits.value() == "1024"


def test_the_table_is_the_charts_twin_and_can_be_copied(view: MapView) -> None:
    view.kinds.set_value("table")
    view.kinds.chosen.emit("table")
    assert view.table.isVisible()
    assert view.words.text().endswith("✓ fits, ~ tight, ✕ does not fit.")
    view.copy.click()
    assert QApplication.clipboard().text().startswith("Tokens\tMost that fit\t1 ×")


def test_a_scenario_without_an_estimate_has_no_map(window: Window, view: MapView) -> None:
    window.document.edit(window.document.full_path("model"), {"catalog": "nobody/nothing"})
    view.finish()
    assert view.chart is None
    assert "nobody/nothing" in view.sentence.text()


def test_only_the_latest_request_is_answered(qapp: QApplication) -> None:
    background, taken = Background(qapp), []
    for number in range(5):
        background.ask(lambda number=number: number, taken.append)  # type: ignore[misc]  # a default, so that each call has its own
    background.finish()
    assert taken == [4]
    background.ask(lambda: 1 // 0, taken.append)
    background.finish()
    assert isinstance(taken[-1], ZeroDivisionError)
    background.deleteLater()


def test_the_map_is_what_is_copied_and_exported_while_it_is_looked_at(
    window: Window, view: MapView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.menus.actions["copy_picture"].trigger()
    assert QApplication.clipboard().image().size().toTuple() == (1920, 1280)
    target = tmp_path / "map.svg"
    monkeypatch.setattr("memplan_gui.dialogs.ask_save_as_kind", lambda *_: (target, ""))
    window.menus.actions["export_chart"].trigger()
    text = target.read_text(encoding="utf-8")
    assert "Sequence length, tokens" in text
    assert "The most that fits A100 SXM4 80 GB" in text
    window.answer_panel.views.show_view("Memory")
    window.menus.actions["copy_picture"].trigger()
    assert QApplication.clipboard().image().size().toTuple() == (1920, 960)


@pytest.mark.parametrize("scenario", [LORA, replaced(LORA, "training.method", "full")])
@pytest.mark.parametrize("size", [(560, 280), (800, 500), (1400, 800)])
def test_no_words_stand_on_a_border(
    scenario: Scenario, size: tuple[int, int], theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They hid the border that they are about, and the words about the plan's own place ran through it."""
    written: dict[str, QRectF] = {}
    write = ChartLook.write

    def noted(look: ChartLook, painter: QPainter, kind: TextKind, text: str, place: QRectF, *side: Side) -> None:
        written[text] = place
        write(look, painter, kind, text, place, *side)

    monkeypatch.setattr(ChartLook, "write", noted)
    chart = chart_of(scenario)
    marks = MapMarks(chart, area_of(*size, look_of(theme)), look_of(theme))
    image = QImage(*size, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    paint_map(painter, marks)
    painter.end()
    inside = {text: place for text, place in written.items() if marks.area.contains(place)}
    assert any(text.startswith("this plan: ") for text in inside)
    assert any(text.startswith(("fits below", "tight below")) for text in inside)
    borders = [piece for line in (frontier_line, last_line) for piece in _pieces(marks, line(chart.found))]
    assert borders
    assert [text for text, place in inside.items() if any(place.intersects(piece) for piece in borders)] == []


def test_a_small_map_of_large_words_hides_neither_ring_nor_border(theme: Theme, qapp: QApplication) -> None:
    """At twice the text size the name of the plan's own place stood on that place."""
    fonts = chart_fonts(qapp.font().family(), 26)
    look = ChartLook(theme.roles, *fonts)
    marks = MapMarks(chart_of(replaced(LORA, "training.method", "full")), area_of(640, 280, look), look)
    image = QImage(640, 280, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    paint_map(painter, marks)
    painter.end()
    at = marks.place(marks.chart.batch, marks.chart.sequence)
    assert at is not None
    assert image.pixelColor(at.toPoint()) == look.colour("text")  # the dot in the ring
