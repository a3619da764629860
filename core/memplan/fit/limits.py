"""The largest micro-batch and the longest sequence that fit, everything else as it is set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from memplan.catalog import Device
from memplan.catalog import device as device_of
from memplan.catalog import devices as every_device
from memplan.chosen_model import chosen_model
from memplan.fit.devices import need_on
from memplan.fit.search import largest_within
from memplan.fit.walks import FitWalks, Measure
from memplan.memory.process import usable_bytes
from memplan.plan.field_facts import facts
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.result import Need

Bound = Literal["memory", "positions", "range"]
Unit = Literal["sequences", "tokens"]


@dataclass(frozen=True, slots=True)
class Limit:
    """How far one number of a set-up can go on a device."""

    unit: Unit
    fits: int
    """The largest whose need's high end is within what the device gives; 0 where not even 1 fits."""
    tight: int
    """The largest that does not surely fail: its need's low end is within what the device gives."""
    rounded: int
    """A round number at or below `fits`: of tokens a multiple of 128, of 64 below 1,024; of sequences `fits` itself."""
    at_most: int
    """Where the search ends whatever the memory."""
    ends_with: Bound
    """Why it ends there: the model has no more learned positions, or a plan can hold no larger number."""

    @property
    def bound(self) -> Bound:
        """What keeps it from being larger."""
        return self.ends_with if self.fits == self.at_most else "memory"


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """Both limits on one device."""

    device: Device
    micro_batch: Limit
    sequence: Limit


def largest_micro_batch(scenario: Scenario) -> Limit:
    """Find the largest micro-batch that fits the scenario's device; one more does not.

    Raises:
        MemplanError: the scenario cannot be estimated.
    """
    return _limit(device_of(scenario.hardware.device), "micro_batch", FitWalks(scenario))


def longest_sequence(scenario: Scenario) -> Limit:
    """Find the longest sequence, in whole tokens, that fits the scenario's device; one token more does not.

    Raises:
        MemplanError: the scenario cannot be estimated.
    """
    return _limit(device_of(scenario.hardware.device), "sequence_length", FitWalks(scenario))


def limits_of_each(
    scenario: Scenario, devices: Iterable[Device] | None = None, walks: FitWalks | None = None
) -> tuple[DeviceLimits, ...]:
    """Both limits on many devices, which share their walks; on all of the catalog without `devices`."""
    walks = walks or FitWalks(scenario)
    return tuple(
        DeviceLimits(
            device,
            micro_batch=_limit(device, "micro_batch", walks),
            sequence=_limit(device, "sequence_length", walks),
        )
        for device in (every_device() if devices is None else devices)
    )


def _limit(device: Device, measure: Measure, walks: FitWalks) -> Limit:
    scenario = walks.scenario

    def need(number: int) -> Need:
        return need_on(device, walks.with_number(measure, number), scenario.hardware)

    at_most, ends_with = _end(scenario, measure)
    start, usable = getattr(scenario.training, measure), usable_bytes(device, scenario.hardware)
    fits = largest_within(lambda number: need(number).high, usable, at_most, start)
    tight = largest_within(lambda number: need(number).low, usable, at_most, max(1, fits))
    tokens = measure == "sequence_length"
    return Limit(
        unit="tokens" if tokens else "sequences",
        fits=fits,
        tight=tight,
        rounded=_round_tokens(fits) if tokens else fits,
        at_most=at_most,
        ends_with=ends_with,
    )


def _end(scenario: Scenario, measure: Measure) -> tuple[int, Bound]:
    maximum = facts(Training, measure).maximum
    assert isinstance(maximum, int), "both fields say their range"
    positions = chosen_model(scenario.model).architecture.positions
    if measure == "sequence_length" and positions is not None:
        return min(maximum, positions.usable_rows), "positions"
    return maximum, "range"


def _round_tokens(tokens: int) -> int:
    step = 128 if tokens >= 1024 else 64 if tokens >= 64 else 1
    return tokens // step * step
