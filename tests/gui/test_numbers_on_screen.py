"""Every number on screen is written as the system writes numbers: no sentence, cell, tick or name keeps the plain form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QBuffer, QIODevice, QPoint, Qt
from PySide6.QtGui import QAction, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTabWidget,
    QWidget,
)

from memplan import (
    PLAIN_NUMBERS,
    NumberStyle,
    Plan,
    Scenario,
    catalog,
    facts_at,
    load_plan,
    resource,
    set_screen_numbers,
)
from memplan_gui.charts.stack_marks import Spot
from memplan_gui.document import PlanDocument
from memplan_gui.first_plan import example_plan
from memplan_gui.plan_fields import all_fields
from memplan_gui.presenters.explanation import hover_words
from memplan_gui.presenters.verdict import band_words
from memplan_gui.window import Window

MARKED = NumberStyle("¤", "¬")
"""Marks that nobody has: what still has a point or a comma did not ask for the style."""
PLAIN = re.compile(
    r"\d\.\d+ ?(?:[KMGT]i?B|%|ms|×|bytes|tokens|times|GiB|free|over|[kMBT])(?!\w)|\d,\d{3}(?!\d)|^[<+−-]?\d+\.\d+( [~✓✕])?$",
    re.MULTILINE,
)
VIEWS = {
    "Memory": (),
    "Timeline": ("Table",),
    "Fit": (),
    "Make it fit": (),
    "Map": ("Table",),
    "Compare": ("Change by change",),
    "Diagnose": (),
    "Evidence": ("Set-ups", "Families", "Sources"),
}
MESSAGE = "CUDA out of memory. Tried to allocate 7 GiB. GPU 0 has a total capacity of 80 GiB of which 3 GiB is free."
BY_SIZE = {
    "name": "split",
    "model": {"parameters": 7_000_000_000, "layers": 32, "hidden_size": 8192, "vocab_size": 32_000},
    "training": {
        "micro_batch": 3,
        "sequence_length": 131_072,
        "gradient_accumulation": 1024,
        "optimizer": "adamw_8bit",
    },
    "hardware": {"devices": 1536, "tensor_parallel": 7, "pipeline_parallel": 3, "headroom": 0.125},
}
"""Whose sizes divide nothing, so that much is advised; nor are the bytes of a parameter whole."""


@pytest.fixture(autouse=True)
def _marked() -> Iterator[None]:
    set_screen_numbers(MARKED)
    yield
    set_screen_numbers(PLAIN_NUMBERS)


@pytest.fixture(scope="module")
def names() -> list[str]:
    """What stands as it was written, the longest first: names, and fixed texts, which a translation writes anew."""
    fixed = {facts_at(Scenario, path).description for path in all_fields()}
    for device in catalog.devices():
        fixed |= {device.name, device.usable_basis, *device.notes}
    fixed |= {model.name for model in catalog.models()}
    fixed |= {load_plan(path).notes for path in resource("examples").glob("*.memplan")}
    return sorted((text for text in fixed if re.search(r"\d", text)), key=len, reverse=True)


def painted(window: QWidget) -> Iterator[str]:
    """All text that is painted, charts' as well."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(window.size())
    painter = QPainter(generator)
    window.render(painter, QPoint())
    painter.end()
    for text in ElementTree.fromstring(bytes(buffer.data().data())).iter("{http://www.w3.org/2000/svg}text"):
        yield "".join(text.itertext())


def told(window: QWidget) -> Iterator[str]:
    """What widgets say of themselves: text, tooltips, names and descriptions."""
    for widget in (window, *window.findChildren(QWidget)):
        if widget is not window and not widget.isVisibleTo(window):
            continue
        yield from (widget.toolTip(), widget.accessibleName(), widget.accessibleDescription())
        if isinstance(widget, QLabel | QAbstractButton | QLineEdit):
            yield widget.text()
        if isinstance(widget, QLineEdit):
            yield widget.placeholderText()
        if isinstance(widget, QComboBox):
            yield from (widget.itemText(place) for place in range(widget.count()))
        if isinstance(widget, QAbstractItemView) and widget.model() is not None:
            yield from cells(widget)
    yield from (words for action in window.findChildren(QAction) for words in (action.text(), action.toolTip()))


