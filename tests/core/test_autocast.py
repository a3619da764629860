"""Autocast's 16-bit copies of weights: who holds them, for how long, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.allocation import allocation
from memplan.estimate import estimate
from memplan.plan.scenario import Scenario

LAYERS, HIDDEN, MLP, VOCABULARY, KEYS = 32, 4096, 14_336, 128_256, 1024
MATRICES = 2 * HIDDEN * HIDDEN + 2 * HIDDEN * KEYS + 3 * HIDDEN * MLP
"""Values of a layer's matrices of Llama 3.1 8B."""


def scenario(strategy: str, devices: int = 8, *, mixed: bool = True, **training: Any) -> Scenario:
    settings = {"weights_dtype": "fp32", "autocast": "bf16", "checkpointing": "full", "sequence_length": 512}
    sharding = {"strategy": strategy, "mixed_precision": mixed}
    return Scenario.model_validate(
        {
            "model": {"catalog": "meta-llama/Llama-3.1-8B"},
            "training": settings | training,
            "hardware": {"devices": devices, "sharding": sharding},
        }
    )


def said(one: Scenario) -> str:
    return " ".join(advice.message for advice in estimate(one).warnings if advice.path == "training.autocast")


@pytest.mark.parametrize("strategy", ["zero1", "zero2"])
def test_whole_weights_are_copied_on_every_device(strategy: str) -> None:
    """PyTorch's cached_cast remembers leaves that need gradients until autocast is left."""
    copied = allocation(scenario(strategy)).timeline.walked.copied_bytes
    assert copied == 2 * (LAYERS * MATRICES + HIDDEN * VOCABULARY)


@pytest.mark.parametrize("devices", [1, 8])
@pytest.mark.parametrize("checkpointing", ["none", "full"])
def test_zero3_casts_weights_again_at_each_product(devices: int, checkpointing: str) -> None:
    """Its own linear function multiplies by a view of the weight, which cached_cast does not remember."""
    walked = allocation(scenario("zero3", devices, checkpointing=checkpointing)).timeline.walked
    assert walked.copied_bytes == 0
    assert not [role for run in walked.runs for _, role, *_ in run.walk.ledger if "cast" in role]


def test_zero3_keeps_inputs_of_products_as_they_are() -> None:
    """It saves its input before the cast: queries, keys and values read one fp32 tensor, the norm's output."""
    ledger = allocation(scenario("zero3", checkpointing="none")).timeline.walked.runs[-1].walk.ledger
    inputs = {module: dtype for module, role, _, dtype, _ in ledger if role == "input"}
    assert inputs == {"self_attn.q_proj": "fp32", "mlp.gate_proj": "fp32", "mlp.down_proj": "bf16"}


def test_layers_keep_nothing_but_checkpoints_under_zero3() -> None:
    walked = allocation(scenario("zero3")).timeline.walked
    assert {run.walk.kept for run in walked.runs} == {512 * HIDDEN * 4}


def test_copies_that_sharding_does_not_divide_are_said_with_their_remedy() -> None:
    assert "14.0 GiB that no device shares" in said(scenario("zero2"))
    assert "DeepSpeed's own mixed precision" in said(scenario("zero2"))
    assert "FSDP's own mixed precision" in said(scenario("fsdp2", mixed=False))
    for alone in (scenario("zero3"), scenario("fsdp2"), scenario("zero2", 1), scenario("zero2", autocast="none")):
        assert "shares" not in said(alone)
