"""One estimate, for a small model and a large one: what every edit in the window costs at least."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from rich.table import Table

import memplan
from benchmarks.timing import WARM_UPS, Timing, table, time_calls

RUNS = 300
SMALL, LARGE = "meta-llama/Llama-3.2-1B", "meta-llama/Llama-3.1-70B"


def edits(model: str) -> Callable[[], object]:
    """A call that estimates a scenario which differs each time, as after an edit, so that no cache answers it."""
    scenarios = iter(
        [
            memplan.Scenario.model_validate({"model": {"catalog": model}, "training": {"sequence_length": length}})
            for length in itertools.islice(itertools.count(1024, 8), RUNS + WARM_UPS)
        ]
    )
    return lambda: memplan.estimate(next(scenarios))


def measure() -> Table:
    """Times the estimate of a 1B and of a 70B model."""
    small = time_calls(SMALL, edits(SMALL), runs=RUNS)
    large = time_calls(LARGE, edits(LARGE), runs=RUNS)
    return table("One estimate", [small, Timing(large.name, large.seconds, beside=small)])
