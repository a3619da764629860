"""FSDP1 around frozen weights. What is right: PyTorch's source, and what was counted alive while it runs."""

from __future__ import annotations

import pytest

from memplan.estimate import estimate
from memplan.plan.scenario import Scenario

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
    """At the second layer, the last that another is gathered beside: every layer's input, and the gradients of the 30
    behind it. Without: the inputs alone."""
    held = held_by_hooks(monkeypatch, method="lora", kernels_version="4.48")
    assert held == (LAYERS - 2) * TOKENS * HIDDEN * 2


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
