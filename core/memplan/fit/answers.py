"""All that is known of one device for one scenario: what `memplan fit` prints and the window shows."""

from __future__ import annotations

from dataclasses import dataclass

from memplan.catalog import Device, this_computer
from memplan.catalog import devices as every_device
from memplan.fit.devices import DeviceFit
from memplan.fit.fewest import FewestDevices, devices_per_node_of, fewest_of_each
from memplan.fit.limits import DeviceLimits, limits_of_each
from memplan.fit.states import DevicesForStates, devices_for_states
from memplan.fit.walks import FitWalks


@dataclass(frozen=True, slots=True)
class DeviceAnswer:
    """One device for one scenario."""

    fit: DeviceFit
    fewest: FewestDevices
    limits: DeviceLimits
    states: DevicesForStates


def known_devices() -> tuple[Device, ...]:
    """Every device that a run can be held against: what this computer has, the catalog's, the person's own."""
    return this_computer().devices + every_device()


def device_answer(fit: DeviceFit, walks: FitWalks) -> DeviceAnswer:
    """Find how many devices hold the run, and how far it can go on one of them.

    Args:
        fit: the device, and how the run fits it.
        walks: the scenario's; devices that share them share their cost.

    Raises:
        MemplanError: the scenario's model cannot be estimated.
    """
    scenario, device = walks.scenario, fit.device
    return DeviceAnswer(
        fit,
        fewest_of_each(scenario, (device,), walks=walks)[0],
        limits_of_each(scenario, (device,), walks)[0],
        devices_for_states(scenario, device, devices_per_node_of(device, scenario.hardware), walks.states_bytes()),
    )
