"""One estimate, for small and large models, dense and of experts: what every edit in the window costs at least."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from rich.table import Table

import memplan
from benchmarks.timing import WARM_UPS, Timing, table, time_calls

RUNS = 300
TURNS = range(RUNS + WARM_UPS)
MODELS = (
    "meta-llama/Llama-3.2-1B",
    "meta-llama/Llama-3.1-70B",
    "google/gemma-2-27b",
    "google/gemma-4-E2B",  # eight kinds of layers that take turns
    "deepseek-ai/DeepSeek-V3",
    "moonshotai/Kimi-K2-Instruct",  # a trillion parameters
)


def edits(model: str) -> Callable[[], object]:
    """A call that estimates another sequence length each time: the step is known, its sizes are not."""
    return _each({"model": {"catalog": model}, "training": {"sequence_length": 1024 + 8 * turn}} for turn in TURNS)


def first_ones(model: str) -> Callable[[], object]:
    """A call that walks a step which is not known: the rank plays no part in a full fine-tune, but no cache says so."""
    return _each({"model": {"catalog": model}, "training": {"lora": {"rank": 1 + turn}}} for turn in TURNS)


def _each(scenarios: Iterable[dict[str, Any]]) -> Callable[[], object]:
    made = iter([memplan.Scenario.model_validate(scenario) for scenario in scenarios])
    return lambda: memplan.estimate(next(made))


def measure() -> Table:
    """Times the estimate of each model, beside the first one's."""
    timings: list[Timing] = []
    for name, kind in (("{}", edits), ("{}, the first of its kind", first_ones)):
        first: Timing | None = None
        for model in MODELS:
            found = time_calls(name.format(model), kind(model), runs=RUNS)
            timings.append(replace(found, beside=first))
            first = first or timings[-1]
    return table("One estimate", timings)
