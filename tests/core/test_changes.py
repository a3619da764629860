"""What each change between two scenarios contributes. Right is: the differences of the estimates on the way."""

from __future__ import annotations

import random

import pytest

import memplan.changes
from memplan import Estimate, MemplanError, Scenario, changes_between, estimate, replaced, value_at

BASE = Scenario.model_validate({"name": "base", "model": {"catalog": "meta-llama/Llama-3.2-1B"}})
VALUES: dict[str, list[object]] = {
    "model": [{"catalog": "meta-llama/Llama-3.2-1B"}, {"catalog": "Qwen/Qwen3-0.6B"}],
    "training.method": ["full", "lora", "qlora", "freeze", "inference"],
    "training.lora.rank": [8, 64],
    "training.weights_dtype": ["fp32", "bf16"],
    "training.optimizer": ["adamw", "sgd", "adamw_8bit", "adafactor"],
    "training.micro_batch": [1, 3],
    "training.checkpointing": ["none", "full"],
    "training.loss": ["plain", "chunked", "fused"],
    "hardware.device": ["rtx-4090", "h100-sxm"],
    "hardware.devices": [1, 8],
    "hardware.sharding.strategy": ["none", "ddp", "zero3", "fsdp2"],
    "hardware.offload.optimizer": [False, True],
}


def changed(scenario: Scenario, **values: object) -> Scenario:
    for path, value in values.items():
        scenario = replaced(scenario, path.replace("__", "."), value)
    return scenario


def titles(before: Scenario, after: Scenario) -> list[list[str]]:
    return [[field.title for field in step.fields] for step in changes_between(before, after)[1:]]


def test_scenarios_that_differ_in_name_alone_have_no_changes() -> None:
    (start,) = changes_between(BASE, changed(BASE, name="other"))
    assert (start.fields, start.change_bytes) == ((), 0)
    assert start.estimate.need_bytes == estimate(BASE).need_bytes


def test_one_change_is_the_whole_difference() -> None:
    fused = changed(BASE, training__optimizer_impl="fused", training__sequence_length=256)
    short = changed(BASE, training__sequence_length=256)
    (_, step) = changes_between(short, fused)
    assert step.change_bytes == estimate(fused).need_bytes - estimate(short).need_bytes
    assert step.change_bytes < 0
    assert [(field.before, field.after) for field in step.fields] == [("foreach", "fused")]


def test_steps_are_in_the_order_of_the_plan_whatever_was_changed_first() -> None:
    after = changed(BASE, hardware__headroom=0.1, training__micro_batch=2, training__weights_dtype="fp32")
    assert titles(BASE, after) == [["Weights"], ["Micro-batch"], ["Headroom"]]


def test_checkpointing_and_how_often_are_one_step() -> None:
    """One layer in four is nothing to change where none is checkpointed."""
    before = changed(BASE, training__checkpoint_every=4)
    after = changed(BASE, training__checkpointing="full", training__loss="fused")
    assert titles(before, after) == [["Checkpointing", "Checkpoint every"], ["Loss"]]


def test_the_method_and_its_options_are_one_step_and_so_are_devices_and_sharding() -> None:
    after = changed(BASE, training__method="lora", training__micro_batch=2, training__lora__rank=64)
    after = changed(after, hardware__devices=8, hardware__sharding__strategy="fsdp2", hardware__tensor_parallel=2)
    assert titles(BASE, after) == [
        ["Method", "LoRA rank"],
        ["Micro-batch"],
        ["Devices", "Sharding", "Tensor parallel"],
    ]


def test_the_order_decides_what_each_step_comes_to() -> None:
    """Checkpoints save less of a short sequence: going there and back divides the difference in two ways."""
    after = changed(BASE, training__sequence_length=512, training__checkpointing="full")
    there, back = changes_between(BASE, after), changes_between(after, BASE)
    assert there[0].estimate.need_bytes == back[-1].estimate.need_bytes
    assert sum(step.change_bytes for step in there) == -sum(step.change_bytes for step in back)
    assert there[1].change_bytes != -back[1].change_bytes


@pytest.mark.parametrize("seed", range(40))
def test_contributions_come_to_the_difference_to_the_byte(seed: int) -> None:
    chance = random.Random(seed)
    ends = []
    for _ in range(2):
        scenario = BASE
        for path, values in VALUES.items():
            if chance.random() < 0.7:
                scenario = replaced(scenario, path, chance.choice(values))
        ends.append(scenario)
    before, after = ends
    way = changes_between(before, after)
    peaks = [estimate(end).need_bytes for end in ends]
    assert [way[0].estimate.need_bytes, way[-1].estimate.need_bytes] == peaks
    assert sum(step.change_bytes for step in way) == peaks[1] - peaks[0]
    differing = {path for path in VALUES if value_at(before, path) != value_at(after, path)}
    assert {field.path for step in way for field in step.fields} == differing


def test_a_step_that_has_no_estimate_is_made_together_with_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def choosy(scenario: Scenario) -> Estimate:
        if (scenario.training.micro_batch, scenario.training.checkpointing) == (2, "none"):
            raise MemplanError("not this one.")
        return estimate(scenario)

    monkeypatch.setattr(memplan.changes, "estimate", choosy)
    after = changed(BASE, training__micro_batch=2, training__checkpointing="full", hardware__headroom=0.1)
    assert titles(BASE, after) == [["Micro-batch", "Checkpointing"], ["Headroom"]]
    way = changes_between(BASE, after)
    assert sum(step.change_bytes for step in way) == estimate(after).need_bytes - estimate(BASE).need_bytes


def test_an_end_without_an_estimate_is_refused() -> None:
    nowhere = changed(BASE, hardware__device="no-such-card")
    with pytest.raises(MemplanError):
        changes_between(BASE, nowhere)
    with pytest.raises(MemplanError):
        changes_between(nowhere, BASE)
