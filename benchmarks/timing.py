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
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.table import Table

MARK = "mark "
WARM_UPS = 3
EXAMPLE = "resources/examples/llama-3.1-8b.memplan"


class Spent(NamedTuple):
    """Seconds that went by, and seconds of processors that the process took: other programs add to the first alone."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Spent:
        """The clocks as they stand."""
        return cls(time.perf_counter(), time.process_time())

    def since(self, start: Spent) -> Spent:
        """What was spent since then."""
        return Spent(self.wall - start.wall, self.cpu - start.cpu)


@dataclass(frozen=True)
class Timing:
    """What was timed, how long each run took, and which timing it is held against."""

    name: str
    seconds: tuple[float, ...]
    beside: Timing | None = None
    cpu_seconds: tuple[float, ...] = ()
    """What each run took of the processors; empty where that was not measured."""

    @classmethod
    def of(cls, name: str, spent: Sequence[Spent], beside: Timing | None = None) -> Timing:
        """The timing of what was spent."""
        return cls(name, tuple(one.wall for one in spent), beside, tuple(one.cpu for one in spent))

    @property
    def median_ms(self) -> float:
        """The median run, in milliseconds."""
        return statistics.median(self.seconds) * 1e3

    @property
    def slowest_percent_ms(self) -> float:
        """The 99th percentile, in milliseconds; the slowest run where there are fewer than a hundred."""
        return _slowest_percent(self.seconds) * 1e3

    @property
    def cpu_ms(self) -> tuple[float, float] | None:
        """What the median run took of the processors, and the 99th percentile, in milliseconds."""
        spent = self.cpu_seconds
        return (statistics.median(spent) * 1e3, _slowest_percent(spent) * 1e3) if spent else None

    @property
    def ratio(self) -> float | None:
        """How many times as long as what it is held against."""
        return self.median_ms / self.beside.median_ms if self.beside else None


def _slowest_percent(seconds: Sequence[float]) -> float:
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


def time_calls(name: str, call: Callable[[], object], *, runs: int) -> Timing:
    """Times a call, after a few that warm the caches."""
    for _ in range(WARM_UPS):
        call()
    spent = []
    for _ in range(runs):
        start = Spent.now()
        call()
        spent.append(Spent.now().since(start))
    return Timing.of(name, spent)


def time_to_marks(
    command: Sequence[str], marks: Sequence[str], *, home: str, timeout_s: float = 60.0
) -> dict[str, Spent]:
    """Starts a process and returns what was spent from its launch to each line `mark NAME CPU` on its standard error.

    Args:
        command: the program and its arguments.
        marks: the names to wait for.
        home: a folder for the program's settings and compiled code, so that a benchmark leaves a person's own alone.
        timeout_s: how long it may take to end after its last mark.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"MEMPLAN_MARKS": "1", "MEMPLAN_EXIT_WHEN_PAINTED": "1", "XDG_CONFIG_HOME": home}
    environment["PYTHONPYCACHEPREFIX"] = str(Path(home) / "compiled")  # compiled once, as code is that was installed
    seen: dict[str, Spent] = {}
    said: list[str] = []
    start = time.perf_counter()
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(MARK):
                name, cpu = line.removeprefix(MARK).split()
                seen[name] = Spent(time.perf_counter() - start, float(cpu))
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
) -> dict[tuple[str, str], tuple[Spent, ...]]:
    """Starts each program in turn, `runs` times over, so that a busy minute slows all of them alike.

    Args:
        programs: by name, the command and the marks to wait for.
        runs: how often each is started; one more start of each, which compiles code and warms the disk's cache, is not
            counted.

    Returns:
        What was spent to each mark, by program and mark.
    """
    spent: dict[tuple[str, str], list[Spent]] = {}
    with tempfile.TemporaryDirectory() as home:
        for turn in range(runs + 1):
            for name, (command, marks) in programs.items():
                for mark, value in time_to_marks(command, marks, home=home).items():
                    if turn and mark in marks:
                        spent.setdefault((name, mark), []).append(value)
    return {key: tuple(values) for key, values in spent.items()}


def table(title: str, timings: Sequence[Timing]) -> Table:
    """A table of medians, 99th percentiles, the same of CPU time, and ratios to a row above; 80 characters wide."""
    result = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    result.add_column("what", overflow="fold", min_width=20)
    for heading in ("median\nms", "99%\nms", "CPU\nms", "CPU\n99%", "runs", "ratio"):
        result.add_column(heading, justify="right")
    for timing in timings:
        result.add_row(
            timing.name,
            f"{timing.median_ms:.2f}",
            f"{timing.slowest_percent_ms:.2f}",
            *([f"{spent:.2f}" for spent in timing.cpu_ms] if timing.cpu_ms else ["", ""]),
            str(len(timing.seconds)),
            "" if timing.ratio is None else f"{timing.ratio:.2f}",
        )
    return result


def this_python(*arguments: str) -> list[str]:
    """A command line for the Python that runs the benchmarks."""
    return [sys.executable, *arguments]
