"""The rows that explain a term add up to it at every instant, whatever the set-up; what no row names is named as the rest."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from memplan.result import UNTIL_FORWARD_ENDS, Estimate, Instant, LedgerRow

LLAMA = "meta-llama/Llama-3.1-8B"
BY_ROWS = ("weights", "adapters", "KV cache", "activations", "logits and loss")
"""Terms that are known tensor by tensor; the formulas of the others say all of them."""


def answer(training: dict[str, Any], hardware: dict[str, Any] | None = None, model: str = LLAMA) -> Estimate:
    return estimate(
        Scenario.model_validate({"model": {"catalog": model}, "training": training, "hardware": hardware or {}})
    )


def instants(found: Estimate) -> tuple[Instant, ...]:
    return (*found.first_step, *found.instants)


def rows(found: Estimate, term: str, instant: Instant) -> tuple[LedgerRow, ...]:
    return next(one for one in found.terms if one.name == term).rows_at(instant)


def shards(strategy: str, **more: Any) -> dict[str, Any]:
    return {"devices": 8, "sharding": {"strategy": strategy, **more}}


FP32 = {"weights_dtype": "fp32", "autocast": "bf16"}
TRAININGS: tuple[dict[str, Any], ...] = tuple(
    {"method": method, "checkpointing": checkpointing, "sequence_length": 512, **precision}
    for method in ("full", "lora", "qlora", "freeze")
    for checkpointing in ("none", "full", "selective", "offload")
    for precision in ({}, FP32)
)
OTHERS: tuple[dict[str, Any], ...] = (
    {"method": "inference"},
    {"method": "inference", **FP32},
    {"inference": {"kv_cache": False}, "method": "inference"},
    {"attention": "eager"},
    {"loss": "chunked"},
    {"loss": "fused"},
    {"gradient_accumulation": 4, "micro_batch": 3},
    {"kernels": "unsloth", "method": "qlora", "checkpointing": "offload"},
    {"kernels": "torchtune"},
    {"kernels": "mlx", "method": "lora"},
    {"trainer": "accelerate", **FP32},
)
HARDWARE: tuple[dict[str, Any], ...] = (
    *(shards(one) for one in ("ddp", "zero1", "zero2", "zero3", "fsdp1", "fsdp2")),
    shards("fsdp2", mixed_precision=False),
    {"devices": 8, "tensor_parallel": 8, "sequence_parallel": True},
    {"devices": 8, "pipeline_parallel": 4},
    {"devices": 2, "context_parallel": 2},
    {"offload": {"activations": True}},
    {"offload": {"optimizer": True, "parameters": True}},
)


def check(found: Estimate) -> None:
    for instant in instants(found):
        for term, size in instant.bytes_by_term.items():
            listed = rows(found, term, instant)
            if term in BY_ROWS:
                assert listed, (term, instant)
            if listed:
                assert sum(row.total_bytes for row in listed) == size, (term, instant.name)
                assert all(row.name and row.count > 0 and row.total_bytes > 0 for row in listed), (term, instant.name)


@pytest.mark.parametrize("training", [*TRAININGS, *OTHERS], ids=str)
def test_rows_add_up_to_their_term(training: dict[str, Any]) -> None:
    check(answer({"sequence_length": 512, **training}))


@pytest.mark.parametrize("hardware", HARDWARE, ids=str)
@pytest.mark.parametrize("method", ["full", "lora"])
def test_rows_add_up_on_a_device_of_several(hardware: dict[str, Any], method: str) -> None:
    check(answer({"method": method, "checkpointing": "full", "sequence_length": 512, **FP32}, hardware))


@pytest.mark.parametrize("model", ["google/gemma-2-9b", "Qwen/Qwen3-30B-A3B", "openai-community/gpt2"])
@pytest.mark.parametrize("checkpointing", ["none", "full"])
def test_rows_add_up_in_other_models(model: str, checkpointing: str) -> None:
    check(answer({"checkpointing": checkpointing, "sequence_length": 512, **FP32}, model=model))


def test_autocast_copies_of_all_layers_are_listed() -> None:
    """7 matrices of 32 layers in 16 bit are 12.999 GiB: nearly all that the term holds beside its checkpoints."""
    found = answer({"checkpointing": "full", "sequence_length": 4096, **FP32})
    forward = next(one for one in found.instants if one.name == "forward")
    copies = [row for row in rows(found, "activations", forward) if row.note == UNTIL_FORWARD_ENDS]
    a_layer = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14_336)
    assert sum(row.total_bytes for row in copies) == 31 * a_layer  # of the last, under way, more is cast bit by bit
    term = next(one for one in found.terms if one.name == "activations")
    assert f"32 × {a_layer:,}" in term.formula
    rest = [row.total_bytes for row in rows(found, "activations", forward) if "outside" in row.name]
    assert sum(rest) < 0.01 * term.largest_bytes


def test_no_row_of_the_rest_hides_what_layers_keep() -> None:
    """What no tensor is named for stays under a twentieth where all is on the device."""
    found = answer({"sequence_length": 2048})
    for instant in found.instants:
        if instant.name in ("forward", "loss"):
            listed = rows(found, "activations", instant)
            unnamed = sum(row.total_bytes for row in listed if not row.shape)
            assert unnamed < 0.05 * instant.bytes_by_term["activations"]
