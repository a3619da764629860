"""Columns share a table's width: headings and figures are whole at every width, words wherever there is room."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication, QTabWidget

from memplan import Plan, load_plan, resource
from memplan_gui.column_widths import shared_widths
from memplan_gui.document import PlanDocument
from memplan_gui.figure_table import PADDING, FigureTable, HasTexts
from memplan_gui.timeline_view import TimelineView
from memplan_gui.window import Window
from tests.gui.looking import look_at

ACROSS, SHOWN = Qt.Orientation.Horizontal, Qt.ItemDataRole.DisplayRole
SHARING = (
    *("Evidence: Nearest", "Evidence: Set-ups", "Evidence: Families", "Evidence: Sources"),
    *("Compare: Change by change", "Map: Table", "Make it fit"),
)


@pytest.fixture
def example(open_window: Callable[..., Window]) -> Window:
    return open_window(PlanDocument(load_plan(resource("examples", "llama-3.1-8b.memplan"))))


def tables_in_front(window: Window, title: str) -> list[FigureTable]:
    """The tables of a view, each of its tabs brought to the front once."""
    view = look_at(window, title)
    tables = []
    for tabs in view.findChildren(QTabWidget) or [None]:
        for at in range(tabs.count() if tabs else 1):
            if tabs:
                tabs.setCurrentIndex(at)
                QApplication.processEvents()
            tables += [one for one in view.findChildren(FigureTable) if one.isVisible()]
    return tables


def cut_in(table: FigureTable, *, words: bool) -> list[str]:
    """Headings and figures that are wider than their column; words too, where they are asked for."""
    model, heading_metrics, found = table.model(), table.horizontalHeader().fontMetrics(), []
    for column in range(model.columnCount()):
        heading, room = str(model.headerData(column, ACROSS) or ""), table.columnWidth(column) - 2 * PADDING
        if heading_metrics.horizontalAdvance(heading) > room:
            found.append(heading)
        side = model.headerData(column, ACROSS, Qt.ItemDataRole.TextAlignmentRole)
        if not words and not side & Qt.AlignmentFlag.AlignRight:
            continue
        for row in range(model.rowCount()):
            index = model.index(row, column)
            text, font = str(model.data(index, SHOWN) or ""), model.data(index, Qt.ItemDataRole.FontRole)
            if QFontMetrics(font).horizontalAdvance(text) > room:
                found.append(f"{heading}: {text}")
    return found


@pytest.mark.parametrize("title", SHARING)
@pytest.mark.parametrize("width", [960, 1280, 1600])
def test_headings_and_figures_are_whole(example: Window, title: str, width: int) -> None:
    example.resize(width, 800)
    tables = tables_in_front(example, title)
    assert tables
    assert [cut for table in tables for cut in cut_in(table, words=False)] == []


def test_words_are_whole_where_there_is_room(example: Window) -> None:
    """At 1280 pixels sources of the evidence and names of changes have it; what does not is in the tooltip."""
    example.resize(1280, 800)
    (changes,) = tables_in_front(example, "Compare: Change by change")
    assert cut_in(changes, words=True) == []
    (nearest,) = tables_in_front(example, "Evidence: Nearest")
    assert not [cut for cut in cut_in(nearest, words=True) if cut.startswith(("Source", "Kind"))]


def test_columns_fill_the_table(example: Window) -> None:
    example.resize(1600, 800)
    for title in SHARING:
        for table in tables_in_front(example, title):
            assert table.horizontalHeader().length() == table.viewport().width(), title


def test_a_width_given_by_hand_stays_until_columns_are_others(example: Window) -> None:
    (table,) = tables_in_front(example, "Evidence: Nearest")
    table.setColumnWidth(0, 333)
    example.document.edit("scenarios[0].training.sequence_length", 4096)
    look_at(example, "Evidence: Nearest")
    example.resize(1400, 800)
    QApplication.processEvents()
    assert table.columnWidth(0) == 333
    tables_in_front(example, "Evidence: Families")
    assert table.columnWidth(0) != 333


@pytest.mark.parametrize("title", ["Timeline: Table", "Memory"])
def test_a_heading_of_two_lines_is_not_cut_as_one(example: Window, title: str) -> None:
    """Qt cuts a text of two lines where both do not fit side by side, unless nothing is cut."""
    example.resize(960, 600)
    look_at(example, title)
    broken = [
        table
        for table in example.findChildren(FigureTable)
        if table.isVisible()
        and any("\n" in str(table.model().headerData(at, ACROSS)) for at in range(table.model().columnCount()))
    ]
    assert broken
    for table in broken:
        assert table.horizontalHeader().textElideMode() == Qt.TextElideMode.ElideNone


@pytest.mark.parametrize("room", [0, 150, 260, 320, 1000])
def test_shares_keep_what_they_promise(room: int) -> None:
    wanted, least = [120, 60, 300, 80], [90, 60, 90, 80]
    widths = shared_widths(wanted, least, [0, 2], room)
    assert all(width >= keep for width, keep in zip(widths, least, strict=True))
    assert sum(widths) == max(room, sum(least))


def test_every_place_of_a_step_is_whole_in_the_table_of_the_timeline(open_window: Callable[..., Window]) -> None:
    """ "gathering layer 10 of 80" is as long as it gets."""
    scenario = {
        "model": {"catalog": "meta-llama/Llama-3.1-70B"},
        "training": {"checkpointing": "full"},
        "hardware": {"devices": 16, "sharding": {"strategy": "fsdp2"}},
    }
    window = open_window(PlanDocument(Plan.model_validate({"memplan": 1, "scenarios": [scenario]})))
    (table,) = tables_in_front(window, "Timeline: Table")
    places = [str(table.model().index(row, 2).data()) for row in range(table.model().rowCount())]
    assert any("gathering" in place for place in places)
    metrics = table.fontMetrics()
    assert max(map(metrics.horizontalAdvance, places)) <= table.columnWidth(2) - 2 * PADDING


def test_a_table_behind_a_chart_is_not_measured(example: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    look_at(example, "Map")
    measured: list[str] = []
    column = FigureTable._column
    monkeypatch.setattr(
        FigureTable, "_column", lambda table, at: (measured.append(table.accessibleName()), column(table, at))[1]
    )
    example.document.edit("scenarios[0].training.checkpointing", "full")
    look_at(example, "Map")
    assert measured == []
    look_at(example, "Map: Table")
    assert measured


def test_a_single_long_cell_cuts_no_others(example: Window) -> None:
    """Of a case and of what is different there, as many are whole as there is room for."""
    example.resize(1280, 800)
    (nearest,) = tables_in_front(example, "Evidence: Nearest")
    cells = [cut for cut in cut_in(nearest, words=True) if cut.startswith(("Case", "Different there"))]
    assert 0 < len(cells) <= 6, cells  # nine, where both were cut to one width


@pytest.mark.parametrize(
    ("cells", "room", "widths"),
    [
        ([[90, 95, 200], [160, 170, 180]], 300, [120, 180]),  # two of three, and all of the other
        ([[200, 200, 200], [90, 250, 260]], 320, [200, 120]),
        ([[150, 300], [150, 300]], 310, [155, 155]),
    ],
)
def test_the_room_makes_as_many_cells_whole_as_it_can(cells: list[list[int]], room: int, widths: list[int]) -> None:
    assert shared_widths([max(column) for column in cells], [50, 50], [0, 1], room, cells) == widths


def test_shapes_of_tensors_are_whole_while_names_have_room(open_window: Callable[..., Window]) -> None:
    """ "2 × 4,096 × 14,336" was cut beside names with room to spare."""
    scenario = {
        "model": {"catalog": "meta-llama/Llama-3.1-8B"},
        "training": {"method": "lora", "micro_batch": 2, "sequence_length": 4096},
        "hardware": {"device": "h200-sxm"},
    }
    window = open_window(PlanDocument(Plan.model_validate({"memplan": 1, "scenarios": [scenario]})))
    view = look_at(window, "Timeline")
    assert isinstance(view, TimelineView)
    table = view.tensors_table
    shapes = [str(table.model().index(row, 1).data()) for row in range(table.model().rowCount())]
    assert any(shape.count("×") == 2 for shape in shapes)
    for width in (1280, 960, 1700):
        window.resize(width, 800)
        QApplication.processEvents()
        seen = [column for column in range(6) if not table.isColumnHidden(column)]
        assert sum(map(table.columnWidth, seen)) == table.viewport().width()
        if 1 in seen:
            assert table.columnWidth(1) >= table.wanted_width(1)


@pytest.mark.parametrize("title", [*SHARING, "Timeline"])
def test_texts_at_hand_are_those_of_the_cells(example: Window, title: str) -> None:
    """Columns are as wide as the one says, and show the other."""
    for table in tables_in_front(example, title):
        model = table.model()
        if not isinstance(model, HasTexts):
            continue
        for column in range(model.columnCount()):
            indexes = [model.index(row, column) for row in range(model.rowCount())]
            told = [(font.weight(), text) for font, text in model.texts_of(column)]
            assert told == [
                (model.data(index, Qt.ItemDataRole.FontRole).weight(), model.data(index, SHOWN)) for index in indexes
            ]
