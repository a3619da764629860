"""Listed gaps. What is right: each is still open; one that has closed goes from its list, so that it cannot open again."""

from __future__ import annotations

import pytest

from memplan.estimate import estimate
from tests.core import (
    test_families_decoders,
    test_families_dense,
    test_families_experts,
    test_families_hybrid,
    test_families_more,
    test_truth,
    test_unseen,
)
from tests.core.truth_cases import DRIFT, FIRST_DRIFT, cases, errors, scenario_of, too_far

LISTS = {
    "extra.json": test_truth.KNOWN_GAPS,
    "families.json": test_truth.FAMILY_GAPS,
    "families_decoders.json": test_families_decoders.KNOWN_GAPS,
    "families_dense.json": test_families_dense.KNOWN_GAPS,
    "families_experts.json": test_families_experts.KNOWN_GAPS,
    "families_more.json": test_families_more.KNOWN_GAPS,
    "families_hybrid.json": test_families_hybrid.KNOWN_GAPS,
    "unseen.json": test_unseen.KNOWN_GAPS,
}


@pytest.mark.parametrize("file", LISTS)
def test_every_listed_gap_is_open(file: str) -> None:
    by_name = {case["id"]: case for case in cases(file)}
    off = {name: errors(by_name[name], estimate(scenario_of(by_name[name]))) for name in LISTS[file]}
    assert [name for name, one in off.items() if not too_far(one, DRIFT, FIRST_DRIFT)] == []
