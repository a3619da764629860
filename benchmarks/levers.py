"""What each lever would do after an edit, and searches: on a device, with everything free, on all devices."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from rich.table import Table

import memplan
from benchmarks.timing import EXAMPLE, table, time_calls

RUNS, SEARCHES = 40, 7


def edited(device: str = "a100-80gb-sxm", **training: object) -> Callable[[], memplan.Scenario]:
    """A call that gives the example's first scenario with another length each time, so that no cache answers."""
    scenario = memplan.load_plan(EXAMPLE).scenarios[0]
    scenario = memplan.replaced(scenario, "hardware.device", device)
    for name, value in training.items():
        scenario = memplan.replaced(scenario, f"training.{name}", value)
    lengths = itertools.count(2048, 8)
    return lambda: memplan.replaced(scenario, "training.sequence_length", next(lengths))


def offered() -> Callable[[], object]:
    """What every lever would do for the example, its estimate at hand."""
    following = edited()

    def offer() -> object:
        scenario = following()
        return memplan.lever_offers(scenario, memplan.estimate(scenario))

    return offer


def on_all_devices() -> Callable[[], object]:
    """The least costly set for each device of the catalog."""
    following = edited()

    def search() -> object:
        steps = memplan.cheapest_on_each(following())
        for _ in steps:
            pass
        return steps

    return search


def measure() -> Table:
    """Times levers and searches."""
    plain, small, free = edited(), edited("rtx-4090", micro_batch=4), edited("rtx-4090", micro_batch=4)
    nothing_kept = memplan.Preferences(frozenset())
    levers = time_calls("estimate, then what each lever would do", offered(), runs=RUNS)
    found = [
        time_calls("search: the example, tight", lambda: memplan.make_fit(plain()), runs=SEARCHES),
        time_calls("search: batch 4 on an RTX 4090", lambda: memplan.make_fit(small()), runs=SEARCHES),
        time_calls("search: the same, nothing kept", lambda: memplan.make_fit(free(), nothing_kept), runs=SEARCHES),
        time_calls("search: all levers × all devices", on_all_devices(), runs=SEARCHES),
    ]
    return table("Levers and searches", [levers, *found])
