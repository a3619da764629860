"""What people often get wrong (issue threads of trainers): each is said beside its field, when it is so, and is true."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.allocation import allocation
from memplan.estimate import estimate
from memplan.plan.edit import replaced
from memplan.plan.scenario import Scenario
from memplan.units import format_bytes

LLAMA = "meta-llama/Llama-3.1-8B"
WEIGHTS_BYTES = 2 * 8_030_261_248


def scenario(training: dict[str, Any], hardware: dict[str, Any] | None = None) -> Scenario:
    return Scenario.model_validate({"model": {"catalog": LLAMA}, "training": training, "hardware": hardware or {}})


def said(training: dict[str, Any], path: str, hardware: dict[str, Any] | None = None) -> str:
    return " ".join(one.message for one in estimate(scenario(training, hardware)).warnings if one.path == path)


def peak(one: Scenario) -> int:
    return allocation(one).peak_bytes


@pytest.mark.parametrize("method", ["full", "lora", "freeze", "inference"])
def test_loaded_in_fp32_is_said_of_every_method(method: str) -> None:
    assert "fp32" in said({"method": method, "weights_dtype": "fp32"}, "training.weights_dtype")
    assert "in fp32" not in said({"method": method, "weights_dtype": "bf16"}, "training.weights_dtype")


def test_lora_does_not_shrink_activations() -> None:
    long = {"sequence_length": 8192}
    assert "not activations" in said({"method": "lora", **long}, "training.method")
    assert "not activations" not in said({"method": "lora", "sequence_length": 128}, "training.method")
    assert "not activations" not in said({"method": "lora", "checkpointing": "full", **long}, "training.method")
    assert "not activations" not in said({"method": "full", **long}, "training.method")
    full, lora = (allocation(scenario({"method": method, **long})) for method in ("full", "lora"))
    kept = [sum(run.count * run.walk.kept for run in one.timeline.walked.runs) for one in (full, lora)]
    assert kept[1] >= kept[0]  # what adapters read is kept as well


def test_qlora_can_need_more_than_lora_at_long_context() -> None:
    path = "training.quantization.fp32_unquantized"
    long = {"sequence_length": 8192}
    assert "more memory than LoRA" in said({"method": "qlora", **long}, path)
    assert peak(scenario({"method": "qlora", **long})) > peak(scenario({"method": "lora", **long}))
    assert said({"method": "qlora", "sequence_length": 2048}, path) == ""
    assert said({"method": "lora", **long}, path) == ""
    kept_in_16_bit = {"method": "qlora", **long, "quantization": {"fp32_unquantized": False}}
    assert said(kept_in_16_bit, path) == ""
    assert peak(scenario(kept_in_16_bit)) < peak(scenario({"method": "lora", **long}))


def test_logits_as_wide_as_the_vocabulary_are_counted_out() -> None:
    # 8,192 tokens × 128,256 words × 4 bytes.
    words = said({"sequence_length": 8192}, "training.loss")
    assert "8,192 tokens × 128,256 words" in words
    assert format_bytes(8192 * 128_256 * 4) in words
    for other in ({"loss": "fused"}, {"loss": "chunked"}, {"kernels": "liger"}, {"sequence_length": 1024}):
        assert said({"sequence_length": 8192, **other}, "training.loss") == "", other


@pytest.mark.parametrize("strategy", ["zero1", "zero2"])
def test_zero_2_does_not_shard_weights(strategy: str) -> None:
    path, eight = "hardware.sharding.strategy", {"devices": 8, "sharding": {"strategy": strategy}}
    assert f"every device holds all weights ({format_bytes(WEIGHTS_BYTES)})" in said({}, path, eight)
    assert allocation(scenario({}, eight)).states.weights == allocation(scenario({})).states.weights
    divided = {"devices": 8, "sharding": {"strategy": "fsdp2"}}
    assert "all weights" not in said({}, path, divided)


def test_what_other_parallelism_divides_a_device_does_not_hold() -> None:
    path = "hardware.sharding.strategy"
    hardware = {"devices": 8, "tensor_parallel": 4, "sharding": {"strategy": "zero1"}}
    held = allocation(scenario({}, hardware)).states.weights
    assert held < 0.3 * WEIGHTS_BYTES
    assert f"all weights of its part of the model ({format_bytes(held)})" in said({}, path, hardware)


def test_one_device_divides_nothing() -> None:
    alone = {"devices": 1, "sharding": {"strategy": "fsdp2"}}
    assert (
        said({}, "hardware.sharding.strategy", alone) == "One device has nothing to divide with: it holds everything."
    )
    assert peak(scenario({}, alone)) == peak(scenario({}))
    offloads = {**alone, "sharding": {"strategy": "zero3"}, "offload": {"optimizer": True, "parameters": True}}
    words = said({}, "hardware.sharding.strategy", offloads)
    assert "One device has nothing to divide with: it holds everything that is not offloaded." in words
    assert "buckets" in words
    zero3 = estimate(scenario({}, {**alone, "sharding": {"strategy": "zero3"}})).warnings
    assert sum(one.path == "hardware.sharding.strategy" for one in zero3) == 1


def test_devices_that_hold_parts_are_not_said_to_be_one_that_holds_everything() -> None:
    hardware = {"devices": 8, "tensor_parallel": 8, "sharding": {"strategy": "fsdp2"}}
    words = said({}, "hardware.sharding.strategy", hardware)
    assert "there is none left to divide states among" in words
    assert "holds everything" not in words


def test_more_devices_without_sharding_hold_as_much_each() -> None:
    assert "Each device holds everything" in said(
        {}, "hardware.devices", {"devices": 8, "sharding": {"strategy": "ddp"}}
    )


def test_accumulation_does_not_shrink_activations_and_the_batch_of_an_update_is_a_product() -> None:
    path = "training.gradient_accumulation"
    words = said({"micro_batch": 4, "gradient_accumulation": 8}, path, {"devices": 2})
    assert words == (
        "One update sees 4 × 8 × 2 devices = 64 sequences; activations follow the micro-batch of 4, whatever the "
        "accumulation."
    )
    assert said({"micro_batch": 1, "gradient_accumulation": 8}, path) == "One update sees 1 × 8 = 8 sequences."
    divided = {"devices": 8, "tensor_parallel": 4}
    words = said({"micro_batch": 1, "gradient_accumulation": 8}, path, divided)
    assert words == "One update sees 1 × 8 × 2 replicas of the model = 16 sequences."
    assert said({"micro_batch": 4}, path) == ""
    few, many = (scenario({"micro_batch": 4, "gradient_accumulation": pieces}) for pieces in (2, 64))
    assert peak(few) == peak(many)


def test_embeddings_made_trainable_take_gradients_and_states() -> None:
    lora = {"method": "lora", "lora": {"modules_to_save": ["embed_tokens"]}}
    path = "training.lora.modules_to_save"
    assert "trainable_token_indices" in said(lora, path)
    assert "trains whole" in said(lora, path)
    plain = replaced(scenario(lora), "training.lora.modules_to_save", ())
    assert allocation(scenario(lora)).states.optimizer > allocation(plain).states.optimizer
