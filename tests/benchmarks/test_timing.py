"""The benchmarks measure what they say."""

from __future__ import annotations

import io
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.timing import Spent, Timing, table, time_calls, time_to_marks


def test_median_ratio_and_99th_percentile() -> None:
    bare = Timing("bare", (0.001, 0.002, 0.009))
    ours = Timing("ours", (0.004, 0.003, 0.005), beside=bare)
    assert bare.median_ms == pytest.approx(2.0)
    assert ours.ratio == pytest.approx(2.0)
    assert bare.ratio is None
    hundred = Timing("hundred", tuple(turn / 1000 for turn in range(1, 101)))
    assert hundred.slowest_percent_ms == pytest.approx(100.0)


def test_every_run_is_timed_and_none_is_shorter_than_the_call() -> None:
    timing = time_calls("sleep", lambda: time.sleep(0.002), runs=3)
    assert len(timing.seconds) == len(timing.cpu_seconds) == 3
    assert min(timing.seconds) >= 0.002
    assert max(timing.cpu_seconds) < 0.002  # who sleeps takes no processor


def test_marks_are_timed_from_the_launch(tmp_path: Path) -> None:
    code = "import sys, time; time.sleep(0.05); print('mark one 0.01', file=sys.stderr, flush=True); time.sleep(0.05); print('mark two 0.02', file=sys.stderr)"
    seen = time_to_marks([sys.executable, "-c", code], ["one", "two"], home=str(tmp_path))
    assert seen["one"].wall >= 0.05
    assert seen["two"].wall >= seen["one"].wall + 0.05
    assert (seen["one"].cpu, seen["two"].cpu) == (0.01, 0.02)


def test_a_program_that_ends_without_its_mark_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="lost my way"):
        time_to_marks([sys.executable, "-c", "import sys; sys.exit('lost my way')"], ["one"], home=str(tmp_path))


def test_a_table_is_read_in_a_terminal_of_80_characters() -> None:
    spent = [Spent(2.2616, 2.2616)] * 100
    timings = [Timing.of("a name that is long enough to take more than one line", spent)]
    console = Console(width=80, file=io.StringIO(), force_terminal=False)
    console.print(table("Long", [*timings, replace(timings[0], beside=timings[0])]))
    assert isinstance(console.file, io.StringIO)
    last = console.file.getvalue().rstrip().splitlines()
    assert any(line.split()[-6:] == ["2261.60"] * 4 + ["100", "1.00"] for line in last)
