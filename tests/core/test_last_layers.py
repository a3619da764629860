"""Adapters on the last layers alone. What is right: traces of PEFT's layers_to_transform, and counts by hand."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from memplan.architecture.chosen_layers import adapted_on_last
from memplan.architecture.from_config import architecture_of
from memplan.architecture.stages import stages
from memplan.estimate import estimate
from memplan.plan.edit import replaced
from memplan.plan.scenario import Scenario
from memplan.plan.training import Lora
from memplan.result import Estimate
from tests.core.small_models import LLAMA, OPT, Config
from tests.core.truth_cases import DRIFT, FIRST_DRIFT, by_id, cases, errors, scenario_of, too_far

CASES = cases("last_layers.json")
KNOWN_GAPS = {"last 2 of 8, gemma3n": 0.0035}
"""Cases that are further off than `DRIFT`, each with how far: keys and values that layers with adapters take from one
without, which keeps nothing itself, are not counted."""


def scenario(
    last: int | None, config: Config = LLAMA, hardware: dict[str, Any] | None = None, **training: Any
) -> Scenario:
    lora = {"last_layers": last, **training.pop("lora", {})}
    given = {"method": "lora", "sequence_length": 512, "lora": lora, **training}
    return Scenario.model_validate({"model": {"config": config}, "training": given, "hardware": hardware or {}})


def answer(*given: Any, **training: Any) -> Estimate:
    return estimate(scenario(*given, **training))


@pytest.mark.parametrize("case", CASES, ids=by_id)
def test_it_is_as_traced(case: dict[str, Any]) -> None:
    found = estimate(scenario_of(case))
    assert found.parameters.total == case["bytes"]["parameters"]
    assert found.parameters.trainable == case["bytes"]["trainable"]
    allowed = KNOWN_GAPS.get(case["id"], DRIFT)
    assert too_far(errors(case, found), allowed, max(allowed, FIRST_DRIFT)) == {}


def test_known_gaps_are_cases() -> None:
    assert set(KNOWN_GAPS) <= {case["id"] for case in CASES}


@pytest.mark.parametrize("last", [0, -1, 2.5])
def test_it_is_a_count_from_one(last: float) -> None:
    with pytest.raises(ValidationError):
        Lora.model_validate({"last_layers": last})


@pytest.mark.parametrize("last", [1, 2, 4, 9])
def test_adapters_are_those_of_the_last_layers(last: int) -> None:
    """Rank 16: 16 (inputs + outputs) for each of the seven matrices of a layer; four layers are all there are."""
    hidden, keys, width = 512, 128, 1408
    matrices = [(hidden, hidden), (hidden, keys), (hidden, keys), (hidden, hidden)]
    matrices += [(hidden, width), (hidden, width), (width, hidden)]
    one = sum(16 * sum(matrix) for matrix in matrices)
    assert answer(last).parameters.trainable == min(last, 4) * one


def test_all_layers_are_as_if_none_were_said() -> None:
    assert answer(4).bytes == answer(None).bytes
    assert answer(5).bytes == answer(4).bytes


def test_layers_before_the_first_adapter_keep_nothing() -> None:
    """Each layer with adapters keeps as much as another; those before them keep nothing."""
    kept = [answer(last).bytes.forward_end - answer(last).bytes.zeroed for last in (1, 2, 3)]
    assert kept[1] - kept[0] == kept[2] - kept[1] > 0


def test_checkpoints_keep_the_input_of_every_layer() -> None:
    """PEFT makes the embeddings need a gradient, so every layer is recorded: 2 bytes × 512 × 512 tokens of each."""
    ends = [answer(last, checkpointing="full").bytes for last in (1, 4)]
    kept = [end.forward_end - end.zeroed for end in ends]
    assert kept[0] == kept[1] >= 4 * 2 * 512 * 512


def test_more_layers_are_never_less_memory() -> None:
    for checkpointing in ("none", "full"):
        peaks = [answer(last, checkpointing=checkpointing).bytes.peak for last in (1, 2, 3, 4)]
        assert peaks == sorted(peaks)


@pytest.mark.parametrize("kernels", ["mlx", "torchtitan", "torchtune", "litgpt"])
def test_checkpoints_that_ask_for_nothing_leave_bare_layers_alone(kernels: str) -> None:
    """PyTorch records no layer that needs no gradient, checkpointed or not, and MLX evaluates none twice: only PEFT and
    transformers 5 make embeddings need gradients. What each adapted layer keeps is its input, 2 × 512 × 512 tokens."""
    ends = [answer(last, checkpointing="full", kernels=kernels).bytes for last in (1, 2, 4)]
    kept = [end.forward_end - end.zeroed for end in ends]
    assert kept[1] - kept[0] >= 2 * 512 * 512
    assert kept[2] - kept[1] == 2 * (kept[1] - kept[0])


@pytest.mark.parametrize("checkpointing", ["none", "full"])
def test_fewer_adapters_are_never_more_under_mlx(checkpointing: str) -> None:
    """Layers with and without adapters are of one kind there, of which backward holds two: where embeddings train, or
    every second one is recomputed, as elsewhere."""
    for lora in ({}, {"modules_to_save": ["embed_tokens"]}):
        given = {"kernels": "mlx", "checkpointing": checkpointing, "checkpoint_every": 2, "lora": lora}
        peaks = [answer(last, **given).bytes.peak for last in (1, 2, 3, 4)]
        assert peaks == sorted(peaks)


def test_a_name_reaches_a_module_outside_the_layers_only_where_it_is_the_head() -> None:
    """peft 0.21.2, check_target_module_exists: what stands in no numbered layer needs its whole name."""
    config = {**OPT, "word_embed_proj_dim": 128, "do_layer_norm_before": False}
    layers, all_modules = (answer(last, config).parameters.trainable for last in (4, None))
    assert all_modules - layers == 2 * 16 * (128 + 384)  # in and out of the narrower embedding
    named = answer(4, config, lora={"targets": "all-linear+lm_head"}).parameters.trainable
    assert named - layers == 16 * (128 + 5000)


def test_a_tower_that_text_does_not_pass_through_gets_none() -> None:
    vision = {"model_type": "siglip_vision_model", "hidden_size": 64, "intermediate_size": 128}
    vision |= {"num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 56, "patch_size": 14}
    config = {"model_type": "llava", "text_config": LLAMA, "vision_config": vision}
    assert answer(4, config).parameters.trainable == answer(None).parameters.trainable
    assert answer(None, config).parameters.trainable > answer(4, config).parameters.trainable


def test_a_later_stage_records_what_it_receives() -> None:
    """What a stage receives needs a gradient (torch.distributed.pipelining, stage.py): its layers keep as much with
    adapters on the last one alone. The first stage has none, and keeps nothing."""
    hardware = {"devices": 2, "pipeline_parallel": 2}
    few, all_layers = (answer(last, LLAMA, hardware) for last in (1, None))
    first, last = sorted(few.stages, key=lambda one: one.rank)
    assert first.peak_bytes < min(one.peak_bytes for one in all_layers.stages)
    assert last.peak_bytes > first.peak_bytes


def test_layers_are_cut_where_their_kinds_take_turns() -> None:
    whole = architecture_of({**LLAMA, "model_type": "gemma2", "head_dim": 64})
    part = adapted_on_last(whole, 3)
    assert [layer.adapted for layer, count in part.layers for _ in range(count)] == [False, True, True, True]
    assert part is adapted_on_last(whole, 3)
    assert adapted_on_last(whole, 4) is whole
    assert len(stages(part, 4)) == 4


def test_it_plays_no_part_where_no_adapter_trains() -> None:
    for method in ("full", "freeze", "inference"):
        assert answer(1, method=method).bytes == answer(None, method=method).bytes


@pytest.mark.parametrize("strategy", ["ddp", "zero2", "zero3", "fsdp1", "fsdp2"])
def test_gradients_shared_out_are_those_of_the_adapted_layers(strategy: str) -> None:
    hardware = {"devices": 4, "sharding": {"strategy": strategy}}
    one, two = (answer(last, LLAMA, hardware) for last in (1, 2))
    assert two.parameters.trainable == 2 * one.parameters.trainable
    assert one.bytes.peak < two.bytes.peak


def test_an_edit_of_the_field_is_what_a_plan_says() -> None:
    edited = replaced(scenario(None), "training.lora.last_layers", 2)
    assert estimate(edited).bytes == answer(2).bytes
