"""The map of batch and sequence. What is right: the estimate that is made for a cell alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memplan.estimate import estimate
from memplan.fit import largest_micro_batch
from memplan.memory.blocks.loss import chunk_rows
from memplan.memory.symbols import Symbols, counted
from memplan.memory_map import MAP_VERDICTS, memory_map
from memplan.plan.edit import replaced
from memplan.plan.scenario import Scenario
from memplan.result import Estimate
from tests.core.small_models import LLAMA, MIXTRAL, SMALL

ROUNDING, BLOCKS = 1e-4, 512 * 512
"""Tensors that follow batch or sequence are not rounded up to blocks of 512 bytes in a map; a few hundred are alive."""
SEVERAL = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])

# What real models bring: latent attention, an indexer, chunks of a gated delta rule, state-space layers, sinks, windows.
CATALOG = (
    "deepseek-ai/DeepSeek-V3",
    "deepseek-ai/DeepSeek-V3.2",
    "google/gemma-2-27b",
    "google/gemma-3-12b-pt",
    "openai/gpt-oss-120b",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "tiiuae/falcon-7b",
    "bigscience/bloom-7b1",
    "ai21labs/AI21-Jamba-Mini-1.5",
    "LiquidAI/LFM2-1.2B",
)
EXPERTS_AS_MODULES = {**MIXTRAL, "num_local_experts": 8}
MODELS = st.one_of(
    st.sampled_from([{"config": SMALL[name]} for name in sorted(SMALL)]),
    st.sampled_from([{"catalog": name} for name in CATALOG]),
    st.sampled_from([{"parameters": 125_000_000}, {"parameters": 7_000_000_000}, {"config": EXPERTS_AS_MODULES}]),
)
TRAININGS = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["full", "lora", "qlora", "freeze", "inference"]),
        "lora": st.fixed_dictionaries({"rank": st.sampled_from([8, 64]), "dropout": st.sampled_from([0.0, 0.1])}),
        "freeze": st.fixed_dictionaries({"trainable_layers": st.integers(0, 6)}),
        "weights_dtype": st.sampled_from(["fp32", "bf16", "fp16"]),
        "autocast": st.sampled_from(["none", "bf16"]),
        "gradients_dtype": st.sampled_from(["weights", "fp32"]),
        "optimizer": st.sampled_from(["adamw", "sgd", "adafactor"]),
        "optimizer_in_backward": st.booleans(),
        "gradient_accumulation": st.sampled_from([1, 4]),
        "checkpointing": st.sampled_from(["none", "full", "selective", "offload"]),
        "attention": st.sampled_from(["eager", "sdpa", "flash"]),
        "loss": st.sampled_from(["plain", "chunked", "fused"]),
        "kernels": st.sampled_from(["transformers", "litgpt", "torchtune", "megatron", "mlx"]),
        "kernels_version": st.sampled_from([None, "4.48", "4.45"]),
    }
)
HARDWARES = st.fixed_dictionaries(
    {
        "devices": st.sampled_from([1, 2, 8, 64]),
        "sharding": st.fixed_dictionaries(
            {
                "strategy": st.sampled_from(["none", "ddp", "zero2", "zero3", "fsdp1", "fsdp2", "megatron"]),
                "mixed_precision": st.booleans(),
                "reshard_after_forward": st.booleans(),
            }
        ),
        "pipeline_parallel": st.sampled_from([1, 1, 2]),
        "context_parallel": st.sampled_from([1, 1, 4]),
        "offload": st.fixed_dictionaries({"activations": st.booleans(), "parameters": st.booleans()}),
    }
)
BATCHES = st.lists(st.integers(1, 200), min_size=1, max_size=2, unique=True)
SEQUENCES = st.lists(st.integers(1, 9000) | st.integers(1, 400).map(lambda n: 512 * n), min_size=1, max_size=3)


def scenario_of(model: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any] | None = None) -> Scenario:
    return Scenario.model_validate({"model": model, "training": training, "hardware": hardware or {}})


def alone(scenario: Scenario, batch: int, sequence: int) -> Estimate:
    with_batch = replaced(scenario, "training.micro_batch", batch)
    return estimate(replaced(with_batch, "training.sequence_length", sequence))


@given(model=MODELS, training=TRAININGS, hardware=HARDWARES, batches=BATCHES, sequences=SEQUENCES)
@SEVERAL
def test_every_cell_is_the_estimate_made_for_it(
    model: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any], batches: list[int], sequences: list[int]
) -> None:
    scenario = scenario_of(model, training, hardware)
    found = memory_map(scenario, batches, sequences)
    rounding = 10 * ROUNDING if training["kernels_version"] else ROUNDING  # hundreds of experts, each with its tensors
    for row, batch in enumerate(batches):
        for column, sequence in enumerate(sequences):
            right = alone(scenario, batch, sequence)
            for cell, figure in (
                (found.need_bytes, right.need_bytes),
                (found.low_bytes, right.need.low),
                (found.high_bytes, right.need.high),
            ):
                assert int(cell[row, column]) == pytest.approx(figure, rel=rounding, abs=BLOCKS)
                assert int(cell[row, column]) <= figure * (1 + 1e-9), "rounding up adds, and nothing else differs"


@pytest.mark.parametrize("checkpointing", ["none", "full"])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_where_tensors_are_whole_blocks_nothing_differs(checkpointing: str, attention: str) -> None:
    scenario = scenario_of({"config": LLAMA}, {"checkpointing": checkpointing, "attention": attention})
    found = memory_map(scenario, [1, 2, 3], [512, 2048])
    for row, batch in enumerate(found.batches):
        for column, sequence in enumerate(found.sequences):
            right = alone(scenario, batch, sequence)
            assert MAP_VERDICTS[found.verdicts[row, column]] == right.verdict
            assert (found.need_bytes[row, column], found.high_bytes[row, column]) == (right.need_bytes, right.need.high)


@pytest.mark.parametrize("window", [1000, 4096])
def test_a_window_is_met_where_it_begins(window: int) -> None:
    """sdpa makes a mask from a sequence as long as the window on; one token less needs none."""
    config = {**LLAMA, "model_type": "mistral", "sliding_window": window}
    scenario = scenario_of({"config": config}, {"optimizer": "sgd"})
    sequences = [window - 1, window, window + 1]
    found = memory_map(scenario, [2], sequences)
    right = [alone(scenario, 2, sequence).need_bytes for sequence in sequences]
    assert found.need_bytes[0].tolist() == pytest.approx(right, rel=ROUNDING)
    assert right[1] - right[0] > 1.5 * (right[2] - right[1])


@given(model=MODELS, training=TRAININGS, hardware=HARDWARES)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_more_never_needs_less(model: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any]) -> None:
    found = memory_map(scenario_of(model, training, hardware), range(1, 40), [1, 7, 300, 512, 1023, 1024, 8192, 40000])
    assert (np.diff(found.need_bytes, axis=0) >= 0).all()
    assert (np.diff(found.need_bytes, axis=1) >= 0).all()
    assert (found.low_bytes <= found.high_bytes).all()
    assert list(found.frontier) == sorted(found.frontier, reverse=True)


@pytest.mark.parametrize("method", ["full", "lora"])
def test_the_frontier_is_the_largest_batch_that_fits(method: str) -> None:
    scenario = scenario_of({"catalog": "meta-llama/Llama-3.2-1B"}, {"method": method})
    sequences = [512, 1536, 8192, 131072]
    found = memory_map(scenario, [1], sequences)
    right = [largest_micro_batch(replaced(scenario, "training.sequence_length", one)).fits for one in sequences]
    assert list(found.frontier) == right
    assert found.frontier[0] > 0


def test_the_frontier_is_nothing_where_nothing_fits() -> None:
    found = memory_map(scenario_of({"catalog": "meta-llama/Llama-3.1-70B"}, {}), [1], [512, 2048])
    assert found.frontier == (0, 0)
    assert found.verdicts.tolist() == [[2, 2]]


@pytest.mark.parametrize(("batches", "sequences"), [([], [512]), ([1], []), ([0], [512]), ([1], [-1])])
def test_a_map_of_nothing_is_refused(batches: list[int], sequences: list[int]) -> None:
    with pytest.raises(ValueError, match="from 1 up"):
        memory_map(scenario_of({"config": LLAMA}, {}), batches, sequences)


def test_what_no_device_holds_still_has_a_cell() -> None:
    found = memory_map(scenario_of({"catalog": "bigscience/bloom-7b1"}, {"attention": "eager"}), [10**6], [10**7])
    assert found.need_bytes[0, 0] > 2**61


def test_a_symbol_answers_for_its_region_and_says_where_it_ends() -> None:
    symbols = Symbols(1, 300)
    assert min(512, symbols.sequence) is symbols.sequence
    assert not symbols.sequence < 100
    assert symbols.batch == 1
    assert not symbols.batch > 1
    assert (symbols.sequence.cuts, symbols.batch.cuts) == ({512, 100}, {1, 2})


def test_what_is_counted_by_a_rule_of_its_own_is_a_symbol_of_its_own() -> None:
    symbols = Symbols(2, 512)
    rows = counted(symbols.batch, symbols.sequence, chunk_rows, 32000, 4096)
    assert counted(symbols.batch, symbols.sequence, chunk_rows, 32000, 4096) == rows
    [(monomial, number)] = symbols.polynomial(7 * symbols.batch * rows).items()
    assert (monomial.batch_power, monomial.sequence_power, monomial.counts, number) == (1, 0, (0,), 7)


@pytest.mark.parametrize("sequence_parallel", [True, False])
def test_a_map_of_generated_text_is_made_where_sequences_are_divided(sequence_parallel: bool) -> None:
    """Of the one token that is made next each device's part is it, however many sequences there are."""
    hardware = {"devices": 2, "tensor_parallel": 2, "sequence_parallel": sequence_parallel}
    scenario = Scenario.model_validate(
        {"model": {"config": LLAMA}, "training": {"method": "inference"}, "hardware": hardware}
    )
    found = memory_map(scenario, [1, 4], [512, 1024])
    for row, batch in enumerate(found.batches):
        for column, sequence in enumerate(found.sequences):
            sized = replaced(replaced(scenario, "training.micro_batch", batch), "training.sequence_length", sequence)
            assert found.need_bytes[row, column] == pytest.approx(estimate(sized).need_bytes, rel=0.001)
