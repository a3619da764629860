"""Optimizer states and steps. What is right: torch 2.13, bitsandbytes 0.50.2 and torchao, measured or read."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.memory.optimizer_steps import step_temporary_bytes
from memplan.memory.optimizers import RULES, paged_tensors, state_bytes, state_dtype, state_tensors
from memplan.memory.states import HeldTensor
from memplan.plan.field_facts import facts
from memplan.plan.training import Training

SHAPE = (4096, 4096)
VALUES = 4096 * 4096


def training(**values: Any) -> Training:
    return Training.model_validate(values)


def tensor(shape: tuple[int, ...] = SHAPE, dtype: str = "bf16", **more: Any) -> HeldTensor:
    return HeldTensor("w", shape, 1, dtype, trains=more.pop("trains", True), **more)


def per_value(optimizer: str, dtype: str = "bf16", **more: Any) -> float:
    """On the device and on the host together."""
    given = training(optimizer=optimizer, **more)
    return (state_bytes(tensor(dtype=dtype), given) + sum(paged_tensors(tensor(dtype=dtype), given))) / VALUES


def test_every_optimizer_of_the_plan_has_a_rule() -> None:
    assert set(RULES) == set(facts(Training, "optimizer").choices)
    assert all(rule.title and rule.source for rule in RULES.values())


@pytest.mark.parametrize(
    ("optimizer", "dtype", "bytes_"),
    [
        ("adamw", "fp32", 8),
        ("adamw", "bf16", 4),  # PyTorch keeps states in the parameter's dtype
        ("adamw", "fp16", 4),
        ("sgd", "fp32", 0),
        ("sgd_momentum", "fp32", 4),
        ("sgd_momentum", "bf16", 2),
        ("adagrad", "fp32", 4),
        ("rmsprop", "fp32", 4),
        ("muon", "fp32", 4),
        ("muon", "bf16", 2),
        ("lion", "bf16", 4),  # bitsandbytes' 32-bit states are fp32 even for bf16 parameters
        ("adamw_8bit", "bf16", 2 * (1 + 4 / 256)),
        ("adamw_8bit", "fp32", 2 * (1 + 4 / 256)),
        ("lion_8bit", "bf16", 1 + 4 / 256),
        ("adamw_4bit", "bf16", 2 * (0.5 + 4 / 128)),
        ("adamw_fp8", "bf16", 2 * (1 + 4 / 256)),
        ("ademamix", "bf16", 12),
        ("ademamix_8bit", "bf16", 3 * (1 + 4 / 256)),
        ("schedule_free_adamw", "bf16", 4),  # z, a copy of the weights, and the second moment
        ("paged_adamw_32bit", "bf16", 8),
        ("paged_adamw_8bit", "bf16", 2 * (1 + 4 / 256)),
        ("adafactor", "bf16", 0),
    ],
)
def test_bytes_a_trainable_parameter(optimizer: str, dtype: str, bytes_: float) -> None:
    assert per_value(optimizer, dtype) == pytest.approx(bytes_, abs=0.002)


def test_states_in_a_dtype_of_choice() -> None:
    assert per_value("adamw", optimizer_state_dtype="fp32") == pytest.approx(8, abs=0.001)
    assert per_value("adamw", "fp32", optimizer_state_dtype="bf16") == pytest.approx(4, abs=0.001)
    assert state_dtype(tensor(), training(master_weights=True)) == "fp32"  # they follow the master copy


def test_a_step_counter_for_each_tensor_of_some_optimizers() -> None:
    """torch counts steps in an fp32 tensor of its own, which takes a block of 512 bytes."""
    assert state_tensors(tensor((10,)), training()) == [4, 20, 20]
    assert state_bytes(tensor((10,)), training()) == 3 * 512
    assert state_tensors(tensor((10,)), training(optimizer="sgd_momentum")) == [20]


def test_paged_optimizers_leave_scales_maps_and_small_tensors_on_the_device() -> None:
    """bitsandbytes pages moments of 100,000 values and more."""
    paged = training(optimizer="paged_adamw_8bit")
    assert state_bytes(tensor(), paged) == 2 * 4 * VALUES // 256 + 2 * 1024
    assert paged_tensors(tensor((99_999,)), paged) == []
    assert state_bytes(tensor((99_999,)), paged) > 2 * 99_999


def test_small_tensors_stay_in_fp32_under_8_bit() -> None:
    """bitsandbytes: min_8bit_size is 4096; of the two maps of 256 fp32 values, which all
    larger tensors share, each is counted with its own: 2 KiB too much.
    """
    small, large = ((shape, training(optimizer="adamw_8bit")) for shape in ((4095,), (4096,)))
    assert state_tensors(tensor(small[0]), small[1]) == [4 * 4095, 4 * 4095]
    assert sum(state_tensors(tensor(large[0]), large[1])) == 2 * (4096 + 16 * 4) + 2 * 1024


def test_adafactor_keeps_rows_and_columns_and_vectors_whole() -> None:
    assert state_tensors(tensor((300, 200)), training(optimizer="adafactor")) == [4, 600, 400]
    assert state_tensors(tensor((300,)), training(optimizer="adafactor")) == [4, 600]


@pytest.mark.parametrize("optimizer", ["muon", "galore", "apollo"])
def test_what_is_no_matrix_of_a_layer_has_the_states_of_adamw(optimizer: str) -> None:
    """torch.optim.Muon refuses other than 2-D tensors and leaves embeddings to AdamW, as GaLore's target modules do."""
    given = training(optimizer=optimizer)
    for one in (tensor((300,)), tensor(component="embeddings"), tensor(component="head"), tensor((8, 64, 64))):
        assert state_tensors(one, given) == [2 * one.values] * 2
    assert sum(state_tensors(tensor(component="mlp"), given)) < 2 * 2 * VALUES


