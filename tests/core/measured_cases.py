"""Runs measured on real devices, how one becomes a scenario, and which ones are known to be off, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from memplan.catalog import device as device_of
from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from memplan.result import Estimate
from memplan.units import GIB
from tests.core.truth_cases import cases

KNOWN_GAPS: dict[str, tuple[float, str]] = {}
"""Exact rows whose allocated memory is further off than the promise's 4%: how far, and why."""

FALSE_FITS: dict[str, str] = {
    "hf-blog-002": (
        "8-bit products of bitsandbytes keep copies for their outliers; the weights are counted, the products are walked as "
        "those of 4 bit. Nor is the longest sample known."
    ),
    "litgpt-061": (
        "The longest sample is not known, and the same source's FSDP runs hold twice what its single-device runs do."
    ),
}
"""Runs that ran out of memory and that the estimate says fit, each with the reason."""

FALSE_ALARMS: dict[str, str] = {}
"""Runs that went through and that the estimate says do not fit, each with the reason."""

_ROOM_BYTES = {"soup-017": 4 * GIB}
"""Cards that the catalog lacks, by what they hold: entered as a larger card with the rest in use by others."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run, and what memplan says of it."""

    case: dict[str, Any]
    scenario: Scenario
    estimate: Estimate

    @property
    def allocated_error(self) -> float | None:
        """How far the estimate's tensors are from the measured ones."""
        true = self.case["measured"].get("allocated_bytes")
        return self.estimate.process.allocated / true - 1 if true else None

    @property
    def names_its_device(self) -> bool:
        """Whether the source says which card ran; a verdict means nothing otherwise."""
        return "device" in self.case["hardware"] or self.case["id"] in _ROOM_BYTES


def measured_scenario(case: dict[str, Any]) -> Scenario:
    """The scenario of a run."""
    training, hardware = dict(case["training"]), dict(case["hardware"])
    if "trl_norms_fp32_residual_fp32" in case.get("version_effects", ()):
        training["trainer"] = "trl"
    if training.get("kernels") in ("litgpt", "torchtune"):
        training["kernels_version"] = "0.4"  # of 2023 and 2024
    if case["id"] in _ROOM_BYTES:
        card = device_of(Scenario.model_validate({"model": {"parameters": 1}}).hardware.device)
        hardware["used_by_others_bytes"] = card.usable_bytes - _ROOM_BYTES[case["id"]]
    content = {"name": case["id"], "model": {"config": case["model"]}, "training": training, "hardware": hardware}
    return Scenario.model_validate(content)


@cache
def measured() -> Mapping[str, Measured]:
    """Every run by id, with its estimate."""
    found = {}
    for case in cases("measured.json"):
        scenario = measured_scenario(case)
        found[case["id"]] = Measured(case, scenario, estimate(scenario))
    return found
