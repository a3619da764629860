"""Who cannot see or has no mouse: every control has a name, every command a key, every chart a sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import pairwise

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QAccessible, QFont, QFontMetrics, QKeySequence, QPainter
from PySide6.QtWidgets import QApplication, QLabel, QScrollBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from memplan_gui import lever_strip
from memplan_gui.actions import COMMANDS
from memplan_gui.document import PlanDocument
from memplan_gui.evidence_view import EvidenceView
from memplan_gui.figure_table import PADDING, FigureTable
from memplan_gui.first_plan import example_plan
from memplan_gui.forms import FieldRow
from memplan_gui.page_commands import PAGE_COMMANDS
from memplan_gui.pieces import scaled
from memplan_gui.plain_table import PlainModel
from memplan_gui.presenters.make_fit import FigureRows
from memplan_gui.theme import Theme
from memplan_gui.window import PANEL_WIDTH, Window

# Every kind of scenario shows other fields.
SET_UPS = ("full", "lora", "qlora", "freeze", "inference")


def controls(window: Window) -> list[QWidget]:
    """What the keyboard can reach."""
    return [
        child
        for child in window.findChildren(QWidget)
        if child.focusPolicy() & Qt.FocusPolicy.TabFocus and not isinstance(child, QScrollBar)
    ]


def is_inner(widget: QWidget) -> bool:
    """Part of a control that has a name itself: a header of a table, the list of a choice that is closed."""
    kinds = {part.metaObject().className() for part in (widget, widget.parent()) if part is not None}
    return widget.objectName().startswith("qt_") or bool(kinds & {"QHeaderView", "QComboBoxPrivateContainer"})


@pytest.fixture
def example(open_window: Callable[..., Window]) -> Window:
    return open_window(PlanDocument(example_plan()))


@pytest.mark.parametrize("method", SET_UPS)
def test_every_control_has_a_name(example: Window, method: str) -> None:
    example.document.edit("scenarios[0].training.method", method)
    example.document.edit("scenarios[0].hardware.devices", 8)
    example.answers.finish()
    found = [widget for widget in controls(example) if not is_inner(widget)]
    assert len(found) > 40
    nameless = [
        widget for widget in found if not QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)
    ]
    assert nameless == []


def test_every_field_is_described(example: Window) -> None:
    for path, row in example.plan_panel.rows.items():
        assert row.editor.accessibleDescription(), path
        assert row.editor.toolTip(), path


def test_no_input_is_out_of_the_keyboards_reach(example: Window) -> None:
    for path, row in example.plan_panel.rows.items():
        assert row.editor.focusPolicy() & Qt.FocusPolicy.TabFocus, path


def test_tab_walks_through_the_window_from_left_to_right(example: Window, qapp: QApplication) -> None:
    example.plan_panel.focus_first()
    seen: list[QWidget] = []
    widget: QWidget | None = qapp.focusWidget() or example.plan_panel.rows["model.catalog"].editor
    for _ in range(400):
        assert widget is not None
        widget = widget.nextInFocusChain()
        if widget in seen:
            break
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisibleTo(example):
            seen.append(widget)
    panel = [at for at, widget in enumerate(seen) if example.plan_panel.isAncestorOf(widget)]
    answer = [at for at, widget in enumerate(seen) if example.answer_panel.isAncestorOf(widget)]
    assert panel
    assert answer
    order = [widget for widget in seen if example.plan_panel.isAncestorOf(widget)]
    tops = [widget.mapTo(example, widget.rect().topLeft()).y() for widget in order]
    # Reading order: the chain may begin in the middle of the panel, and steps back up once at most.
    assert sum(later < earlier - 30 for earlier, later in pairwise(tops)) <= 1


def test_every_command_has_a_key_or_is_in_a_menu_that_the_keyboard_opens(example: Window) -> None:
    for command in COMMANDS:
        if command.id == "-":
            continue
        assert "&" in command.text, command.text
        if not command.id.endswith(":") and command.id not in ("show_log", "about", *PAGE_COMMANDS):
            assert command.shortcut, command.text


def test_keys_are_used_once(example: Window) -> None:
    keys = [action.shortcut().toString() for action in example.menus.actions.values()]
    levers = [action.shortcut().toString() for action in example.menus.submenus["levers"].actions()]
    used = [key for key in (*keys, *levers) if key]
    assert len(used) == len(set(used))
    assert all(not QKeySequence(key).isEmpty() for key in used)


def test_the_letters_of_each_menu_are_used_once() -> None:
    letters: dict[str, list[str]] = {}
    for command in COMMANDS:
        if command.id != "-":
            letters.setdefault(command.menu, []).append(command.text.split("&")[1][0].lower())
    for menu, used in letters.items():
        assert len(used) == len(set(used)), (menu, sorted(used))


def test_the_chart_has_a_name_and_a_sentence(example: Window) -> None:
    plot = example.answer_panel.chart.plot
    assert plot is not None
    assert plot.accessibleName()
    assert plot.accessibleDescription().startswith("Memory over a later step: the peak is")


def test_the_verdict_and_the_levers_are_spoken(example: Window) -> None:
    panel = example.answer_panel
    assert panel.verdict.accessibleDescription().startswith(panel.verdict.text.split("\n")[0])
    for button in panel.levers.buttons:
        assert button.card is not None
        assert button.accessibleDescription() == button.card.spoken


def test_an_error_is_spoken(example: Window) -> None:
    example.files.failed.emit("x.memplan: is not a plan.")
    assert example.answer_panel.notice.accessibleName() == "Problem"
    assert example.answer_panel.notice.accessibleDescription() == "x.memplan: is not a plan."


@pytest.mark.parametrize("width", [960, 1100, 1280, 1920])
def test_headings_of_the_breakdown_are_whole_at_every_width(window: Window, width: int) -> None:
    window.resize(width, 600)
    QApplication.processEvents()
    table = window.answer_panel.details.breakdown
    header = table.horizontalHeader()
    for column in range(header.count()):
        font = table.figures.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.FontRole)
        lines = str(table.figures.headerData(column, Qt.Orientation.Horizontal)).split("\n")
        widest = max(QFontMetrics(font).horizontalAdvance(line) for line in lines)
        assert header.sectionSize(column) >= widest + PADDING, lines
    assert header.length() <= table.viewport().width()


def test_titles_of_levers_are_whole_in_an_ordinary_window(example: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, str]] = []
    draw = lever_strip._draw

    def note(painter: QPainter, font: QFont, place: QRect, text: str, *side: Qt.AlignmentFlag) -> None:
        written.append((text, QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, place.width() + 1)))
        draw(painter, font, place, text, *side)

    monkeypatch.setattr(lever_strip, "_draw", note)
    example.resize(1280, 800)
    QApplication.processEvents()
    example.grab()
    assert "Optimizer in backward" in dict(written)
    assert [shown for text, shown in written if shown != text] == []


def test_the_mark_of_the_peak_stands_with_a_word(example: Window) -> None:
    """Where headings take two lines, one of a single word must not leave its mark alone on the second."""
    figures = example.answer_panel.details.breakdown.figures
    assert figures.table is not None
    peak = figures.table.peak
    for title, broken in (("Backward", "▸ Backward"), ("Optimizer step", "Optimizer\n▸ step")):
        instants = tuple(title if at == peak else one for at, one in enumerate(figures.table.instants))
        figures.show(dataclasses.replace(figures.table, instants=instants))
        assert figures.heading(peak, narrow=True) == broken


@pytest.mark.parametrize("mode", ["Nearest", "Set-ups", "Families", "Sources"])
def test_no_word_of_a_heading_of_the_evidence_is_broken(example: Window, mode: str) -> None:
    example.answer_panel.views.show_view("Evidence")
    view = example.answer_panel.views.view("Evidence")
    assert isinstance(view, EvidenceView)
    next(button for button in view.modes.findChildren(QToolButton) if button.text() == mode).click()
    for position in range(view.cases.columnCount()):
        assert view.table.columnWidth(position) >= view.table.least_width(position)


def test_headings_stand_where_their_cells_do(theme: Theme, qtbot: QtBot) -> None:
    theme.dress()
    model = PlainModel(("HHHH", "HHHH"), theme)
    table = FigureTable("Words and figures", model, theme)
    qtbot.addWidget(table)
    model.show(lambda: FigureRows((("HHHH", "HHHH"),), frozenset({1})))
    table.resize(400, 200)
    table.show()
    QApplication.processEvents()
    header, cells = inked(table.horizontalHeader()), inked(table.viewport())
    assert abs(header[0] - cells[0]) <= 1
    assert abs(header[1] - cells[1]) <= 1


def inked(widget: QWidget, rows: int = 20) -> tuple[int, int]:
    """The first and the last column of pixels in which letters stand."""
    picture = widget.grab().toImage()
    scale, ground = picture.devicePixelRatio(), picture.pixelColor(1, 1).lightness()
    found = [
        x
        for x in range(4, picture.width() - 4)  # inside the frame of the keyboard
        if any(abs(picture.pixelColor(x, y).lightness() - ground) > 60 for y in range(3, round(rows * scale)))
    ]
    return found[0], found[-1]


def test_tab_goes_through_the_memory_view_from_above(example: Window) -> None:
    panel = example.answer_panel
    assert panel.chart.plot is not None
    wanted = [panel.chart.plot, *panel.levers.buttons, panel.details.breakdown]
    chain: list[QWidget | None] = [panel.chart.plot]
    while chain[-1] is not None and chain[-1] is not panel.details.breakdown and len(chain) < 2000:
        chain.append(chain[-1].nextInFocusChain())
    assert [widget for widget in chain if widget in wanted] == wanted


def test_larger_text_widens_the_plan_and_the_tables(qapp: QApplication, open_window: Callable[..., Window]) -> None:
    plain = qapp.font()
    large = QFont(plain)
    large.setPixelSize(26)
    qapp.setFont(large)
    try:
        window = open_window(PlanDocument(example_plan()))
        for row in window.plan_panel.findChildren(FieldRow):
            for name in row.findChildren(QLabel):
                if name.buddy() is not None and name.isVisible():
                    assert name.width() >= name.minimumSizeHint().width(), name.text()
                    assert name.height() >= name.heightForWidth(name.width()), name.text()
        assert window.plan_panel.width() <= 1.5 * PANEL_WIDTH
        assert scaled(100) == 200
    finally:
        qapp.setFont(plain)
