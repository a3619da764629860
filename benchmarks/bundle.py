"""The bundle's start beside the start from source, by the same door: `memplan PLAN`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rich.table import Table

from benchmarks.start import ALL, FIRST
from benchmarks.timing import EXAMPLE, Timing, table, this_python, time_starts

RUNS = 15
BUILT = Path("build/installers/dist/memplan/memplan")
TITLE = "Start of the bundle"


def measure() -> Table:
    """Starts both in turn; MEMPLAN_BUNDLE names another program than the one that `make installers` leaves."""
    program = Path(os.environ.get("MEMPLAN_BUNDLE", BUILT))
    if not program.exists():
        print(f"There is no bundle at {program}: `make installers` builds one.\n", file=sys.stderr)
        return table(TITLE, [])
    marks = (FIRST, ALL)
    spent = time_starts(
        {
            "source": (this_python("-m", "memplan", EXAMPLE), marks),
            "bundle": ([str(program.resolve()), EXAMPLE], marks),
        },
        runs=RUNS,
    )
    timings = []
    for mark, words in ((FIRST, "first paint"), (ALL, "all painted")):
        source = Timing.of(f"from source: {words}", spent["source", mark])
        timings += [source, Timing.of(f"bundle: {words}", spent["bundle", mark], source)]
    return table(TITLE, timings)
