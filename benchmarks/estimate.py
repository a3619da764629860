"""One estimate, for small and large models, dense and of experts: what every edit in the window costs at least."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from rich.table import Table

import memplan
from benchmarks.timing import WARM_UPS, Timing, table, time_calls

RUNS = 300
MODELS = (
    "meta-llama/Llama-3.2-1B",
    "meta-llama/Llama-3.1-70B",
    "google/gemma-2-27b",
    "deepseek-ai/DeepSeek-V3",
    "moonshotai/Kimi-K2-Instruct",  # a trillion parameters
)


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
    """Times the estimate of each model, beside the first one's."""
    timings: list[Timing] = []
    for model in MODELS:
        found = time_calls(model, edits(model), runs=RUNS)
        timings.append(found if not timings else Timing(model, found.seconds, beside=timings[0]))
    return table("One estimate", timings)
