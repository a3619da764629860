"""Runs the benchmarks and prints medians and ratios: `python -m benchmarks [estimate] [levers] [edit] …`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from rich.console import Console
from rich.table import Table


def measure_estimate() -> Table:
    """One estimate, small and large."""
    from benchmarks import estimate

    return estimate.measure()


def measure_map() -> Table:
    """A map of batch and sequence."""
    from benchmarks import memory_map

    return memory_map.measure()


def measure_fit() -> Table:
    """Every device held against a run, and the view of it."""
    from benchmarks import fit

    return fit.measure()


def measure_timeline() -> Table:
    """The course of a step, and the view of it."""
    from benchmarks import timeline

    return timeline.measure()


def measure_edit() -> Table:
    """From an edit to what is painted."""
    from benchmarks import edit

    return edit.measure()


def measure_levers() -> Table:
    """What each lever would do, and the search for what fits."""
    from benchmarks import levers

    return levers.measure()


def measure_diagnose() -> Table:
    """Reading out-of-memory messages, and answering them."""
    from benchmarks import diagnose

    return diagnose.measure()


def measure_start() -> Table:
    """From the start of the process to what a person sees."""
    from benchmarks import start

    return start.measure()


def measure_bundle() -> Table:
    """The bundle's start beside the start from source."""
    from benchmarks import bundle

    return bundle.measure()


BENCHMARKS: dict[str, Callable[[], Table]] = {
    "estimate": measure_estimate,
    "map": measure_map,
    "fit": measure_fit,
    "timeline": measure_timeline,
    "levers": measure_levers,
    "edit": measure_edit,
    "diagnose": measure_diagnose,
    "start": measure_start,
    "bundle": measure_bundle,
}


def main(names: list[str]) -> int:
    """Runs the named benchmarks, or all; returns the exit status."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"No benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}.", file=sys.stderr)
        return 2
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    console = Console()
    platform = os.environ.get("QT_QPA_PLATFORM", "the desktop's own")
    console.print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors, Qt platform: {platform}\n")
    for name in names or BENCHMARKS:
        console.print(BENCHMARKS[name]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
