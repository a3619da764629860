"""Mixtures of experts, latent and linear attention against traces and published counts."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.architecture import counts
from memplan.architecture.families import experts, experts_relatives, gemma_shared, hybrid, latent, state_space
from memplan.architecture.from_config import architecture_of
from memplan.catalog import CatalogModel, models
from memplan.estimate import estimate
from memplan.memory.setup import Setup
from memplan.memory.states import held_tensors
from memplan.plan.training import Training
from tests.core.truth_cases import DRIFT, FIRST_DRIFT, by_id, cases, errors, scenario_of, too_far

CASES = cases("families_experts.json")
KNOWN_GAPS: dict[str, float] = {}
OWN = {
    **experts.FAMILIES,
    **experts_relatives.FAMILIES,
    **latent.FAMILIES,
    **hybrid.FAMILIES,
    **state_space.FAMILIES,
}
PUBLISHED = [entry for entry in models() if entry.model_type in OWN]


@pytest.mark.parametrize("case", CASES, ids=by_id)
def test_a_family_is_as_traced(case: dict[str, Any]) -> None:
    found = estimate(scenario_of(case))
    assert found.parameters.trainable == case["bytes"]["trainable"]
    assert found.bytes.optimizer_state == case["bytes"]["optimizer_state"]
    allowed = KNOWN_GAPS.get(case["id"], DRIFT)
    assert too_far(errors(case, found), allowed, max(allowed, FIRST_DRIFT)) == {}


@pytest.mark.parametrize("entry", PUBLISHED, ids=lambda entry: entry.id)
def test_a_published_model_counts_exactly(entry: CatalogModel) -> None:
    """Against the model class built on the meta device; its text part where the tower for images is not known."""
    architecture, known = architecture_of(entry.config), entry.parameters
    if not entry.count_verified or known.total is None:
        pytest.skip("no count that was verified")
    text = known.text_only or known.total
    known_tower = any(weight.name.startswith("vision.") for weight, _ in architecture.idle)
    assert counts.total(architecture) == (known.total if known_tower else text)
    if known.active is not None:
        assert counts.active(architecture) == known.active - (known.total - text)


def test_nearly_every_mixture_of_the_catalog_has_a_composition() -> None:
    sparse = {entry.model_type for entry in models() if entry.parameters.active is not None and entry.count_verified}
    assert sparse - {*OWN, *gemma_shared.FAMILIES} <= {"deepseek_v4", "mistral_large4", "step3p7"}


def test_four_bit_leaves_experts_as_they_are() -> None:
    """bitsandbytes replaces linear modules: experts held as 3-D tensors, and routers, keep their own dtype."""
    config = next(case["model"] for case in CASES if case["id"] == "deepseek_v3, qlora")
    training = Training.model_validate({"method": "qlora", "quantization": {"fp32_unquantized": False}})
    tensors = held_tensors(architecture_of(config), Setup.of(training))
    of_experts = [tensor for tensor in tensors if tensor.component == "experts" and not tensor.adapter]
    assert {tensor.packed for tensor in of_experts} == {False}
    assert {(len(tensor.shape), tensor.dtype) for tensor in of_experts} == {(2, "fp32"), (3, "bf16")}
    shared = [tensor for tensor in tensors if tensor.name.startswith("mlp.gate_proj")]
    assert shared
    assert all(tensor.packed for tensor in shared)


def test_all_linear_adapts_experts_where_peft_knows_their_old_names() -> None:
    """PEFT 0.21 adapts routers and fused experts of Qwen3 MoE and its like, and leaves dense blocks beside them alone."""
    training = Training.model_validate({"method": "lora"})
    names = {}
    for model_type in ("deepseek_v3", "gpt_oss"):
        config = next(case["model"] for case in CASES if case["model"]["model_type"] == model_type)
        tensors = held_tensors(architecture_of(config), Setup.of(training))
        names[model_type] = {tensor.name.partition(".lora_")[0] for tensor in tensors if tensor.adapter}
    assert {"gate.weight", "experts.gate_up_proj", "experts.down_proj", "kv_b_proj"} <= names["deepseek_v3"]
    assert "gate_proj" not in names["deepseek_v3"]
    assert names["gpt_oss"] == {"q_proj", "k_proj", "v_proj", "o_proj"}
