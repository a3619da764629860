"""Listed gaps. What is right: each is still open; one that has closed goes from its list, so that it cannot open again."""

from __future__ import annotations

import pytest

from memplan.estimate import estimate
from tests.core import test_families_dense, test_families_experts, test_truth
from tests.core.truth_cases import cases, errors, scenario_of

LISTS = {
    "extra.json": (test_truth.KNOWN_GAPS, test_truth.EXTRA_DRIFT, test_truth.FIRST_DRIFT),
    "families.json": (test_truth.FAMILY_GAPS, test_truth.EXTRA_DRIFT, test_truth.FIRST_DRIFT),
    "families_dense.json": (
        test_families_dense.KNOWN_GAPS,
        test_families_dense.DRIFT,
        test_families_dense.FIRST_DRIFT,
    ),
    "families_experts.json": (
        test_families_experts.KNOWN_GAPS,
        test_families_experts.DRIFT,
        test_families_experts.FIRST_DRIFT,
    ),
}


@pytest.mark.parametrize("file", LISTS)
def test_every_listed_gap_is_open(file: str) -> None:
    gaps, drift, first_drift = LISTS[file]
    by_id = {case["id"]: case for case in cases(file)}
    closed = []
    for name in gaps:
        off = errors(by_id[name], estimate(scenario_of(by_id[name])))
        if all(abs(error) <= (first_drift if at.startswith("first ") else drift) for at, error in off.items()):
            closed.append(name)
    assert closed == []
