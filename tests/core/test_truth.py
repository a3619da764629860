"""Estimates against traces of the framework's own code. What is right: the bytes that were traced (tests/truth)."""

from __future__ import annotations

import statistics
from functools import lru_cache
from typing import Any

import pytest

from memplan.estimate import estimate
from tests.core.truth_cases import DRIFT, FIRST_DRIFT, INSTANTS, by_id, cases, errors, scenario_of, too_far

TRACED, EXTRA, FAMILIES = (cases(name) for name in ("traced.json", "extra.json", "families.json"))

PUBLISHED_DRIFT = 0.0025
"""How far any instant of any published case may be in the second step. The promise is 4%: this is where
memplan stands, and a change that needs more has lost something."""
MEDIAN, MOST, WORST = 0.003, 0.015, 0.04
"""The promise: the median of each instant, 95% of the cases, every case."""

KNOWN_GAPS: dict[str, float] = {}
"""Cases of extra.json that are further off than `DRIFT`, each with how far and, where it is known, why."""


FAMILY_GAPS: dict[str, float] = {}
"""Cases of families.json that are further off than `DRIFT`. Four layers only: of a whole model it is less."""


@lru_cache(maxsize=1)
def all_errors() -> list[dict[str, float]]:
    return [errors(case, estimate(scenario_of(case))) for case in TRACED]


@pytest.mark.parametrize("case", TRACED, ids=by_id)
def test_a_published_model_is_as_traced(case: dict[str, Any]) -> None:
    found = estimate(scenario_of(case))
    assert found.parameters.total == case["bytes"]["parameters"]
    assert found.parameters.trainable == case["bytes"]["trainable"]
    assert found.bytes.optimizer_state == case["bytes"]["optimizer_state"]
    assert too_far(errors(case, found), PUBLISHED_DRIFT, FIRST_DRIFT) == {}


@pytest.mark.parametrize("case", TRACED, ids=by_id)
def test_a_published_set_up_counts_as_traced(case: dict[str, Any]) -> None:
    """A set-up that was held against traces may not call itself extrapolated."""
    assert estimate(scenario_of(case)).basis == "traced"


@pytest.mark.parametrize("name", INSTANTS)
def test_the_promise(name: str) -> None:
    off = sorted(abs(one[name]) for one in all_errors())
    assert len(off) == 197
    assert statistics.median(off) <= MEDIAN
    assert off[round(0.95 * (len(off) - 1))] <= MOST
    assert off[-1] <= WORST


@pytest.mark.parametrize("case", EXTRA, ids=by_id)
def test_an_unusual_set_up_is_as_traced(case: dict[str, Any]) -> None:
    as_traced(case, KNOWN_GAPS.get(case["id"], DRIFT))


@pytest.mark.parametrize("case", FAMILIES, ids=by_id)
def test_a_further_family_is_as_traced(case: dict[str, Any]) -> None:
    as_traced(case, FAMILY_GAPS.get(case["id"], DRIFT))


def as_traced(case: dict[str, Any], allowed: float) -> None:
    found = estimate(scenario_of(case))
    assert found.parameters.total == case["bytes"]["parameters"]
    assert found.parameters.trainable == case["bytes"]["trainable"]
    assert too_far(errors(case, found), allowed, max(allowed, FIRST_DRIFT)) == {}


def test_known_gaps_are_cases() -> None:
    assert set(KNOWN_GAPS) <= {case["id"] for case in EXTRA}
    assert set(FAMILY_GAPS) <= {case["id"] for case in FAMILIES}


def test_peaks_stand_where_they_were_traced() -> None:
    """Where two instants are equally full either is right; nowhere else."""
    titles = {"forward_peak": "forward", "backward_peak": "backward", "step_peak": "optimizer step"}
    for case in TRACED:
        key, _, step = case["bytes"]["peak_phase"].partition(" of ")
        traced = case["bytes"]
        peaks = [traced[name] for name in titles] + [traced["first_step"][name] for name in titles]
        if sum(abs(peak / traced["peak"] - 1) < DRIFT for peak in peaks) == 1:
            assert estimate(scenario_of(case)).bytes.peak_instant == f"{titles[key]} of {step}", case["id"]
