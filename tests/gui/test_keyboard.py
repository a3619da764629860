"""Without a mouse: Tab reaches every control in the order in which it is seen, and one always sees where one is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage, QKeySequence
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from memplan_gui.compare_view import CompareChart
from memplan_gui.document import PlanDocument
from memplan_gui.first_plan import example_plan
from memplan_gui.front_picture import FrontPicture
from memplan_gui.make_fit_view import MakeFitView
from memplan_gui.map_chart import MapPlot
from memplan_gui.segmented import Segmented
from memplan_gui.settings import Settings
from memplan_gui.shared_splitter import LEAST_LOWER_HEIGHT
from memplan_gui.theme import Theme
from memplan_gui.timeline_plot import TimelinePlot
from memplan_gui.window import Window
from tests.gui.looking import look_at

VIEWS = ("Memory", "Timeline", "Fit", "Make it fit", "Map", "Compare", "Diagnose", "Evidence")
MODES = ("Timeline: Table", "Map: Table", "Compare: Change by change", "Evidence: Set-ups")
CONTROLS = (QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit, QAbstractItemView, QTabBar)
CHARTS = (TimelinePlot, MapPlot, CompareChart, FrontPicture)
LEAST_CONTRAST = 3.0
LEAST_PIXELS = 40
"""Of a sign that the keyboard is here: less is no frame."""


@pytest.fixture
def example(open_window: Callable[..., Window]) -> Window:
    return open_window(PlanDocument(example_plan()))


def focused() -> QWidget:
    """What has the keyboard."""
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


def walk(qtbot: QtBot, start: QWidget, key: Qt.Key) -> list[QWidget]:
    """Everything that the keyboard comes to with a key, until it is back where it began."""
    seen = [start]
    for _ in range(200):
        qtbot.keyClick(focused(), key)
        if focused() is start:
            return seen
        assert focused() not in seen, f"the keyboard goes around without {told(start)}, at {told(focused())}"
        seen.append(focused())
    raise AssertionError("the keyboard never comes back")


def told(widget: QWidget) -> str:
    """How a failed test names a widget."""
    text = widget.text() if isinstance(widget, QAbstractButton) else ""
    return f"{widget.metaObject().className()} {widget.accessibleName() or text!r}"


def is_part(widget: QWidget) -> bool:
    """Whether a control is a part of another that the keyboard works: what clears a field, scrolls or closes tabs."""
    owner = widget.parentWidget()
    return isinstance(widget, QHeaderView) or isinstance(owner, QLineEdit | QTabBar)


def reachable_by_mouse(window: Window) -> list[QWidget]:
    """Everything on screen that a mouse can work."""
    return [
        widget
        for kind in (*CONTROLS, *CHARTS)
        for widget in window.findChildren(kind)
        if widget.isVisibleTo(window) and widget.isEnabled() and not widget.isWindow() and not is_part(widget)
    ]


def test_tab_reaches_all_that_a_mouse_does_as_one_reads_and_back_the_same_way(example: Window, qtbot: QtBot) -> None:
    for title in (*VIEWS, *MODES):
        look_at(example, title)
        example.plan_panel.focus_first()
        start = focused()
        forth, back = walk(qtbot, start, Qt.Key.Key_Tab), walk(qtbot, start, Qt.Key.Key_Backtab)
        assert forth[1:] == back[:0:-1], title
        for widget in reachable_by_mouse(example):
            group = widget.parentWidget()
            if isinstance(group, Segmented):  # one stop; arrow keys go from choice to choice
                assert sum(one.parentWidget() is group for one in forth) == 1, f"{title}: {told(widget)}"
            else:
                assert widget in forth, f"{title}: {told(widget)}"
        view = example.answer_panel.views.currentWidget()
        goes_as_one_reads(view, [widget for widget in forth if view.isAncestorOf(widget)], title)


def goes_as_one_reads(view: QWidget, stops: list[QWidget], title: str) -> None:
    """Each stop is below the one before, or beside it."""
    assert len(stops) >= 2
    places = [widget.mapTo(view, QPoint(0, 0)) for widget in stops]
    for one, other, before, after in zip(stops, stops[1:], places, places[1:], strict=False):
        is_below = after.y() >= before.y() + one.height() - 4
        is_beside = after.x() >= before.x() + one.width() - 4 and abs(after.y() - before.y()) < 200
        assert is_below or is_beside, f"{title}: {told(other)} comes after {told(one)}"


def luminance(image: QImage) -> np.ndarray:
    """WCAG's relative luminance of every pixel."""
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    blue_green_red = rows[:, : image.width() * 4].reshape(image.height(), image.width(), 4)[..., :3] / 255
    linear = np.where(blue_green_red <= 0.04045, blue_green_red / 12.92, ((blue_green_red + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.0722, 0.7152, 0.2126]))