def test_the_trainer_keeps_embeddings_from_8_bit() -> None:
    """transformers 5.24, Trainer.create_optimizer: 32-bit states for every nn.Embedding under bitsandbytes' 8 bit."""
    table = tensor(component="embeddings")
    assert sum(state_tensors(table, training(optimizer="adamw_8bit", trainer="accelerate"))) == 8 * VALUES
    assert sum(state_tensors(table, training(optimizer="adamw_8bit"))) < 2.1 * VALUES
    paged = training(optimizer="paged_adamw_8bit", trainer="trl")
    assert paged_tensors(table, paged) == state_tensors(table, paged) == [4 * VALUES] * 2


def test_torchao_packs_whole_blocks_alone() -> None:
    """torchao, _new_buffer: from 4096 values on, and where blocks of 128 (fp8: 256) divide them; else the own dtype."""
    four = training(optimizer="adamw_4bit")
    assert state_tensors(tensor((4096 + 64,)), four) == [4, 2 * 4160, 2 * 4160]
    assert state_tensors(tensor((4096,)), four) == [4, *[2048, 128, 64] * 2]
    assert state_tensors(tensor((4096 + 128,)), training(optimizer="adamw_fp8")) == [4, 2 * 4224, 2 * 4224]


def test_galore_keeps_moments_of_a_low_rank_and_a_projection() -> None:
    """Zhao et al. 2024: 2 r n + m r values for an m × n matrix, m ≤ n; rank 128 in the published set-up."""
    found = sum(state_tensors(tensor((1024, 4096)), training(optimizer="galore")))
    assert found == (2 * 128 * 4096 + 1024 * 128) * 2


@pytest.mark.parametrize("optimizer", sorted(RULES))
def test_a_frozen_tensor_has_no_state(optimizer: str) -> None:
    assert state_tensors(tensor(trains=False), training(optimizer=optimizer)) == []


# the step


def temporary(*shapes: tuple[int, ...], dtype: str = "bf16", **more: Any) -> int:
    return int(step_temporary_bytes(tuple(tensor(shape, dtype) for shape in shapes), training(**more)))


def test_foreach_holds_one_more_copy_of_the_second_moments() -> None:
    """Measured on torch 2.13: 1.000 × the parameters' bytes."""
    assert temporary(SHAPE, (4096,)) == (VALUES + 4096) * 2


def test_fused_holds_none() -> None:
    assert temporary(SHAPE, (4096,), optimizer_impl="fused") == 0


def test_a_loop_holds_two_tensors_of_one_parameter_and_one_of_the_one_before() -> None:
    a, b = 1000 * 512 * 2, 100 * 512 * 2
    assert temporary((1000, 512), (100, 512), optimizer_impl="for_loop") == max(2 * a, a + 2 * b)


@pytest.mark.parametrize("optimizer", ["sgd", "sgd_momentum", "adamw_8bit", "lion_8bit"])
@pytest.mark.parametrize("implementation", ["foreach", "for_loop", "fused"])
def test_some_steps_work_in_place(optimizer: str, implementation: str) -> None:
    assert temporary(SHAPE, optimizer=optimizer, optimizer_impl=implementation) == 0


def test_steps_that_were_run_on_real_tensors() -> None:
    """torch 2.13, transformers 5.24, schedulefree 1.4, on the CPU: matrices of 2^19, 2^19, 2^20 and 2^17 values."""
    shapes, largest = ((512, 1024), (1024, 512), (2048, 512), (256, 512)), 2**20
    whole = sum(a * b for a, b in shapes)
    for name, copies in (("adagrad", 2), ("rmsprop", 1), ("schedule_free_adamw", 1), ("adafactor", 1)):
        assert temporary(*shapes, optimizer=name) == copies * 2 * whole
    assert temporary(*shapes, optimizer="adafactor", trainer="accelerate") == 16 * largest
    assert temporary(*shapes, dtype="fp32", optimizer="adafactor", trainer="accelerate") == 8 * largest
    assert temporary(*shapes, optimizer="muon") == 7 * largest
    assert temporary(*shapes, dtype="fp32", optimizer="muon") == 9 * largest


def test_what_has_no_fused_step_makes_its_copies() -> None:
    assert temporary(SHAPE, optimizer="rmsprop", optimizer_impl="fused") == 2 * VALUES
    assert temporary(SHAPE, optimizer="adagrad", optimizer_impl="fused") == 0  # torch 2.13 has a kernel for it


def test_nothing_trains_nothing_is_held() -> None:
    assert step_temporary_bytes((tensor(trains=False),), training()) == 0
