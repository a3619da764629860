"""Estimates against runs measured on real devices. What is right: what was measured (tests/truth/measured.json)."""

from __future__ import annotations

import statistics

import pytest

from tests.core.measured_cases import (
    FALSE_ALARMS,
    FALSE_FITS,
    KNOWN_GAPS,
    measured,
)
from tests.core.truth_cases import cases

MEDIAN, WORST = 0.01, 0.04
"""The promise for exact rows: every setting that moves the peak by more than 1% is known of them."""
INSIDE_BAND = 0.85
"""How many of the measured processes stand inside the monitor's band. The aim is 90%."""
RIGHT_VERDICTS = 0.97


EXACT = [case["id"] for case in cases("measured.json") if case["exact"] and "allocated_bytes" in case["measured"]]


def error_of(name: str) -> float:
    error = measured()[name].allocated_error
    assert error is not None
    return error


def test_the_rows_are_there() -> None:
    assert len(cases("measured.json")) == 190
    assert len(measured()) == 190
    assert len(EXACT) == 76


@pytest.mark.parametrize("name", EXACT)
def test_a_known_set_up_allocates_what_was_measured(name: str) -> None:
    most, _ = KNOWN_GAPS.get(name, (WORST, ""))
    assert abs(error_of(name)) <= most


@pytest.mark.parametrize("name", KNOWN_GAPS)
def test_a_gap_that_was_closed_leaves_the_list(name: str) -> None:
    assert abs(error_of(name)) > WORST


def test_half_of_the_known_set_ups_are_within_the_promised_median() -> None:
    """Over every exact row, known gaps among them."""
    assert statistics.median(abs(error_of(name)) for name in EXACT) <= MEDIAN


def test_known_gaps_are_exact_rows() -> None:
    assert set(KNOWN_GAPS) <= set(EXACT)


def test_no_run_that_ran_out_of_memory_fits() -> None:
    ran_out = [run for run in measured().values() if run.case["verdict"] == "oom"]
    assert len(ran_out) == 9
    fits = {run.case["id"] for run in ran_out if run.names_its_device and run.estimate.verdict == "fits"}
    assert fits == set(FALSE_FITS)


def test_runs_that_went_through_are_not_refused() -> None:
    went_through = [run for run in measured().values() if run.case["verdict"] == "fits" and run.names_its_device]
    refused = {run.case["id"] for run in went_through if run.estimate.verdict == "does_not_fit"}
    assert refused == set(FALSE_ALARMS)


def test_stated_verdicts_are_right() -> None:
    """Of the verdicts that are not "tight", over every row whose card is known."""
    stated = [run for run in measured().values() if run.names_its_device and run.estimate.verdict != "tight"]
    words = {"oom": "does_not_fit", "fits": "fits"}
    wrong = [run.case["id"] for run in stated if words[run.case["verdict"]] != run.estimate.verdict]
    assert set(wrong) == set(FALSE_FITS) | set(FALSE_ALARMS)
    assert 1 - len(wrong) / len(stated) >= RIGHT_VERDICTS - len(FALSE_ALARMS) / len(stated)


def test_the_monitor_shows_what_the_band_says() -> None:
    shown = [run for run in measured().values() if "process_bytes" in run.case["measured"]]
    inside = [
        run
        for run in shown
        if run.estimate.process.low <= run.case["measured"]["process_bytes"] <= run.estimate.process.high
    ]
    assert len(shown) == 87
    assert len(inside) / len(shown) >= INSIDE_BAND
