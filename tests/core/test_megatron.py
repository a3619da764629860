"""Megatron's layers against what its authors publish. What is right: Korthikanti et al., 2022, equations 1, 2 and 6."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.allocation import allocation
from memplan.estimate import estimate
from memplan.plan.scenario import Scenario

HIDDEN, HEADS, SEQUENCE, BATCH, VOCABULARY = 1536, 16, 512, 3, 50_304
GPT = {
    "model_type": "gpt2",
    "n_embd": HIDDEN,
    "n_layer": 4,
    "n_head": HEADS,
    "vocab_size": VOCABULARY,
    "n_positions": 2048,
    "attn_pdrop": 0.1,
    "resid_pdrop": 0.1,
    "embd_pdrop": 0.0,
}
MOMENTS = 2 * 2 * 4 * BATCH * SEQUENCE
"""Mean and deviation of two norms, which the paper leaves out."""


def scenario(tensor_parallel: int = 1, **training: Any) -> Scenario:
    set_up = {"kernels": "megatron", "micro_batch": BATCH, "sequence_length": SEQUENCE, "attention": "eager"}
    hardware = {"devices": tensor_parallel, "tensor_parallel": tensor_parallel}
    return Scenario.model_validate({"model": {"config": GPT}, "training": {**set_up, **training}, "hardware": hardware})


def kept_by_a_layer(tensor_parallel: int, checkpointing: str) -> int:
    (run,) = allocation(scenario(tensor_parallel, checkpointing=checkpointing)).timeline.walked.runs
    return int(run.walk.kept)


@pytest.mark.parametrize("t", [1, 2, 4, 8])
def test_a_layer_keeps_what_is_published(t: int) -> None:
    unit, scores = SEQUENCE * BATCH * HIDDEN, 5 * HEADS * SEQUENCE / (HIDDEN * t)
    assert kept_by_a_layer(t, "none") - MOMENTS == pytest.approx(unit * (10 + 24 / t + scores), abs=1)
    assert kept_by_a_layer(t, "selective") - MOMENTS == pytest.approx(unit * (10 + 24 / t), abs=1)
    assert kept_by_a_layer(t, "full") == 2 * unit


def test_selective_recomputation_holds_the_core_once_more_in_backward() -> None:
    """It runs one layer's attention again: scores' softmax, mask, dropped weights, and a gradient of their size."""
    backward = {}
    for checkpointing in ("none", "selective"):
        (run,) = allocation(scenario(checkpointing=checkpointing)).timeline.walked.runs
        backward[checkpointing] = run.walk.backward.total - run.walk.kept
    square = BATCH * HEADS * SEQUENCE * SEQUENCE
    assert backward["selective"] >= backward["none"] + 3 * square


def test_the_loss_is_made_in_place() -> None:
    """16-bit logits and their fp32 copy, which becomes softmax and gradient (tensor_parallel/cross_entropy.py)."""
    loss = next(one for one in estimate(scenario(optimizer="sgd")).instants if one.name == "loss")
    logits = BATCH * SEQUENCE * VOCABULARY
    assert loss.bytes_by_term["logits and loss"] == pytest.approx(6 * logits, rel=0.001)


def test_it_says_what_it_is_founded_on() -> None:
    assert estimate(scenario()).basis == "published"
    assert estimate(scenario(checkpointing="selective")).basis == "published"
    assert estimate(scenario(method="lora")).basis == "extrapolated"


@pytest.mark.parametrize("kernels", ["transformers", "litgpt", "torchtune", "unsloth", "torchtitan", "mlx"])
def test_elsewhere_selective_checkpointing_is_never_counted_as_a_saving(kernels: str) -> None:
    """What a stack recomputes is its own choice, so the estimate says none: too much rather than too little."""
    model = {"model": {"catalog": "meta-llama/Llama-3.1-8B"}}
    found = [
        estimate(Scenario.model_validate({**model, "training": {"kernels": kernels, "checkpointing": checkpointing}}))
        for checkpointing in ("none", "selective")
    ]
    assert found[0].need == found[1].need
    assert any(one.path == "training.checkpointing" for one in found[1].warnings)
