"""Other stacks' own modules against traces of them. What is right: the bytes that were traced (tests/truth/stacks.json)."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from tests.core.truth_cases import by_id, cases, errors, scenario_of, too_far

TRACED = cases("stacks.json")
CLOSE = 0.001
"""How far any instant of a stack's traced set-up may be off in the second step."""


@pytest.mark.parametrize("case", TRACED, ids=by_id)
def test_a_stack_is_as_traced(case: dict[str, Any]) -> None:
    found = estimate(scenario_of(case))
    assert found.parameters.total == case["bytes"]["parameters"]
    assert found.parameters.trainable == case["bytes"]["trainable"]
    assert too_far(errors(case, found), CLOSE, CLOSE) == {}


@pytest.mark.parametrize("case", TRACED[::5], ids=by_id)
def test_a_traced_stack_does_not_call_itself_extrapolated(case: dict[str, Any]) -> None:
    assert estimate(scenario_of(case)).basis in ("traced", "measured")


def of_litgpt(model: str, **training: Any) -> Scenario:
    return Scenario.model_validate({"model": {"catalog": model}, "training": {"kernels": "litgpt", **training}})


def test_litgpt_never_ties_the_head_to_the_embeddings() -> None:
    """litgpt converts a checkpoint with a tied head by copying the embeddings (convert_hf_checkpoint.py)."""
    table = 128_256 * 2048
    tied = estimate(Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.2-1B"}}))
    assert estimate(of_litgpt("meta-llama/Llama-3.2-1B")).parameters.total == tied.parameters.total + table


def test_what_litgpt_has_no_modules_for_is_walked_as_transformers() -> None:
    found = estimate(of_litgpt("google/gemma-2-2b"))  # its logits are capped
    assert found.basis == "extrapolated"
    assert any(one.path == "training.kernels" for one in found.warnings)
