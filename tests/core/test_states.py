"""What stays on the device. What is right: counts times bytes; bitsandbytes 0.50.2, DeepSpeed and the ZeRO paper."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.architecture.counts import total
from memplan.architecture.dividing import share
from memplan.architecture.from_config import architecture_of
from memplan.estimate import estimate
from memplan.memory.account import States, exact_states
from memplan.memory.setup import Setup
from memplan.memory.sharding import data_parallel_devices, sharded
from memplan.memory.states import HeldTensor, gradient_bytes, has_master, held_tensors, weight_bytes
from memplan.plan.hardware import Hardware
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from tests.core.small_models import LLAMA, SMALL, Config
from tests.core.truth_cases import cases


def training(**values: Any) -> Training:
    return Training.model_validate(values)


def states(config: Config = LLAMA, frozen_layers: int = 0, **values: Any) -> States:
    chosen = training(**values)
    return exact_states(architecture_of(config), Setup.of(chosen), chosen, frozen_layers)


def tensor(shape: tuple[int, ...], dtype: str = "bf16", *, trains: bool = True, packed: bool = False) -> HeldTensor:
    return HeldTensor("w", shape, 1, dtype, trains, packed=packed)


# one tensor


@pytest.mark.parametrize(("dtype", "num_bytes"), [("fp32", 4), ("bf16", 2), ("fp16", 2)])
def test_a_weight_takes_its_values_times_its_dtype(dtype: str, num_bytes: int) -> None:
    assert weight_bytes(tensor((4096, 4096), dtype), double_quant=True) == 4096 * 4096 * num_bytes


def test_each_tensor_takes_whole_blocks() -> None:
    assert weight_bytes(tensor((5,)), double_quant=True) == 512
    assert weight_bytes(HeldTensor("w", (5,), 10, "bf16", True), double_quant=True) == 10 * 512


@pytest.mark.parametrize(("double_quant", "per_value"), [(True, 0.515869), (False, 0.5625)])
def test_a_packed_weight_takes_half_a_byte_a_value_and_its_scales(double_quant: bool, per_value: float) -> None:
    """Measured on bitsandbytes 0.50.2: 0.515869 bytes a value with double quantisation, 0.5625 without."""
    found = weight_bytes(tensor((4096, 14_336), packed=True), double_quant=double_quant) / (4096 * 14_336)
    assert found == pytest.approx(per_value, abs=1e-6)


def test_gradients_are_in_the_weights_dtype_unless_said() -> None:
    w = tensor((1000, 1000))
    assert gradient_bytes(w, training()) == 2_000_384  # rounded up to a block
    assert gradient_bytes(w, training(gradients_dtype="fp32")) == 4_000_256
    assert gradient_bytes(tensor((1000, 1000), trains=False), training()) == 0


def test_a_master_copy_stands_beside_16_bit_weights_only() -> None:
    assert has_master(tensor((2, 2)), training(master_weights=True))
    assert not has_master(tensor((2, 2), "fp32"), training(master_weights=True))
    assert not has_master(tensor((2, 2), trains=False), training(master_weights=True))
    assert not has_master(tensor((2, 2)), training())


# a model


@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())
def test_a_model_s_tensors_are_its_parameters(config: Config) -> None:
    architecture = architecture_of(config)
    for method in ("full", "lora", "qlora", "freeze", "inference"):
        held = held_tensors(architecture, Setup.of(training(method=method)))
        assert sum(one.total_values for one in held if not one.adapter) == total(architecture)


@pytest.mark.parametrize(
    ("method", "trains"), [("full", True), ("lora", False), ("qlora", False), ("inference", False)]
)
def test_who_trains(method: str, trains: bool) -> None:
    found = states(method=method)
    assert (found.trainable == total(architecture_of(LLAMA))) == trains
    assert (found.gradients > 0) == (method != "inference")
    assert (found.adapters > 0) == (method in ("lora", "qlora"))


def test_adapters_by_hand() -> None:
    """PEFT: rank × (inputs + outputs) for each adapted matrix; fp32 even beside a bf16 base."""
    found = states(method="lora", lora={"rank": 16, "targets": ["q_proj", "v_proj"]})
    q, v = 16 * (512 + 512), 16 * (512 + 128)
    assert found.adapter_parameters == found.trainable == 4 * (q + v)
    assert found.adapters == 4 * (q + v) * 4
    assert found.gradients == found.adapters
    assert found.weights == states().weights


def test_all_linear_leaves_out_the_head() -> None:
    found = states(method="lora", lora={"rank": 8})
    shapes = [(512, 512), (512, 128), (512, 128), (512, 512), (512, 1408), (512, 1408), (1408, 512)]
    assert found.adapter_parameters == 4 * sum(8 * (inputs + outputs) for inputs, outputs in shapes)


def test_a_4_bit_base_packs_the_layers_matrices_and_nothing_else() -> None:
    """Embeddings, head and norms are held in fp32 after prepare_model_for_kbit_training, in 16 bit without it."""
    matrices = 4 * (2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1408)
    rest = total(architecture_of(LLAMA)) - matrices
    upcast, plain = (
        states(method="qlora", quantization={"fp32_unquantized": upcast}).weights for upcast in (True, False)
    )
    assert upcast - plain == pytest.approx(2 * rest, rel=0.01)
    assert plain == pytest.approx(matrices * 0.515869 + 2 * rest, rel=0.01)


def test_freezing_trains_the_last_layers_and_the_head() -> None:
    layer = 2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1408 + 2 * 512
    head, norm, embeddings = 4000 * 512, 512, 4000 * 512

    def trainable(**freeze: Any) -> int:
        frozen = 4 - freeze["trainable_layers"]
        return states(frozen_layers=frozen, method="freeze", freeze=freeze).trainable

    assert trainable(trainable_layers=2) == 2 * layer + head + norm
    assert trainable(trainable_layers=2, head=False) == 2 * layer
    assert trainable(trainable_layers=0) == head + norm
    assert trainable(trainable_layers=1, head=False, embeddings=True) == layer + embeddings


def test_a_tied_head_trains_its_table() -> None:
    tied = {**LLAMA, "tie_word_embeddings": True}
    found = states(tied, 4, method="freeze", freeze={"trainable_layers": 0})
    assert found.trainable == 4000 * 512 + 512


# sharding


@pytest.mark.parametrize(
    ("strategy", "gb"), [("none", 84.0), ("ddp", 84.0), ("zero1", 35.0), ("zero2", 22.75), ("zero3", 10.5)]
)
def test_zero_divides_84_gb_over_8_devices(strategy: str, gb: float) -> None:
    """Rajbhandari et al., "ZeRO", 2020, figure 1: states, then gradients, then weights are divided."""
    whole = States(14 * 10**9, 0, 14 * 10**9, 56 * 10**9, 56 * 10**9, 0, 0, 7 * 10**9, 0)
    one = sharded(whole, Hardware.model_validate({"devices": 8, "sharding": {"strategy": strategy}}))
    assert (one.weights + one.gradients + one.optimizer) / 1e9 == gb


def test_master_weights_go_with_the_optimizer_states() -> None:
    """DeepSpeed ZeRO-1: 2 + 2 + 12 / d bytes a parameter."""
    whole = States(2_000, 0, 2_000, 8_000, 8_000, 4_000, 0, 1_000, 0)
    one = sharded(whole, Hardware.model_validate({"devices": 4, "sharding": {"strategy": "zero1"}}))
    assert (one.weights, one.gradients, one.optimizer, one.master) == (2_000, 2_000, 2_000, 1_000)


@given(st.integers(0, 10**15), st.integers(1, 10**6))
def test_the_largest_share_holds_no_less_than_its_part(num_bytes: int, devices: int) -> None:
    assert 0 <= share(num_bytes, devices) * devices - num_bytes < devices


@pytest.mark.parametrize(
    ("sizes", "devices"), [({}, 16), ({"tensor_parallel": 4}, 4), ({"pipeline_parallel": 4, "context_parallel": 2}, 2)]
)
def test_data_parallel_devices_are_those_that_other_splits_leave(sizes: dict[str, int], devices: int) -> None:
    assert data_parallel_devices(Hardware.model_validate({"devices": 16, **sizes})) == devices


@pytest.mark.parametrize("strategy", ["fsdp1", "fsdp2", "megatron"])
def test_one_device_shares_with_nobody(strategy: str) -> None:
    """DeepSpeed has its buckets all the same."""
    alone = {"devices": 1, "sharding": {"strategy": strategy}}
    found, plain = (
        estimate(Scenario.model_validate({"model": {"config": LLAMA}, "hardware": hardware}))
        for hardware in (alone, {"devices": 1})
    )
    assert found.peak.total_bytes == plain.peak.total_bytes


def test_frozen_layers_are_the_first_whatever_their_kind() -> None:
    """DeepSeek-V2's first layer is dense, the others are mixtures: two layers that train are two mixtures."""
    config = next(case["model"] for case in cases("families_experts.json") if case["id"] == "deepseek_v2, lora")
    dense, experts = architecture_of(config).kinds
    each = [sum(prod(weight.shape) for weight in layer.weights()) for layer in (dense, experts)]
    freeze = {"trainable_layers": 2, "head": False, "embeddings": False}
    found = states(config, frozen_layers=1, method="freeze", freeze=freeze)
    assert each[0] != each[1]
    assert found.trainable == 2 * each[1]