def focus_pixels(window: QWidget, widget: QWidget) -> int:
    """How many pixels change by 3:1 or more when a control gets the keyboard."""
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    QApplication.processEvents()
    here = luminance(window.grab().toImage())
    widget.clearFocus()
    QApplication.processEvents()
    away = luminance(window.grab().toImage())
    contrast = (np.maximum(here, away) + 0.05) / (np.minimum(here, away) + 0.05)
    return int((contrast >= LEAST_CONTRAST).sum())


def is_in_sight(widget: QWidget) -> bool:
    """Whether some of it is on screen, not scrolled away."""
    inner = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
    seen = inner.visibleRegion().boundingRect()
    return seen.height() >= min(inner.height(), 24) and seen.width() >= min(inner.width(), 24)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_one_sees_where_the_keyboard_is(qapp: QApplication, qtbot: QtBot, settings: Settings, scheme: str) -> None:
    theme = Theme(qapp, "dark" if scheme == "dark" else "light")
    window = Window(theme, settings)
    qtbot.addWidget(window, before_close_func=lambda opened: opened.document.undo_stack.setClean())
    window.show()
    window.fill(PlanDocument(example_plan()))
    window.load_chart()
    window.answers.finish()
    unseen, known = [], set()
    for title in (*VIEWS, *MODES):
        window.resize(1280, 640)  # so low that something must scroll
        look_at(window, title)
        window.plan_panel.focus_first()
        for widget in walk(qtbot, focused(), Qt.Key.Key_Tab):
            if widget not in known:
                known.add(widget)
                widget.setFocus(Qt.FocusReason.TabFocusReason)
                if not is_in_sight(widget):
                    unseen.append(f"{title}: {told(widget)} is out of sight")
                if focus_pixels(window, widget) < LEAST_PIXELS:
                    unseen.append(f"{title}: {told(widget)} shows no frame")
    theme.deleteLater()
    qapp.setStyleSheet("")
    assert not unseen, "\n".join(unseen)
    assert len(known) > 60


def test_a_control_without_a_frame_is_found(qtbot: QtBot) -> None:
    class Bare(QAbstractButton):
        def paintEvent(self, event: object) -> None:
            """Nothing tells that the keyboard is here."""

    owner = QWidget()
    qtbot.addWidget(owner)
    bare, framed = Bare(owner), QLineEdit(owner)
    bare.setGeometry(0, 0, 80, 30)
    framed.setGeometry(0, 40, 80, 30)
    owner.setStyleSheet("QLineEdit { border: 2px solid white } QLineEdit:focus { border: 2px solid black }")
    owner.show()
    assert focus_pixels(owner, bare) < LEAST_PIXELS <= focus_pixels(owner, framed)


def test_arrow_keys_move_in_every_chart(example: Window, qtbot: QtBot) -> None:
    panel = example.answer_panel
    plot = panel.chart.plot
    assert plot is not None
    plot.setFocus()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Return):
        qtbot.keyClick(plot, key)
    assert panel.spot is not None
    look_at(example, "Timeline")
    timeline = panel.views.findChildren(TimelinePlot)[0]
    before = timeline.moment
    qtbot.keyClick(timeline, Qt.Key.Key_Left)
    assert timeline.moment != before
    look_at(example, "Map")
    heat = panel.views.findChildren(MapPlot)[0]
    qtbot.keyClick(heat, Qt.Key.Key_Right)
    before_place = heat.cursor_place
    qtbot.keyClick(heat, Qt.Key.Key_Right)
    assert heat.cursor_place != before_place
    look_at(example, "Compare")
    bars = panel.views.findChildren(CompareChart)[0]
    assert example.document.current == 0
    qtbot.keyClick(bars, Qt.Key.Key_Down)
    assert example.document.current == 1
    assert bars.accessibleDescription().startswith(example.document.scenario.name)
    qtbot.keyClick(bars, Qt.Key.Key_Home)
    assert example.document.current == 0
    look_at(example, "Make it fit")
    view = panel.views.view("Make it fit")
    assert isinstance(view, MakeFitView)
    way = view.way
    for key in (Qt.Key.Key_Home, Qt.Key.Key_End):
        qtbot.keyClick(view.front, key)
    assert view.way == view.proposal.front[-1] != way  # type: ignore[union-attr]  # it was searched for


