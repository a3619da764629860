"""From an edit of the plan to the painted answer, in the window with the example plan open."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from PySide6.QtCore import QEvent, QMessageLogContext, QObject, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QWidget
from rich.table import Table

from benchmarks.timing import EXAMPLE, WARM_UPS, Timing, table
from memplan_gui.application import settle_memory
from memplan_gui.document import PlanDocument
from memplan_gui.settings import Settings
from memplan_gui.theme import Theme
from memplan_gui.window import Window

RUNS = 200
MAP_RUNS = 30
IDLE_SECONDS = 0.0002  # a turn of the event loop that had nothing to do takes less
IDLE_TURNS = 3
# One edit of each kind in turn: a number typed, another, and a choice that changes what is kept.
FIELDS = ("training.sequence_length", "training.micro_batch", "training.checkpointing")


class Paints(QObject):
    """Counts how often the widgets under one are painted."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        for child in (widget, *widget.findChildren(QWidget)):
            child.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        return False


def tell(_: QtMsgType, __: QMessageLogContext, message: str | None) -> None:
    """Passes on what Qt says, without what the offscreen platform says each time a window's least size changes."""
    if message and "propagateSizeHints" not in message:
        print(message, file=sys.stderr)


def settle() -> tuple[float, float]:
    """Runs the event loop until it is idle; returns when its first turn ended, and its last that had work."""
    first = last = 0.0
    idle = 0
    while idle < IDLE_TURNS:
        start = time.perf_counter()
        QApplication.processEvents()
        end = time.perf_counter()
        busy = end - start > IDLE_SECONDS
        first = first or end
        last = end if busy or not last else last
        idle = 0 if busy else idle + 1
    return first, last


def open_window(settings: Path) -> Window:
    """The window with the example plan, all of it painted."""
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        application = QApplication([])
    qInstallMessageHandler(tell)
    window = Window(Theme(application, "light"), Settings(settings))
    window.show()
    settle()
    window.fill(PlanDocument())
    if not window.files.open_path(Path(EXAMPLE)):
        raise RuntimeError(f"{EXAMPLE} does not open: {window.answer_panel.notice.text}")
    window.answers.finish()
    window.load_chart()
    settle()
    settle_memory()  # as the application does when it has started
    return window


def value_of(field: str, turn: int) -> object:
    """A value that the field has not had yet, or had some time ago."""
    if field.endswith("checkpointing"):
        return "none" if turn % 2 else "full"
    return 2 + turn if field.endswith("micro_batch") else 1024 + 8 * turn


def time_edit(window: Window, paints: Paints, field: str, turn: int) -> tuple[float, float]:
    """Seconds from one edit until verdict and chart are painted, and until everything is."""
    before = paints.count
    start = time.perf_counter()
    taken = window.document.edit(window.document.full_path(field), value_of(field, turn))
    answered, painted = settle()
    if not taken or paints.count == before:
        raise RuntimeError(f"An edit of {field} was not painted.")
    return answered - start, painted - start


def time_map(window: Window) -> tuple[float, ...]:
    """Seconds from edits with the map in view until it is painted anew."""
    window.answer_panel.views.show_view("Map")
    view = window.answer_panel.views.view("Map")
    assert view is not None
    view.finish()
    settle()
    taken = []
    for turn in range(WARM_UPS + MAP_RUNS):
        start = time.perf_counter()
        window.document.edit(window.document.full_path("training.lora.rank"), 17 + turn)
        view.finish()
        settle()
        taken.append(time.perf_counter() - start)
    return tuple(taken[WARM_UPS:])


def measure() -> Table:
    """Edits the plan again and again, and waits for the paint each time."""
    taken: list[tuple[str, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        window = open_window(Path(folder) / "settings.ini")
        plot = window.answer_panel.chart.plot
        assert plot is not None
        paints = Paints(plot)
        for turn in range(WARM_UPS + RUNS):
            field = FIELDS[turn % len(FIELDS)]
            times = time_edit(window, paints, field, turn)
            if turn >= WARM_UPS:
                taken.append((field, *times))
        mapped = Timing("edit → map painted, with the map in view", time_map(window))
        window.document.undo_stack.setClean()  # nothing to ask about on the way out
        window.close()
    answer = Timing("edit → verdict and chart painted", tuple(answered for _, answered, _ in taken))
    every = Timing("edit → levers and tabs too", tuple(painted for *_, painted in taken), beside=answer)
    kinds = [Timing(f"    {field}", tuple(painted for kind, _, painted in taken if kind == field)) for field in FIELDS]
    return table("An edit", [answer, every, *kinds, mapped])
