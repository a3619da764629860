"""Timeline: the course of a step, an edit while it is looked at, and a cursor that moves."""

from __future__ import annotations

import itertools
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from rich.table import Table

from benchmarks.edit import MEMORY, RUNS, open_window, settle, time_edits
from benchmarks.fit import SCENARIO
from benchmarks.timing import WARM_UPS, Timing, table, time_calls
from memplan import Scenario, estimate, replaced
from memplan_gui.timeline_view import TimelineView

MOVES = 100


def measure() -> Table:
    """The core's course, then the view's paints."""
    lengths = itertools.count(1024, 8)
    alone = time_calls("estimate", lambda: estimate(_other(next(lengths))), runs=RUNS)
    course = time_calls("estimate and its course", lambda: estimate(_other(next(lengths))).course, runs=RUNS)
    with tempfile.TemporaryDirectory() as folder:
        return table("Timeline", [alone, replace(course, beside=alone), *_view(Path(folder) / "settings.ini")])


def _view(settings: Path) -> list[Timing]:
    window, turns = open_window(settings), itertools.count()
    panel = window.answer_panel
    memory = Timing.of("Memory in front: edit → painted", [one for one, _ in time_edits(window, MEMORY, turns)])
    painted = [one for one, _ in time_edits(window, "Timeline", turns)]
    view = panel.views.view("Timeline")
    assert isinstance(view, TimelineView)
    edits = Timing.of("Timeline in front: edit → painted", painted, memory)
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
