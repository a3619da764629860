"""From the launch of the process to the first paint, and until everything is painted, beside bare windows."""

from __future__ import annotations

from rich.table import Table

from benchmarks.timing import EXAMPLE, Timing, table, this_python, time_starts

RUNS = 11
FIRST, ALL = "first_paint", "all_painted"


def measure() -> Table:
    """Starts memplan and the bare windows in turn."""
    programs = {
        "bare QtWidgets window": (this_python("-m", "benchmarks.bare_window"), (FIRST,)),
        "bare window, one pyqtgraph chart": (this_python("-m", "benchmarks.bare_window", "--chart"), (FIRST, ALL)),
        "memplan": (this_python("-m", "memplan_gui", EXAMPLE), (FIRST, ALL)),
    }
    spent = time_starts(programs, runs=RUNS)
    bare = Timing.of("bare window: first paint", spent["bare QtWidgets window", FIRST])
    chart = Timing.of("bare chart: all painted", spent["bare window, one pyqtgraph chart", ALL])
    return table(
        "Start",
        [
            bare,
            Timing.of("memplan: first paint", spent["memplan", FIRST], bare),
            chart,
            Timing.of("memplan: all painted", spent["memplan", ALL], chart),
        ],
    )