def test_a_large_window_opens_with_room_for_the_figures(qtbot: QtBot, theme: Theme, settings: Settings) -> None:
    """The height is shared when the chart and the levers are there: before, nobody knows what they need."""
    window = Window(theme, settings)
    qtbot.addWidget(window)
    window.resize(1600, 1000)
    window.show()
    window.fill(PlanDocument(example_plan()))
    window.load_chart()
    window.answers.finish()
    look_at(window, "Memory")
    splitter = window.answer_panel.splitter
    opened = splitter.sizes()
    assert opened[1] > 1.5 * LEAST_LOWER_HEIGHT
    splitter.share()
    assert splitter.sizes() == opened


def test_the_line_between_chart_and_figures_is_moved_by_keys(example: Window, qtbot: QtBot) -> None:
    example.resize(1280, 900)
    look_at(example, "Memory")
    splitter = example.answer_panel.splitter
    line, by_need = splitter.handle(1), splitter.sizes()
    line.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(line, Qt.Key.Key_Up)
    one = by_need[0] - splitter.sizes()[0]
    assert one > 0
    qtbot.keyClick(line, Qt.Key.Key_PageUp)
    assert by_need[0] - splitter.sizes()[0] > 2 * one
    qtbot.keyClick(line, Qt.Key.Key_End)
    lowest = splitter.sizes()
    qtbot.keyClick(line, Qt.Key.Key_Down)
    assert splitter.sizes() == lowest  # both parts keep what they can be read at
    assert all(lowest)
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert splitter.sizes() == by_need
    example.resize(1280, 1000)
    QApplication.processEvents()
    assert splitter.sizes()[0] > by_need[0]  # shared by need again, whatever the height


def test_page_keys_go_from_scenario_to_scenario_and_numbers_from_view_to_view(example: Window, qtbot: QtBot) -> None:
    keys = {name: example.menus.actions[name].shortcut().toString() for name in ("next", "previous")}
    assert keys == {"next": "Ctrl+PgDown", "previous": "Ctrl+PgUp"}
    example.menus.actions["next"].trigger()
    assert example.document.current == 1
    example.menus.actions["previous"].trigger()
    assert example.document.current == 0
    views = example.menus.submenus["views"].actions()
    assert [action.shortcut().toString() for action in views] == [f"Alt+{at + 1}" for at in range(len(VIEWS))]


def every_menu(window: Window) -> list[QMenu]:
    """Every menu of the window that is not empty."""
    return [menu for menu in window.findChildren(QMenu) if menu.actions()]


def letter(text: str) -> str:
    """The letter that Alt, or the open menu, answers to."""
    plain = text.replace("&&", "")
    return plain.split("&")[1][:1].lower() if "&" in plain else ""


def test_letters_are_used_once_in_every_menu(example: Window, qtbot: QtBot) -> None:
    look_at(example, "Fit")
    titles = [letter(action.text()) for action in example.menuBar().actions()]
    assert all(titles)
    assert len(titles) == len(set(titles))
    menus = every_menu(example)
    assert len(menus) >= 9
    for menu in menus:
        letters = [found for action in menu.actions() if (found := letter(action.text()))]
        assert len(letters) == len(set(letters)), (menu.title(), letters)


def test_keys_are_used_once_in_the_whole_window(example: Window) -> None:
    for title in (*VIEWS, *MODES):
        look_at(example, title)
    keys: dict[str, str] = {}
    for menu in every_menu(example):
        for action in menu.actions():
            for key in action.shortcuts():
                text = key.toString(QKeySequence.SequenceFormat.PortableText)
                assert keys.setdefault(text, action.text()) == action.text(), text
    assert len(keys) > 35


@pytest.mark.qt_log_ignore(
    "This plugin does not support", extend=True
)  # the offscreen platform has no keyboard to grab
def test_menus_are_worked_by_keys_alone(example: Window, qtbot: QtBot) -> None:
    bar = example.menuBar()
    for action in bar.actions():
        menu = action.menu()
        assert isinstance(menu, QMenu)
        bar.setActiveAction(action)
        QApplication.processEvents()
        qtbot.waitUntil(menu.isVisible)
        wanted = [one for one in menu.actions() if one.isEnabled() and not one.isSeparator()]
        seen = []
        for _ in range(2 * len(wanted)):
            qtbot.keyClick(menu, Qt.Key.Key_Down)
            if menu.activeAction() is not None and menu.activeAction() not in seen:
                seen.append(menu.activeAction())
        assert {one.text() for one in seen} == {one.text() for one in wanted}
        qtbot.keyClick(menu, Qt.Key.Key_Escape)
        assert not menu.isVisible()
