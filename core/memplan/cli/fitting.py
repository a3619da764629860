"""What `memplan fit` answers: for each scenario the devices that are listed, with everything that is known of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memplan.catalog import Device
from memplan.fit import (
    DeviceAnswer,
    DeviceFit,
    FitWalks,
    device_answer,
    device_fits,
    known_devices,
    nearest_fits,
    ranked_by_class,
)
from memplan.plan.scenario import Plan, Scenario
from memplan.plan_estimates import estimate_plan
from memplan.result import Estimate


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """One scenario: its estimate, and the devices that are listed, in their order."""

    scenario: Scenario
    estimate: Estimate
    fits: tuple[DeviceFit, ...]
    """Every device that was looked at, listed or not."""
    devices: tuple[DeviceAnswer, ...]
    detailed: tuple[DeviceAnswer, ...]
    """Those of them of which everything is told: the ones that were named, or the scenario's own."""
    is_short: bool
    """Whether there are more devices than are listed."""


def fit_answers(plan: Plan, named: Sequence[Device], *, every: bool) -> tuple[FitAnswer, ...]:
    """Answer for every scenario of a plan.

    Args:
        plan: the scenarios.
        named: the devices that somebody asked about; none for those of the catalog.
        every: list the whole catalog, not just the nearest of each class.

    Raises:
        MemplanError: a scenario cannot be estimated; the error names which.
    """
    estimates = estimate_plan(plan)
    return tuple(
        _answer(scenario, estimate, tuple(dict.fromkeys(named)), every=every)
        for scenario, estimate in zip(plan.scenarios, estimates, strict=True)
    )


def _answer(scenario: Scenario, estimate: Estimate, named: tuple[Device, ...], *, every: bool) -> FitAnswer:
    fits, walks = device_fits(scenario, named or known_devices()), FitWalks(scenario)
    listed = ranked_by_class(fits) if named or every else nearest_fits(fits, estimate.device_id)
    answers = tuple(device_answer(fit, walks) for fit in listed)
    detailed = {device.id for device in named} or {estimate.device_id}
    return FitAnswer(
        scenario=scenario,
        estimate=estimate,
        fits=fits,
        devices=answers,
        detailed=tuple(one for one in answers if one.fit.device.id in detailed),
        is_short=len(listed) < len(fits),
    )
