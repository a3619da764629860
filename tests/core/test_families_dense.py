"""Dense families against traces and published counts. What is right: the bytes that were traced (tests/truth)."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.architecture.counts import total
from memplan.architecture.families import (
    encoders,
    gemma,
    gpt_relatives,
    layer_norm_decoders,
    llama_relatives,
    multimodal,
    olmo,
)
from memplan.architecture.from_config import architecture_of
from memplan.catalog import CatalogModel, models
from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from tests.core.truth_cases import DRIFT, FIRST_DRIFT, by_id, cases, errors, scenario_of, too_far

CASES = cases("families_dense.json")
KNOWN_GAPS: dict[str, float] = {}
"""Cases that are further off than `DRIFT`, each with how far and, where it is known, why."""
MODULES = (gemma, gpt_relatives, layer_norm_decoders, llama_relatives, multimodal, olmo)
OWN = {name for module in MODULES for name in module.FAMILIES}
COUNTED = OWN | set(encoders.FAMILIES)
PUBLISHED = [entry for entry in models() if entry.model_type in COUNTED and entry.count_verified]


@pytest.mark.parametrize("case", CASES, ids=by_id)
def test_a_family_is_as_traced(case: dict[str, Any]) -> None:
    found = estimate(scenario_of(case))
    assert found.basis == "traced"
    assert found.bytes.optimizer_state == case["bytes"]["optimizer_state"]
    allowed = KNOWN_GAPS.get(case["id"], DRIFT)
    assert too_far(errors(case, found), allowed, max(allowed, FIRST_DRIFT)) == {}


@pytest.mark.parametrize("entry", PUBLISHED, ids=lambda entry: entry.id)
def test_a_published_model_counts_exactly(entry: CatalogModel) -> None:
    """Against the model class built on the meta device; of a model that sees, with its tower."""
    assert total(architecture_of(entry.config)) == entry.parameters.total


@pytest.mark.parametrize("name", sorted({entry.model_type for entry in PUBLISHED} & set(encoders.FAMILIES)))
def test_what_is_walked_as_a_decoder_says_so(name: str) -> None:
    entry = next(entry for entry in PUBLISHED if entry.model_type == name)
    found = estimate(Scenario.model_validate({"model": {"catalog": entry.id}}))
    assert found.basis == "extrapolated"
    assert any("no composition of its own" in warning for warning in map(str, found.warnings))
