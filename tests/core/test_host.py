"""Host memory. What is right: what DeepSpeed, PyTorch, torchao and bitsandbytes put there, by their source."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memplan.cli.as_json import estimates_json
from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from memplan.result import Estimate
from memplan.sentences import host_sentence, host_words, pinned_sentence

PARAMETERS = 8_030_261_248


def answer(hardware: dict[str, Any], **training: Any) -> Estimate:
    return estimate(
        Scenario.model_validate(
            {"model": {"catalog": "meta-llama/Llama-3.1-8B"}, "training": training, "hardware": hardware}
        )
    )


def device_terms(found: Estimate, name: str) -> set[str]:
    return {term for one in found.instants if one.name == name for term in one.bytes_by_term}


def offloaded(strategy: str, what: str = "optimizer", devices: int = 8, **more: Any) -> dict[str, Any]:
    return {"devices": devices, "sharding": {"strategy": strategy}, "offload": {what: True}, **more}


@pytest.mark.parametrize(
    ("strategy", "accumulation", "bytes_"),
    [
        ("zero1", 1, 4 + 8 + 4 + 2),  # fp32 weights, two states, fp32 gradients, bf16 weights on their way back
        ("zero2", 1, 4 + 8 + 4 + 2),
        ("zero2", 4, 4 + 8 + 4 + 2 + 2),  # and a buffer to accumulate in
        ("zero3", 1, 4 + 8 + 4 + 2),  # the last is the partition's bf16 gradients
    ],
)
def test_zero_offload_takes_18_bytes_a_parameter(strategy: str, accumulation: int, bytes_: int) -> None:
    """DeepSpeed's own estimator multiplies by 16 or 18: 18 where weights are on the host as well."""
    found = answer(offloaded(strategy), master_weights=True, gradient_accumulation=accumulation)
    assert found.host.node_bytes == pytest.approx(bytes_ * PARAMETERS, rel=0.001)
    assert found.host.pinned_bytes == found.host.device_bytes
    assert {"optimizer states", "master weights"}.isdisjoint(device_terms(found, "optimizer_step"))


@pytest.mark.parametrize("strategy", ["zero1", "zero2"])
def test_the_copy_of_fp32_weights_is_where_the_optimizer_is(strategy: str) -> None:
    """DeepSpeed 0.19, stage_1_and_2.py: single_partition_of_fp32_groups is a copy of the partition, on the host (and
    page-locked) with cpu_offload; on the device without."""
    there = answer(offloaded(strategy), weights_dtype="fp32")
    assert there.host.bytes_by_term["master weights"] * 8 == pytest.approx(4 * PARAMETERS, rel=0.001)
    here = answer({"devices": 8, "sharding": {"strategy": strategy}}, weights_dtype="fp32")
    step = [
        next(one.bytes_by_term for one in found.instants if one.name == "optimizer_step") for found in (here, there)
    ]
    buckets = [one.get("communication buffers", 0) for one in step]
    assert buckets[0] * 8 == pytest.approx(4 * PARAMETERS, rel=0.001)
    assert buckets[1] == 0


@pytest.mark.parametrize(("strategy", "leave"), [("zero1", False), ("zero2", True), ("zero3", True), ("none", False)])
def test_gradients_leave_the_device_under_zero_2_and_3(strategy: str, leave: bool) -> None:
    """DeepSpeed's estimator counts 2 bytes a parameter on the device for ZeRO-2 with offload: the weights alone."""
    found = answer(offloaded(strategy), master_weights=True)
    assert ("gradients" not in device_terms(found, "optimizer_step")) == leave


def test_fsdp_moves_weights_gradients_and_states() -> None:
    """PyTorch's CPUOffloadPolicy: 4 + 4 + 8 bytes a parameter, all of it page-locked."""
    found = answer(offloaded("fsdp2", "parameters"), weights_dtype="fp32")
    assert found.host.node_bytes == pytest.approx(16 * PARAMETERS, rel=0.001)
    assert {"weights", "gradients", "optimizer states"}.isdisjoint(device_terms(found, "optimizer_step"))


def test_one_device_offloads_a_copy_of_weights_and_gradients_with_the_states() -> None:
    """torchao's CPUOffloadOptimizer: page-locked copies of both in the parameter's dtype, states beside them."""
    found = answer({"offload": {"optimizer": True}})
    assert found.host.device_bytes == pytest.approx((2 + 2 + 4) * PARAMETERS, rel=0.001)
    assert found.host.pinned_bytes == pytest.approx(4 * PARAMETERS, rel=0.001)


def test_paged_states_are_on_the_host() -> None:
    """bitsandbytes: a byte for each value and moment; block scales stay on the device."""
    found = answer({}, optimizer="paged_adamw_8bit")
    assert found.host.bytes_by_term["optimizer states"] == pytest.approx(2 * PARAMETERS, rel=0.001)
    step = next(one for one in found.instants if one.name == "optimizer_step")
    assert step.bytes_by_term["optimizer states"] == pytest.approx(8 / 256 * PARAMETERS, rel=0.01)


def test_kept_activations_wait_on_the_host() -> None:
    """As many bytes as the layers keep on the device without offloading."""
    there, here = answer({"offload": {"activations": True}}), answer({})
    kept = next(one for one in here.terms if one.name == "activations")
    layers = sum(row.total_bytes for row in kept.tensors if row.count == 32)
    assert there.host.bytes_by_term["activations"] == pytest.approx(layers, rel=1e-6)


@pytest.mark.parametrize("method", ["full", "lora", "inference"])
def test_nothing_is_there_when_nothing_is_offloaded(method: str) -> None:
    found = answer({"devices": 8}, method=method)
    assert found.host.device_bytes == found.host.pinned_bytes == 0
    assert host_sentence(found) == host_words(found) == pinned_sentence(found) == ""


def test_inference_has_no_states_to_offload() -> None:
    assert answer({"offload": {"optimizer": True}}, method="inference").host.device_bytes == 0


def test_more_devices_take_no_more_of_a_host_for_each() -> None:
    each = [answer(offloaded("zero3", devices=devices), master_weights=True).host for devices in (1, 2, 8, 64)]
    sizes = [host.device_bytes for host in each]
    assert sizes == sorted(sizes, reverse=True)
    assert [host.devices_on_node for host in each] == [1, 2, 8, 8]


def test_it_is_said_in_words_and_in_json() -> None:
    found = answer(offloaded("zero2", devices=16), master_weights=True)
    assert host_sentence(found).startswith("8.41 GiB for each device, 67.3 GiB for the 8 of a node (gradients ")
    assert host_words(found) == "67.3 GiB a node"
    assert pinned_sentence(found).startswith("All of it is page-locked")
    printed = json.loads(estimates_json([found]))["scenarios"][0]["host"]
    assert printed["node_bytes"] == found.host.node_bytes
    assert sum(printed["bytes_by_term"].values()) == printed["device_bytes"]
