"""Less common dense decoders, against traces. What is right: the bytes that were traced (tests/truth)."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.architecture.families import squared_relu
from memplan.estimate import estimate
from tests.core.truth_cases import DRIFT, FIRST_DRIFT, by_id, cases, errors, scenario_of, too_far

CASES = cases("families_decoders.json")
KNOWN_GAPS: dict[str, float] = {}
"""Cases that are further off than `DRIFT`, each with how far and, where it is known, why."""
MODULES = (squared_relu,)
OWN = sorted(name for module in MODULES for name in module.FAMILIES)


@pytest.mark.parametrize("case", CASES, ids=by_id)
def test_a_family_is_as_traced(case: dict[str, Any]) -> None:
    found = estimate(scenario_of(case))
    assert found.basis == "traced"
    assert found.parameters.total == case["bytes"]["parameters"]
    assert found.parameters.trainable == case["bytes"]["trainable"]
    assert found.bytes.optimizer_state == case["bytes"]["optimizer_state"]
    allowed = KNOWN_GAPS.get(case["id"], DRIFT)
    assert too_far(errors(case, found), allowed, max(allowed, FIRST_DRIFT)) == {}


@pytest.mark.parametrize("name", OWN)
def test_a_family_was_traced_in_three_set_ups_at_least(name: str) -> None:
    assert sum(case["model"]["model_type"] == name for case in CASES) >= 3
