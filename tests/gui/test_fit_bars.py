"""Bars of devices. What is right: nothing is painted beside the bar's room, and what is cut says that it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication

from memplan import GIB, DeviceFit, Need, catalog, device_fits
from memplan_gui.charts.fit_bar import OUTREACH, TEAR, is_torn, paint_fit_bar, torn_edge
from memplan_gui.document import new_plan
from memplan_gui.fit_table import TOLD_BELOW
from memplan_gui.fit_view import FitView
from memplan_gui.presenters import fit as fits
from memplan_gui.theme import Theme
from memplan_gui.window import Window

ROOM = QRectF(20.5, 10.5, 99, 12)
END = 100.0 * GIB


def made(usable_gib: int, need_gib: int) -> DeviceFit:
    (fit,) = device_fits(new_plan().scenarios[0], (catalog.device("h200-sxm"),))
    need = Need(need_gib * GIB - GIB, need_gib * GIB + GIB)
    return replace(fit, usable_bytes=usable_gib * GIB, need_bytes=need_gib * GIB, need=need)


def painted(fit: DeviceFit, theme: Theme) -> QImage:
    image = QImage(140, 33, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    paint_fit_bar(painter, ROOM, fit, END, theme.colour, over=(1, 8.0))
    painter.end()
    return image


def inked(image: QImage) -> tuple[int, int]:
    """The first and the last column of pixels that are not white."""
    white = QColor(Qt.GlobalColor.white)
    columns = [x for x in range(image.width()) if any(image.pixelColor(x, y) != white for y in range(image.height()))]
    return columns[0], columns[-1]


@pytest.mark.parametrize(("usable", "need"), [(40, 60), (99, 60), (300, 60), (300, 250), (80, 250)])
def test_nothing_is_painted_beside_the_room(theme: Theme, usable: int, need: int) -> None:
    first, last = inked(painted(made(usable, need), theme))
    assert first >= int(ROOM.left())
    assert last <= int(ROOM.right()) + 1


def test_a_frame_beyond_the_scale_is_torn_off_and_others_are_closed(theme: Theme) -> None:
    """H200 beside a small need: its frame was left open, which looked cut."""
    assert is_torn(made(133, 60), END)
    assert not is_torn(made(99, 60), END)
    teeth = torn_edge(ROOM.right(), ROOM.top(), ROOM.bottom())
    assert (teeth[0].y(), teeth[-1].y()) == (ROOM.top(), ROOM.bottom())
    assert {round(ROOM.right() - tooth.x(), 3) for tooth in teeth} == {0.0, TEAR}
    above = int(ROOM.top() - OUTREACH)  # the closing line of a frame stands out of it, that of a torn one does not
    torn, closed = painted(made(133, 60), theme), painted(made(99, 60), theme)
    white = QColor(Qt.GlobalColor.white)
    assert all(torn.pixelColor(x, above) == white for x in range(torn.width()))
    assert any(closed.pixelColor(x, above) != white for x in range(closed.width()))


def test_bars_have_room_at_the_usual_size_and_headings_with_their_arrow_are_whole(window: Window) -> None:
    window.answer_panel.views.show_view("Fit")
    QApplication.processEvents()
    view = window.answer_panel.views.view("Fit")
    assert isinstance(view, FitView)
    table = view.table
    header = table.horizontalHeader()
    for column in range(1, header.count()):
        table.sortByColumn(column, Qt.SortOrder.AscendingOrder)
        QApplication.processEvents()
        words = table.devices.heading(column)
        assert "↑" in words
        lines = words.split("\n")
        assert header.sectionSize(column) >= max(map(header.fontMetrics().horizontalAdvance, lines)) + 16, words
        assert header.height() >= 2 * header.fontMetrics().height()
        assert header.sectionSize(fits.NEED) >= 90


def test_several_macs_run_alone_in_the_bar_and_on_the_tab(window: Window) -> None:
    document = window.document
    document.edit_together(
        {
            "scenarios[0].model": {"catalog": "Qwen/Qwen2.5-0.5B"},
            "scenarios[0].hardware.device": "apple-m3-ultra-512gb",
            "scenarios[0].hardware.devices": 4,
        }
    )
    window.answers.finish()
    QApplication.processEvents()
    view = window.answer_panel.verdict_words
    assert view is not None
    assert (view.word, view.margin) == ("Runs alone", "cannot share a run")
    assert (view.icon, view.role) == ("verdict-does-not-fit", "does_not_fit")
    assert "Runs alone" in window.answer_panel.verdict.text


@pytest.mark.parametrize("width", [960, 1100, 1280])
def test_bars_are_in_sight_at_every_width(window: Window, width: int) -> None:
    """They stood beyond the edge of a narrow table; what is told under it gives way to them."""
    window.resize(width, 700)
    window.answer_panel.views.show_view("Fit")
    QApplication.processEvents()
    view = window.answer_panel.views.view("Fit")
    assert isinstance(view, FitView)
    table = view.table
    assert table.horizontalHeader().length() <= table.viewport().width()
    assert not table.horizontalScrollBar().isVisible()
    hidden = {column for column in range(table.model().columnCount()) if table.isColumnHidden(column)}
    assert hidden <= set(TOLD_BELOW)
    assert bool(hidden) is (width < 1280)
    table.sortByColumn(fits.TOKENS, Qt.SortOrder.DescendingOrder)
    QApplication.processEvents()
    assert not table.isColumnHidden(fits.TOKENS)
    window.resize(1280, 700)
    QApplication.processEvents()
    assert not any(table.isColumnHidden(column) for column in range(table.model().columnCount()))


def test_the_keyboard_does_not_stay_in_a_column_that_is_dropped(window: Window) -> None:
    window.answer_panel.views.show_view("Fit")
    QApplication.processEvents()
    view = window.answer_panel.views.view("Fit")
    assert isinstance(view, FitView)
    table = view.table
    table.setCurrentIndex(table.model().index(3, fits.TOKENS))
    window.resize(960, 700)
    QApplication.processEvents()
    assert table.isColumnHidden(fits.TOKENS)
    assert (table.currentIndex().row(), table.currentIndex().column()) == (3, fits.DEVICE)
    assert table.selectionModel().isRowSelected(3)