def cells(view: QAbstractItemView) -> Iterator[str]:
    """A table's cells and headings, with what they say to the mouse and to a screen reader."""
    model = view.model()
    for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
        for column in range(model.columnCount()):
            yield str(model.headerData(column, Qt.Orientation.Horizontal, role) or "")
            for row in range(min(model.rowCount(), 200)):
                yield str(model.index(row, column).data(role) or "")
        for row in range(min(model.rowCount(), 200)):
            yield str(model.headerData(row, Qt.Orientation.Vertical, role) or "")


def plain_ones(texts: Iterator[str], names: list[str], plan: Plan) -> list[str]:
    """The texts that have a number in the plain form, names apart."""
    own = [plan.title, plan.notes, *(one.name for one in plan.scenarios)]
    known = sorted({*own, *names} - {""}, key=len, reverse=True)
    found = []
    for text in {re.sub(r"<[^>]+>", " ", text) for text in texts}:
        if not PLAIN.search(text):
            continue
        rest = text
        for name in known:
            rest = rest.replace(name, "")
        if PLAIN.search(rest):
            found.append(rest)
    return sorted(found)


def look_at(window: Window, title: str) -> QWidget:
    views = window.answer_panel.views
    views.show_view(title)
    view = views.view(title)
    if title == "Diagnose":
        assert view is not None
        view.findChildren(QPlainTextEdit)[0].setPlainText(MESSAGE)
    if view is not None:
        view.finish()
    for _ in range(3):
        QApplication.processEvents()
    return view or window


def press(view: QWidget, text: str) -> None:
    next(button for button in view.findChildren(QAbstractButton) if button.text() == text).click()


@pytest.fixture(params=["example", "split"])
def shown(request: pytest.FixtureRequest, open_window: Callable[..., Window]) -> Window:
    """The window on the example, and on a run about which much is said; every fold of the plan is open."""
    plan = example_plan()
    if request.param == "split":
        one = Scenario.model_validate(BY_SIZE)
        small = {**BY_SIZE, "name": "small", "training": {"micro_batch": 2}, "hardware": {}}
        plan = Plan(title="by size", scenarios=(one, Scenario.model_validate(small)))
    window = open_window(PlanDocument(plan))
    for button in window.plan_panel.findChildren(QAbstractButton):
        if button.property("role") == "fold":
            button.click()
    QApplication.processEvents()
    return window


@pytest.mark.parametrize("title", VIEWS)
def test_no_number_in_a_view_has_the_plain_form(shown: Window, names: list[str], title: str) -> None:
    plan = shown.document.plan
    view = look_at(shown, title)
    found = plain_ones(iter([*told(shown), *painted(shown)]), names, plan)
    for mode in VIEWS[title]:
        press(view, mode)
        look_at(shown, title)
        found += plain_ones(iter([*told(shown), *painted(shown)]), names, plan)
    for tabs in view.findChildren(QTabWidget) if view is not shown else ():
        for at in range(1, tabs.count()):
            tabs.setCurrentIndex(at)
            QApplication.processEvents()
            found += plain_ones(iter([*told(shown), *painted(shown)]), names, plan)
    assert not found, "\n".join(found)


def test_no_number_beside_the_mouse_has_the_plain_form(shown: Window, names: list[str]) -> None:
    panel = shown.answer_panel
    chart, estimate = panel.chart.chart, panel.chart._estimate
    assert chart is not None
    assert estimate is not None
    said = [band_words(estimate.need, "gib")]
    for row, bar in enumerate(chart.bars):
        for segment in bar.segments:
            said += hover_words(estimate, chart, row, segment.term)
            panel.explain(Spot(row, segment.term))
            said += told(panel.details.explanation)
    assert any("¤" in words for words in said)
    assert plain_ones(iter(said), names, shown.document.plan) == []


def test_a_planted_number_is_found(shown: Window, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The walk sees a label, a tooltip, an accessible name and what a chart paints."""
    from memplan_gui.charts import scale

    plan, label = shown.document.plan, QLabel("it needs 75.1 GiB", shown)
    label.setToolTip("of 131,072 tokens")
    label.setAccessibleName("12.5 %")
    label.show()
    monkeypatch.setattr(scale, "number", lambda value, spec: f"{value + 0.5:.1f}")
    shown.answer_panel.chart._restyle()
    look_at(shown, "Memory")
    found = plain_ones(iter([*told(shown), *painted(shown)]), names, plan)
    assert {"it needs 75.1 GiB", "of 131,072 tokens", "12.5 %"} <= set(found)
    assert any(re.fullmatch(r"\d+\.5( GiB)?", words) for words in found), "a tick of the axis"
