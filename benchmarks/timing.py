"""Times calls and processes, and lays the results out."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table

MARK = "mark "
WARM_UPS = 3
EXAMPLE = "resources/examples/llama-3.1-8b.memplan"


@dataclass(frozen=True)
class Timing:
    """What was timed, how long each run took, and which timing it is held against."""

    name: str
    seconds: tuple[float, ...]
    beside: Timing | None = None

    @property
    def median_ms(self) -> float:
        """The median run, in milliseconds."""
        return statistics.median(self.seconds) * 1e3

    @property
    def slowest_percent_ms(self) -> float:
        """The 99th percentile, in milliseconds; the slowest run where there are fewer than a hundred."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))] * 1e3

    @property
    def ratio(self) -> float | None:
        """How many times as long as what it is held against."""
        return self.median_ms / self.beside.median_ms if self.beside else None


def time_calls(name: str, call: Callable[[], object], *, runs: int) -> Timing:
    """Times a call, after a few that warm the caches."""
    for _ in range(WARM_UPS):
        call()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return Timing(name, tuple(seconds))


def time_to_marks(
    command: Sequence[str], marks: Sequence[str], *, home: str, timeout_s: float = 60.0
) -> dict[str, float]:
    """Starts a process and returns the seconds from its launch to each line `mark NAME` on its standard error.

    Args:
        command: the program and its arguments.
        marks: the names to wait for.
        home: a folder for the program's settings, so that a benchmark leaves a person's own alone.
        timeout_s: how long it may take to end after its last mark.
    """
    environment = dict(os.environ, MEMPLAN_MARKS="1", MEMPLAN_EXIT_WHEN_PAINTED="1", XDG_CONFIG_HOME=home)
    seen: dict[str, float] = {}
    said: list[str] = []
    start = time.perf_counter()
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(MARK):
                seen[line.removeprefix(MARK).strip()] = time.perf_counter() - start
            else:
                said.append(line)
            if all(mark in seen for mark in marks):
                break
        try:
            process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
    missing = [mark for mark in marks if mark not in seen]
    if missing:
        raise RuntimeError(f"{' '.join(command)} ended without {missing}: {''.join(said[-5:]).strip()}")
    return seen


def time_starts(
    programs: Mapping[str, tuple[Sequence[str], Sequence[str]]], *, runs: int
) -> dict[tuple[str, str], tuple[float, ...]]:
    """Starts each program in turn, `runs` times over, so that a busy minute slows all of them alike.

    Args:
        programs: by name, the command and the marks to wait for.
        runs: how often each is started; one more start of each, to warm the disk's cache, is not counted.

    Returns:
        The seconds to each mark, by program and mark.
    """
    seconds: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as home:
        for turn in range(runs + 1):
            for name, (command, marks) in programs.items():
                for mark, value in time_to_marks(command, marks, home=home).items():
                    if turn and mark in marks:
                        seconds.setdefault((name, mark), []).append(value)
    return {key: tuple(values) for key, values in seconds.items()}


def table(title: str, timings: Sequence[Timing]) -> Table:
    """A table of medians, 99th percentiles and ratios; what a timing is held against stands in a row above it."""
    result = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    result.add_column("what", overflow="fold", min_width=34)
    for heading in ("median ms", "99% ms", "runs", "ratio"):
        result.add_column(heading, justify="right")
    for timing in timings:
        result.add_row(
            timing.name,
            f"{timing.median_ms:.2f}",
            f"{timing.slowest_percent_ms:.2f}",
            str(len(timing.seconds)),
            "" if timing.ratio is None else f"{timing.ratio:.2f}",
        )
    return result


def this_python(*arguments: str) -> list[str]:
    """A command line for the Python that runs the benchmarks."""
    return [sys.executable, *arguments]
