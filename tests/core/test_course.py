"""The course of a step says the same as its instants, layer by layer: same peak, same figures, nothing above them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from memplan.result import CoursePoint, Estimate
from tests.core.test_parallel_properties import CONFIGS, HARDWARE, SEVERAL, TRAININGS, answer

LLAMA = {"catalog": "meta-llama/Llama-3.2-1B"}


def found(training: dict[str, Any] | None = None, **more: Any) -> Estimate:
    return estimate(Scenario.model_validate({"model": LLAMA, "training": training or {}, **more}))


def of(one: Estimate, step: int, name: str, *, begins: bool = False) -> list[CoursePoint]:
    return [
        point
        for point in one.course
        if point.instant.step == step and point.instant.name == name and point.begins == begins
    ]


def holds(one: Estimate) -> None:
    """Each part's fullest point is its instant, to the byte and term by term where no other is as full."""
    for instant in (*one.instants, *one.first_step):
        points = of(one, instant.step, instant.name)
        top = max(points, key=lambda point: point.instant.total_bytes)
        assert top.instant.total_bytes == instant.total_bytes, (instant, top)
        same = [point.instant.bytes_by_term for point in points if point.instant.total_bytes == instant.total_bytes]
        assert instant.bytes_by_term in same
    assert max(point.instant.total_bytes for point in one.course) == one.peak.total_bytes


@given(config=CONFIGS, training=TRAININGS, hardware=HARDWARE)
@SEVERAL
def test_the_fullest_points_are_the_instants(
    config: dict[str, Any], training: dict[str, Any], hardware: dict[str, Any]
) -> None:
    one = answer(config, training, hardware)
    holds(one)
    for point in one.course:
        assert all(size > 0 for size in point.instant.bytes_by_term.values()), point
    for step in (1, 2):
        places = [point.at for point in one.course if point.instant.step == step]
        assert places == sorted(places)


@given(
    size=st.integers(10**7, 10**12),
    method=st.sampled_from(["full", "lora", "qlora", "inference"]),
    weights=st.sampled_from(["fp32", "bf16"]),
    length=st.integers(8, 4096),
)
@SEVERAL
def test_of_a_size_alone_as_well(size: int, method: str, weights: str, length: int) -> None:
    training = {"method": method, "weights_dtype": weights, "sequence_length": length}
    holds(estimate(Scenario.model_validate({"model": {"parameters": size}, "training": training})))


@pytest.mark.parametrize("checkpointing", ["none", "full"])
def test_every_layer_has_its_place(checkpointing: str) -> None:
    """Sixteen layers, up in forward and down in backward, each a width of its own."""
    one = found({"checkpointing": checkpointing})
    up = [point for point in of(one, 2, "forward") if point.instant.where.startswith("layer")]
    down = [point for point in of(one, 2, "backward") if point.instant.where.startswith("layer")]
    assert [point.instant.where for point in up] == [f"layer {number} of 16" for number in range(1, 17)]
    assert [point.instant.where for point in down] == [f"layer {number} of 16" for number in range(16, 0, -1)]
    for points in (up, down):
        assert [round(b.at - a.at, 9) for a, b in pairwise(points)] == [1.0] * 15
    assert [point.layers_held for point in up] == list(range(1, 17))


def test_a_checkpointed_layer_stands_as_a_tooth_on_what_is_kept() -> None:
    """What a layer holds while it runs again goes before the next one comes; what checkpoints keep falls layer by layer."""
    one = found({"checkpointing": "full", "sequence_length": 8192})
    starts, tops = of(one, 2, "backward", begins=True), of(one, 2, "backward")[1:-1]
    kept = [point.instant.bytes_by_term["activations"] for point in starts]
    steps = {a - b for a, b in pairwise(kept)}
    assert steps == {8192 * 2048 * 2}  # a layer's input: tokens × hidden size in bf16
    for start, top in zip(starts, tops, strict=True):
        assert top.instant.bytes_by_term["activations"] > 2 * start.instant.bytes_by_term["activations"] / 16


def test_what_a_layer_begins_with_is_less_than_its_fullest_moment() -> None:
    for training in ({}, {"checkpointing": "full"}, {"method": "lora"}, {"method": "qlora"}, {"method": "inference"}):
        one = found(training)
        for before, after in pairwise(one.course):
            if before.begins:
                assert before.instant.where == after.instant.where
                assert before.instant.total_bytes < after.instant.total_bytes


def test_the_first_step_goes_without_states_until_its_end() -> None:
    one = found()
    assert all("optimizer states" not in point.instant.bytes_by_term for point in of(one, 1, "backward"))
    assert all("optimizer states" in point.instant.bytes_by_term for point in of(one, 2, "forward"))
    assert "optimizer states" in of(one, 1, "optimizer_step")[0].instant.bytes_by_term


def test_inference_has_no_way_back() -> None:
    for cached, passes in ((True, {"prefill", "decode"}), (False, {"forward", "loss"})):
        names = {
            point.instant.name for point in found({"method": "inference", "inference": {"kv_cache": cached}}).course
        }
        assert names == {"loaded", *passes}
