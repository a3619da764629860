"""FSDP1. What is right: PyTorch's source, and what was counted alive while it runs (tests/truth/fsdp1.json)."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from tests.core.truth_cases import cases

LAYERS, HIDDEN, TOKENS = 32, 4096, 4096


def backward_activations(**training: object) -> int:
    scenario = {
        "model": {"catalog": "meta-llama/Llama-3.1-8B"},
        "training": {"checkpointing": "full", "sequence_length": TOKENS, "loss": "fused", **training},
        "hardware": {"devices": 2, "sharding": {"strategy": "fsdp1"}},
    }
    found = estimate(Scenario.model_validate(scenario))
    return next(one for one in found.instants if one.name == "backward").bytes_by_term["activations"]


def held_by_hooks(monkeypatch: pytest.MonkeyPatch, **training: object) -> int:
    """What is beyond an FSDP1 without such hooks."""
    held = backward_activations(**training)
    with monkeypatch.context() as patch:
        patch.setattr("memplan.memory.gathering.holds_checkpoints", lambda *_: False)
        return held - backward_activations(**training)


def test_hooks_of_frozen_units_hold_each_layer_s_input_and_its_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first layer: every layer's input, and the gradients of the 31 behind it. Without: the inputs alone, at the
    last layer."""
    held = held_by_hooks(monkeypatch, method="lora", kernels_version="4.48")
    assert held == (LAYERS - 1) * TOKENS * HIDDEN * 2


@pytest.mark.parametrize(
    "training",
    [
        {"method": "full", "kernels_version": "4.48"},  # the hook is on the unit's own weights
        {"method": "lora"},  # since transformers 5 checkpoints are not reentrant: no input is detached
    ],
    ids=["trained units", "checkpoints that are not reentrant"],
)
def test_elsewhere_nothing_stays(monkeypatch: pytest.MonkeyPatch, training: dict[str, object]) -> None:
    assert held_by_hooks(monkeypatch, **training) == 0


TRACED = cases("fsdp1.json")
CLOSE = 0.0015
UNEXPLAINED = 0.015
"""Around adapters and reentrant checkpoints one more tensor of a layer's output is counted than was traced; runs on two
A100 hold one or two more still (fms-034 and fms-036 in measured.json), so it stays."""


def traced_scenario(case: dict[str, Any]) -> Scenario:
    hidden = case["hidden"]
    model = {
        "model_type": case["model"],
        "vocab_size": 512,
        "hidden_size": hidden,
        "intermediate_size": 4 * hidden,
        "num_hidden_layers": 6,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "tie_word_embeddings": False,
    }
    training = {
        "method": case["method"],
        "lora": {"rank": 16, "targets": ["q_proj", "k_proj", "v_proj", "o_proj"]},
        "sequence_length": case["sequence"],
        "checkpointing": "full",
        "optimizer_impl": "foreach",
        "kernels_version": case["transformers"],
        "trainer": "accelerate",  # drops the logits, and converts none that are whole bf16
    }
    sharding = {"strategy": "fsdp1", "mixed_precision": case["mixed_precision"]}
    hardware = {"devices": 2, "sharding": sharding}
    return Scenario.model_validate({"model": {"config": model}, "training": training, "hardware": hardware})


@pytest.mark.parametrize("case", TRACED, ids=lambda case: f"{case['model']}-{case['method']}-{case['transformers']}")
def test_a_step_of_fsdp1_holds_what_was_traced(case: dict[str, Any]) -> None:
    instants = [one for one in estimate(traced_scenario(case)).instants if one.step == 2]
    beyond = ("framework", "allocator slack")
    found = {one.name: sum(size for term, size in one.bytes_by_term.items() if term not in beyond) for one in instants}
    true = dict(case["bytes"])
    if case["reentrant"] and case["method"] == "full":
        # A CPU's kernel hands out head by head, which transformers 4.48 copies for the output projection; CUDA's does not.
        true["backward"] -= case["sequence"] * case["hidden"] * 2
    most = UNEXPLAINED if case["reentrant"] and case["method"] == "lora" else CLOSE
    assert found["forward"] == pytest.approx(true["forward"], rel=CLOSE)
    assert -CLOSE <= found["backward"] / true["backward"] - 1 <= most
    assert found["optimizer_step"] == pytest.approx(true["optimizer_step"], rel=0.002)


def test_keys_are_repeated_by_versions_that_hand_over_whole_heads() -> None:
    """transformers before 4.54 copies keys and values for every query head before PyTorch's fused kernel (4.53.3,
    integrations/sdpa_attention.py); Mistral's own flash attention did so before 4.48, Llama's never."""

    def kept(version: str, attention: str, model_type: str) -> int:
        case = {**TRACED[0], "model": model_type, "transformers": version, "method": "full"}
        scenario = traced_scenario(case).model_dump()
        scenario["training"] |= {"attention": attention, "checkpointing": "none"}
        scenario["hardware"] = {}
        found = estimate(Scenario.model_validate(scenario))
        return next(one for one in found.instants if one.name == "loss").bytes_by_term["activations"]

    more = 6 * 2 * (8 - 2) * 32 * 1024 * 2  # layers, keys and values, heads, width of a head, tokens, bytes
    assert kept("4.53", "sdpa", "llama") - kept("4.54", "sdpa", "llama") == more
    assert kept("4.47", "flash", "mistral") - kept("4.48", "flash", "mistral") == more
    assert kept("4.47", "flash", "llama") == kept("4.48", "flash", "llama")
