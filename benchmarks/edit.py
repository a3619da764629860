"""From an edit of the plan to the painted answer, in the window with the example plan open."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from PySide6.QtCore import QEvent, QMessageLogContext, QObject, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QWidget
from rich.table import Table

from benchmarks.timing import EXAMPLE, WARM_UPS, Spent, Timing, table
from memplan_gui.collecting import settle_memory
from memplan_gui.document import PlanDocument
from memplan_gui.settings import Settings
from memplan_gui.theme import Theme
from memplan_gui.window import Window

RUNS = 100
MEMORY = "Memory"
IDLE_SECONDS = 0.0002  # a turn of the event loop that had nothing to do takes less
IDLE_TURNS = 3
# One edit of each kind in turn: a number typed, another, and a choice that changes what is kept.
FIELDS = ("training.sequence_length", "training.micro_batch", "training.checkpointing")


class Frames(QObject):
    """Counts the frames of a window."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.count = 0
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.UpdateRequest
        return False


def tell(_: QtMsgType, __: QMessageLogContext, message: str | None) -> None:
    """Passes on what Qt says, without what the offscreen platform says each time a window's least size changes."""
    if message and "propagateSizeHints" not in message:
        print(message, file=sys.stderr)


def settle() -> Spent:
    """Runs the event loop until it is idle; returns the clocks after the last turn that had work."""
    last: Spent | None = None
    idle = 0
    while idle < IDLE_TURNS:
        start = time.perf_counter()
        QApplication.processEvents()
        end = Spent.now()
        busy = end.wall - start > IDLE_SECONDS
        last = end if busy or last is None else last
        idle = 0 if busy else idle + 1
    assert last is not None
    return last


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
    if field.endswith("rank"):
        return turn
    if field.endswith("checkpointing"):
        return "none" if turn % 2 else "full"
    return 2 + turn if field.endswith("micro_batch") else 1024 + 8 * turn


def answer_edit(window: Window, frames: Frames, field: str, turn: int) -> Spent:
    """What one edit spent until verdict and view are painted."""
    before = frames.count
    start = Spent.now()
    taken = window.document.edit(window.document.full_path(field), value_of(field, turn))
    QApplication.sendPostedEvents()  # layout and paint wait there; what may follow later waits for timers
    answered = Spent.now().since(start)
    if not taken or frames.count == before:
        raise RuntimeError(f"An edit of {field} was not painted.")
    return answered


def time_edit(window: Window, frames: Frames, field: str, turn: int) -> tuple[Spent, Spent]:
    """What one edit spent until verdict and view are painted, and until everything is."""
    start = Spent.now()
    answered = answer_edit(window, frames, field, turn)
    return answered, settle().since(start)


def time_edits(window: Window, view: str, turns: Iterator[int], runs: int = RUNS) -> list[tuple[Spent, Spent]]:
    """Edits with a view in front, after a few that warm the caches; `turns` are theirs, each but once."""
    views = window.answer_panel.views
    views.show_view(view)
    settle()
    frames, taken = Frames(window), []
    for turn in islice(turns, WARM_UPS + runs):
        taken.append(time_edit(window, frames, FIELDS[turn % len(FIELDS)], turn))
    return taken[WARM_UPS:]


def time_map(window: Window, runs: int = RUNS) -> tuple[list[Spent], list[Spent]]:
    """What edits with the map in front spend until they are painted, and until the map is another."""
    views = window.answer_panel.views
    views.show_view("Map")
    view = views.view("Map")
    assert view is not None
    frames, painted, mapped = Frames(window), [], []
    for turn in range(WARM_UPS + runs):
        view.finish()
        settle()
        start = Spent.now()
        painted.append(answer_edit(window, frames, "training.lora.rank", 17 + turn))
        view.finish()
        QApplication.sendPostedEvents()
        mapped.append(Spent.now().since(start))
    settle()
    return painted[WARM_UPS:], mapped[WARM_UPS:]


def time_views(window: Window) -> list[Timing]:
    """Edits with each view in front, all of them open."""
    views, turns = window.answer_panel.views, count()
    for title in views.titles:  # each is made when it is first shown
        views.show_view(title)
        settle()
    memory = time_edits(window, MEMORY, turns, 2 * RUNS)
    beside = Timing.of(MEMORY, [answered for answered, _ in memory])
    found = [beside, Timing.of("  levers and tabs too", [painted for _, painted in memory], beside)]
    for kind, field in enumerate(FIELDS):
        of_a_kind = memory[(kind - WARM_UPS) % len(FIELDS) :: len(FIELDS)]
        found.append(Timing.of(f"  {field.removeprefix('training.')}", [one for one, _ in of_a_kind], beside))
    for title in views.titles[1:]:
        if title == "Map":
            painted, mapped = time_map(window)
            found.append(Timing.of(title, painted, beside))
            found.append(Timing.of("  another map too", mapped, beside))
        else:
            edits = time_edits(window, title, turns)
            found.append(Timing.of(title, [one for one, _ in edits], beside))
    return found


def measure() -> Table:
    """Edits the plan again and again, and waits for the paint each time."""
    with tempfile.TemporaryDirectory() as folder:
        window = open_window(Path(folder) / "settings.ini")
        timings = time_views(window)
        window.document.undo_stack.setClean()  # nothing to ask about on the way out
        window.close()
    return table("From an edit to its paint, every view open, by the view in front", timings)
