"""FSDP2's padding. What is right: PyTorch gives every device a row of a tensor, though it has fewer rows than devices."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.estimate import estimate
from memplan.plan.scenario import Scenario

MIXTRAL = {"catalog": "mistralai/Mixtral-8x7B-v0.1"}
"""Eight experts a layer, 2.63 GiB of them in bf16."""


def said(devices: int, strategy: str = "fsdp2", **hardware: Any) -> list[str]:
    """What is said of padding."""
    content = {
        "model": MIXTRAL,
        "training": {"checkpointing": "full"},
        "hardware": {"devices": devices, "sharding": {"strategy": strategy}, **hardware},
    }
    return [one.message for one in estimate(Scenario.model_validate(content)).warnings if "pads" in one.message]


def test_experts_fewer_than_devices_are_said_to_be_padded() -> None:
    (words,) = said(64)
    assert words.startswith("8 experts over 64 devices")
    assert "21.0 GiB of them and not 2.63 GiB" in words


def test_experts_that_have_a_row_for_each_device_are_not() -> None:
    assert said(8) == []


def test_what_expert_parallelism_leaves_is_padded_still() -> None:
    """Eight devices share the experts out; each one's single expert is cut among the eight that hold the same."""
    (words,) = said(64, expert_parallel=8)
    assert words.startswith("1 expert over 8 devices")
    assert "2.63 GiB of them and not 0.33" in words


@pytest.mark.parametrize("strategy", ["fsdp1", "zero3"])
def test_strategies_that_flatten_do_not_pad(strategy: str) -> None:
    assert said(64, strategy) == []
