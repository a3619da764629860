"""A map of 200 batches by 200 sequences, of models that are walked in one region and in several."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace

from rich.table import Table

import memplan
from benchmarks.timing import WARM_UPS, Timing, table, time_calls

RUNS = 30
BATCHES = range(1, 201)
SEQUENCES = range(512, 512 * 201, 512)
CASES: Mapping[str, tuple[str, dict[str, str]]] = {
    "Llama-3.1-8B, full": ("meta-llama/Llama-3.1-8B", {}),
    "Llama-3.1-8B, eager attention": ("meta-llama/Llama-3.1-8B", {"attention": "eager"}),
    "gemma-2-27b: windows": ("google/gemma-2-27b", {"checkpointing": "full"}),
    "Kimi-K2: a trillion parameters": ("moonshotai/Kimi-K2-Instruct", {}),
    "Qwen3-Next-80B-A3B: chunks": ("Qwen/Qwen3-Next-80B-A3B-Instruct", {}),
    "Llama-3.1-8B, fused loss": ("meta-llama/Llama-3.1-8B", {"loss": "fused"}),
}


def maps(model: str, training: dict[str, str]) -> Callable[[], object]:
    """A call that maps a scenario which differs each time, so that no cache answers it."""
    ranks = itertools.islice(itertools.count(1), RUNS + WARM_UPS)
    lora = [{"model": {"catalog": model}, "training": {**training, "lora": {"rank": rank}}} for rank in ranks]
    scenarios = iter([memplan.Scenario.model_validate(one) for one in lora])
    return lambda: memplan.memory_map(next(scenarios), BATCHES, SEQUENCES)


def measure() -> Table:
    """Times full maps."""
    timings: list[Timing] = []
    for name, (model, training) in CASES.items():
        found = time_calls(name, maps(model, training), runs=RUNS)
        timings.append(found if not timings else replace(found, beside=timings[0]))
    return table("A map of 200 batches by 200 sequences", timings)
