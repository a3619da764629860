"""Timeline: the course of a step, an edit while it is looked at, and a cursor that moves."""

from __future__ import annotations

import itertools
import tempfile
import time
from pathlib import Path

from rich.table import Table

from benchmarks.edit import open_window, settle
from benchmarks.fit import EDITS, SCENARIO, time_edits
from benchmarks.timing import WARM_UPS, Timing, table, time_calls
from memplan import Scenario, estimate, replaced
from memplan_gui.timeline_view import TimelineView

RUNS, MOVES = 100, 100


def measure() -> Table:
    """The core's course, then the view's paints."""
    lengths = itertools.count(1024, 8)
    alone = time_calls("estimate", lambda: estimate(_other(next(lengths))), runs=RUNS)
    course = time_calls("estimate and its course", lambda: estimate(_other(next(lengths))).course, runs=RUNS)
    with tempfile.TemporaryDirectory() as folder:
        return table(
            "Timeline", [alone, Timing(course.name, course.seconds, alone), *_view(Path(folder) / "settings.ini")]
        )


def _view(settings: Path) -> list[Timing]:
    window = open_window(settings)
    panel = window.answer_panel
    memory = time_edits(window, panel.chart, "edit → painted, Memory looked at", 0)
    panel.views.show_view("Timeline")
    settle()
    view = panel.views.view("Timeline")
    assert isinstance(view, TimelineView)
    edits = time_edits(window, view, "edit → painted, Timeline looked at", 2 * EDITS, memory)
    moves = Timing("the cursor moves", tuple(_move(view, turn) for turn in range(WARM_UPS + MOVES))[WARM_UPS:])
    window.document.undo_stack.setClean()
    window.close()
    return [memory, edits, moves]


def _move(view: TimelineView, turn: int) -> float:
    """Seconds until the cursor stands elsewhere and what is held there is painted."""
    assert view.chart is not None
    stops = view.chart.stops
    start = time.perf_counter()
    view.plot.point(stops[turn % len(stops)])
    settle()
    return time.perf_counter() - start


def _other(sequence_length: int) -> Scenario:
    return replaced(SCENARIO, "training.sequence_length", sequence_length)
