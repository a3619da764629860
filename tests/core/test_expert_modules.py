"""Experts before transformers 5: linear modules of their own, which 4 bit packs and adapters reach.

What is right: transformers 4.48.1, models/mixtral/modeling_mixtral.py; the measured runs of test_measured.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from memplan.architecture.from_config import architecture_of
from memplan.estimate import estimate
from memplan.memory.blocks import expert_modules
from memplan.memory.setup import Setup
from memplan.memory.stack import Stack
from memplan.memory.states import HeldTensor, held_tensors, weight_bytes
from memplan.memory.walk_layer import walk_layer
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training

MIXTRAL = {"catalog": "mistralai/Mixtral-8x7B-v0.1"}
LAYERS, EXPERTS, HIDDEN, WIDTH, RANK = 32, 8, 4096, 14_336, 16
SMALL = {
    "model_type": "mixtral", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "vocab_size": 1000,
    "num_attention_heads": 4, "num_key_value_heads": 4, "num_local_experts": 16, "num_experts_per_tok": 2,
}  # fmt: skip
OLD = Stack(version=(4, 48))


def mixtral(version: str | None, **training: Any) -> Scenario:
    return Scenario.model_validate({"model": MIXTRAL, "training": {"kernels_version": version, **training}})


def small_tensors(method: str, stack: Stack = OLD) -> tuple[HeldTensor, ...]:
    return held_tensors(architecture_of(SMALL), Setup.of(Training.model_validate({"method": method}), stack))


def test_the_model_is_the_same_to_the_last_parameter() -> None:
    assert estimate(mixtral("4.48")).parameters == estimate(mixtral(None)).parameters


def test_four_bit_packs_experts_and_router() -> None:
    tensors = [tensor for tensor in small_tensors("qlora") if tensor.component == "experts"]
    assert {tensor.name: (tensor.shape, tensor.count, tensor.packed) for tensor in tensors} == {
        "gate.weight": ((16, 256), 2, True),
        "w1.weight": ((512, 256), 32, True),
        "w3.weight": ((512, 256), 32, True),
        "w2.weight": ((256, 512), 32, True),
    }
    today = [tensor for tensor in small_tensors("qlora", Stack()) if tensor.component == "experts"]
    assert {tensor.packed for tensor in today} == {False}


@pytest.mark.parametrize(("targets", "pairs"), [(("w1",), 1), (("w1", "w3"), 2), (("w1", "w2", "w3"), 3)])
def test_adapters_reach_each_expert_by_its_old_name(targets: tuple[str, ...], pairs: int) -> None:
    """Each matrix has 4096 values on one side and 14,336 on the other, so an adapter has rank × 18,432."""
    found = estimate(mixtral("4.48", method="lora", lora={"targets": targets, "rank": RANK}))
    assert found.parameters.trainable == LAYERS * EXPERTS * pairs * RANK * (HIDDEN + WIDTH)
    assert not any(warning.path == "training.lora.targets" for warning in found.warnings)


def test_only_fused_experts_are_said_to_stay_unpacked() -> None:
    paths = {
        version: {warning.path for warning in estimate(mixtral(version, method="qlora")).warnings}
        for version in ("4.48", None)
    }
    assert "training.quantization.format" not in paths["4.48"]
    assert "training.quantization.format" in paths[None]


def test_what_a_trace_sees_is_of_the_version_that_traces_run() -> None:
    """`bytes` is held against traces of transformers 5, whatever version the plan names."""
    old, new = estimate(mixtral("4.48", method="qlora")), estimate(mixtral(None, method="qlora"))
    assert old.bytes == new.bytes
    assert old.process.allocated < new.process.allocated / 2


@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
@pytest.mark.parametrize("checkpointing", ["none", "full"])
def test_many_experts_walked_together_hold_about_what_they_do_one_by_one(
    method: str, checkpointing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = Training.model_validate({"method": method, "checkpointing": checkpointing})
    setup, (layer, _) = Setup.of(training, OLD), architecture_of(SMALL).layers[0]
    walks = []
    for most in (16, 0):
        monkeypatch.setattr(expert_modules, "MOST_MODULES", most)
        walk_layer.cache_clear()
        walks.append(walk_layer(layer, setup, 4, 512, setup.unpacked_dtype, True, False))
    walk_layer.cache_clear()
    one_by_one, together = walks
    assert together.kept == pytest.approx(one_by_one.kept, rel=0.1)
    assert sum(together.backward.tally) == pytest.approx(sum(one_by_one.backward.tally), rel=0.35)


PER_VALUE = {
    # A byte, and an fp32 scale for each row of 4096.
    "int8": 1 + 4 / 4096,
    # Half a byte, a 16-bit scale and a 4-bit zero for 128 values, and the group of each input of 4096 rows.
    "gptq_int4": 0.5 + 2.5 / 128 + 4 / 4096,
    # Half a byte, and a 16-bit scale and offset for 64 values.
    "mlx_int4": 0.5 + 4 / 64,
}


@pytest.mark.parametrize("packed_format", PER_VALUE)
def test_a_packed_matrix_takes_its_values_and_their_scales(packed_format: str) -> None:
    tensor = HeldTensor("w", (4096, 4096), 1, "bf16", False, packed=True, packed_format=packed_format)
    assert weight_bytes(tensor, double_quant=False) == 4096 * 4096 * PER_VALUE[packed_format]
