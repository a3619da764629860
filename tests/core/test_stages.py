"""Pipelines stage by stage. What is right: Narayanan et al., 2021, and counts by hand on Llama-3.1-8B's shapes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.architecture.counts import total
from memplan.architecture.stages import layers_of, stages
from memplan.chosen_model import chosen_model
from memplan.estimate import estimate
from memplan.memory_map import memory_map
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Scenario
from memplan.result import Estimate
from memplan.sentences import stage_sentence, stage_words

LLAMA_8B, LLAMA_1B = "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.2-1B"
LAYER, TABLE, HIDDEN = 218_112_000, 128_256 * 4096, 4096


def scenario(
    model: str = LLAMA_8B, stages: int = 4, hardware: dict[str, Any] | None = None, **training: Any
) -> Scenario:
    return Scenario.model_validate(
        {
            "model": {"catalog": model},
            "training": {"sequence_length": 4096, **training},
            "hardware": {"devices": stages, "pipeline_parallel": stages, **(hardware or {})},
        }
    )


def answer(*given: Any, **training: Any) -> Estimate:
    return estimate(scenario(*given, **training))


def test_embeddings_on_the_first_head_on_the_last() -> None:
    found = stages(chosen_model(ModelChoice(catalog=LLAMA_8B)).architecture, 4)
    assert [(one.rank, one.alike, one.first_layer) for one in found] == [(0, 1, 0), (1, 2, 8), (3, 1, 24)]
    assert [total(one.part) for one in found] == [8 * LAYER + TABLE, 8 * LAYER, 8 * LAYER + HIDDEN + TABLE]


def test_a_tied_table_is_on_both_ends() -> None:
    whole = chosen_model(ModelChoice(catalog=LLAMA_1B)).architecture
    assert whole.tied
    assert sum(total(one.part) * one.alike for one in stages(whole, 4)) == total(whole) + 128_256 * 2048


@given(layers=st.integers(1, 500), count=st.integers(1, 500))
def test_every_layer_is_on_one_stage(layers: int, count: int) -> None:
    found = layers_of(layers, count)
    assert sum(found) == layers
    assert max(found) - min(found) <= 1
    assert sorted(found, reverse=True) == list(found)


@pytest.mark.parametrize(
    "model", [LLAMA_8B, LLAMA_1B, "deepseek-ai/DeepSeek-V3", "google/gemma-2-27b", "openai-community/gpt2"]
)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 1000])
def test_stages_together_are_the_model(model: str, count: int) -> None:
    whole = chosen_model(ModelChoice(catalog=model)).architecture
    found = stages(whole, count)
    copies = whole.tokens.rows * whole.tokens.width if whole.tied and len(found) > 1 else 0
    assert sum(one.alike * one.part.num_layers for one in found) == whole.num_layers
    assert sum(one.alike * total(one.part) for one in found) == total(whole) + copies


def test_the_first_stage_holds_as_many_micro_batches_as_there_are_stages() -> None:
    """1F1B: 4, 3, 2 and 1 in flight. Without checkpoints the first is the fullest, though the last has the logits."""

    def kept(accumulation: int) -> int:
        found = answer(gradient_accumulation=accumulation, loss="fused")
        assert found.stages[0].rank == 0
        return next(one for one in found.instants if one.name == "loss").bytes_by_term["activations"]

    two, three, four = (kept(accumulation) for accumulation in (2, 3, 4))
    assert kept(16) == four
    assert four - two == 2 * (three - two) == pytest.approx(2 * 8 * 4096 * 200_840, rel=1e-6)


def test_with_checkpoints_the_logits_decide() -> None:
    found = answer(gradient_accumulation=16, checkpointing="full")
    fullest = found.stages[0]
    assert (fullest.rank, fullest.in_flight, fullest.has_head, fullest.has_embeddings) == (3, 1, True, False)
    assert found.peak.where == "loss"
    assert stage_words(found) == "stage 4 of 4"
    assert stage_sentence(found).startswith("stage 4 of 4: layers 25 to 32, head and loss, 1 micro-batch in flight, ")


def test_only_the_last_stage_has_logits() -> None:
    first = answer(gradient_accumulation=16)
    assert first.stages[0].has_embeddings
    assert not any("logits and loss" in one.bytes_by_term for one in (*first.instants, *first.first_step))


def test_the_estimate_is_of_the_fullest_stage() -> None:
    found = answer(gradient_accumulation=8)
    peaks = [one.peak_bytes for one in found.stages]
    assert peaks == sorted(peaks, reverse=True)
    assert found.process.allocated - peaks[0] < 10 * 2**20  # cuBLAS' workspace


@pytest.mark.parametrize("strategy", ["none", "zero1", "fsdp2"])
def test_more_stages_never_need_more(strategy: str) -> None:
    """One micro-batch: with several, more stages have more in flight."""
    needs = [
        answer(LLAMA_8B, count, {"devices": 8, "sharding": {"strategy": strategy}}).process.allocated
        for count in (1, 2, 4, 8)
    ]
    if strategy == "none":  # elsewhere fewer devices are left to divide the states among
        assert needs == sorted(needs, reverse=True)
    assert needs[0] >= max(needs[1:]) or strategy != "none"


@pytest.mark.parametrize("method", ["full", "lora", "qlora", "freeze", "inference"])
@pytest.mark.parametrize("checkpointing", ["none", "full"])
def test_every_method_runs_on_every_stage(method: str, checkpointing: str) -> None:
    whole = answer(LLAMA_8B, 1, method=method, checkpointing=checkpointing)
    staged = answer(LLAMA_8B, 5, method=method, checkpointing=checkpointing)
    assert len(staged.stages) == 4  # seven layers and embeddings; seven; six; six and the head
    assert all(0 < one.peak_bytes < whole.process.allocated for one in staged.stages)


def test_layers_that_are_frozen_are_the_models_first() -> None:
    """Four layers and the head train: all on the last stage. The others keep nothing for backward."""
    found = answer(LLAMA_8B, 4, method="freeze")
    peaks = {one.rank: one.peak_bytes for one in found.stages}
    assert found.stages[0].rank == 3
    assert peaks[1] - 2 * 8 * LAYER < 0.6e9  # what passes through one layer; kept ones would come to 6.6 GB


def test_a_map_of_a_pipeline_is_of_its_fullest_stages() -> None:
    """The fullest stage is another for other sizes."""
    given = scenario(gradient_accumulation=4, checkpointing="full")
    found = memory_map(given, [1, 4], [512, 4096])
    for row, batch in enumerate(found.batches):
        for column, sequence in enumerate(found.sequences):
            one = scenario(gradient_accumulation=4, checkpointing="full", micro_batch=batch, sequence_length=sequence)
            assert int(found.need_bytes[row, column]) == pytest.approx(estimate(one).need_bytes, rel=1e-4)


def test_interleaved_stages_hold_as_megatron_counts() -> None:
    """L (1 + (p - 1) / (p v)) layers on the first rank (Korthikanti et al., 2022, section 4.2.3): 44 of Llama's 32 for p
    = 4 and v = 2, where a plain pipeline holds 32.
    """
    model = {"catalog": "meta-llama/Llama-3.1-8B"}
    found = {}
    for virtual in (1, 2, 4):
        hardware = {"devices": 4, "pipeline_parallel": 4, "virtual_stages": virtual}
        training = {"gradient_accumulation": 16, "optimizer_impl": "fused"}
        scenario = Scenario.model_validate({"model": model, "training": training, "hardware": hardware})
        found[virtual] = estimate(scenario)
    kept = {number: one.instants[1].bytes_by_term["activations"] for number, one in found.items()}
    layer = (kept[2] - kept[1]) / 12
    assert kept[4] - kept[1] == pytest.approx(6 * layer, rel=1e-6)
    assert 31.9 * layer < kept[1] < 32.5 * layer
    assert found[2].stages[0].in_flight == 6


def test_a_device_without_a_pipeline_has_no_virtual_stages() -> None:
    content = {"model": {"catalog": "meta-llama/Llama-3.1-8B"}, "training": {"gradient_accumulation": 4}}
    plain, virtual = (
        estimate(Scenario.model_validate({**content, "hardware": {"virtual_stages": number}})) for number in (1, 4)
    )
    assert plain.instants == virtual.instants
    assert any(one.path == "hardware.virtual_stages" for one in virtual.warnings)
