"""Checkpoints on one layer in so many. What is right: torchtitan's rule, counts by hand, and traces (extra.json)."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from memplan.architecture.chosen_layers import adapted_on_last, checkpointed_every
from memplan.architecture.from_config import architecture_of
from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.report.set_up import training_words
from memplan.result import TraceBytes
from tests.core.small_models import LLAMA

CONFIG = {**LLAMA, "num_hidden_layers": 7}
POSITIONS = 8 * 512
"""Position ids, which checkpoints hold."""


def traced(every: int, checkpointing: str = "full", **training: Any) -> TraceBytes:
    given = {"checkpointing": checkpointing, "checkpoint_every": every, "sequence_length": 512, **training}
    return estimate(Scenario.model_validate({"model": {"config": CONFIG}, "training": given})).bytes


@pytest.mark.parametrize(
    ("every", "which"), [(1, [1, 2, 3, 4, 5, 6, 7]), (2, [2, 4, 6]), (3, [3, 6]), (7, [7]), (8, [])]
)
def test_a_layer_is_recomputed_whose_number_it_divides(every: int, which: list[int]) -> None:
    """torchtitan counts layers from 1 and wraps each whose count can be divided by selective_ac_option."""
    found = checkpointed_every(architecture_of(CONFIG), every)
    each = [layer.checkpointed for layer, count in found.layers for _ in range(count)]
    assert [number for number, is_one in enumerate(each, 1) if is_one] == which
    assert len(found.kinds) <= 2


def test_both_kinds_of_choice_go_together() -> None:
    found = checkpointed_every(adapted_on_last(architecture_of(CONFIG), 3), 2)
    each = [(layer.adapted, layer.checkpointed) for layer, count in found.layers for _ in range(count)]
    assert each == [(number > 4, number % 2 == 0) for number in range(1, 8)]


def test_what_is_kept_is_that_of_each_kind() -> None:
    """Three of seven layers keep their input alone, the others what they keep without checkpoints."""
    without, with_all, second = (one.forward_end - one.zeroed for one in (traced(1, "none"), traced(1), traced(2)))
    one_less = (without + POSITIONS - with_all) / 7
    assert without + POSITIONS - second == 3 * one_less


def test_none_is_recomputed_where_there_are_fewer_layers() -> None:
    assert traced(8).forward_end == pytest.approx(traced(1, "none").forward_end, abs=POSITIONS)


@pytest.mark.parametrize("checkpointing", ["none", "selective", "offload"])
def test_it_plays_no_part_elsewhere(checkpointing: str) -> None:
    assert traced(2, checkpointing) == traced(1, checkpointing)


def test_nothing_is_divided_by_zero() -> None:
    with pytest.raises(ValidationError):
        Training(checkpoint_every=0)


def test_the_report_says_it() -> None:
    words = training_words(Training(checkpointing="full", checkpoint_every=2))
    assert "checkpointing of one layer in 2" in words
    assert "every layer" in training_words(Training(checkpointing="full"))


def test_each_stage_of_a_pipeline_counts_from_its_own_first_layer() -> None:
    """A process wraps the layers that it has. Of seven layers on three stages (3, 2, 2) counted by threes the first
    recomputes its third, and the others none. Counted over all, the model's sixth would be recomputed, on the last."""
    hardware = {"devices": 3, "pipeline_parallel": 3}

    def stages(**given: Any) -> dict[int, int]:
        training = {"sequence_length": 4096, "optimizer": "sgd", "gradient_accumulation": 3, **given}
        scenario = {"model": {"config": CONFIG}, "training": training, "hardware": hardware}
        return {one.rank: one.peak_bytes for one in estimate(Scenario.model_validate(scenario)).stages}

    without, third = stages(), stages(checkpointing="full", checkpoint_every=3)
    assert third[0] < without[0]
    for rank in (1, 2):
        assert third[rank] == pytest.approx(without[rank], abs=3 * 8 * 4096)
