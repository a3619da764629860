"""How many devices the states alone take, as articles and vendors' guides work it out: the first figure, not the last.

What stays from step to step over a device's advertised size; activations, buffers, context and the bytes that no
process gets come on top. `fewest_devices` counts them.
"""

from __future__ import annotations

from dataclasses import dataclass

from memplan.allocation import allocation
from memplan.catalog import Device
from memplan.plan.scenario import Scenario
from memplan.units import GB


@dataclass(frozen=True, slots=True)
class DevicesForStates:
    """States divided over devices."""

    states_bytes: int
    """Weights, adapters, gradients, optimizer states and master weights of the whole model."""
    capacity_bytes: int
    """Of one device, as advertised."""
    devices: int
    in_whole_nodes: int


def states_bytes_of(scenario: Scenario) -> int:
    """Weights, adapters, gradients, optimizer states and master weights of the whole model."""
    whole = allocation(scenario).whole
    return whole.loaded + whole.gradients + whole.optimizer + whole.master


def devices_for_states(
    scenario: Scenario, device: Device, devices_per_node: int | None = None, states_bytes: int | None = None
) -> DevicesForStates:
    """Divide the states by the device's advertised size.

    Equation: devices = ⌈states / capacity⌉, in whole nodes ⌈devices / node⌉ · node.
    Symbols: states in bytes of the whole model, capacity = advertised GB · 10⁹, node = devices of one node.
    Source: arithmetic; Rajbhandari et al., "ZeRO", 2020, section 3, for the 16 bytes of mixed-precision Adam.

    Args:
        scenario: the set-up; its hardware plays no part but for the node's size.
        device: which kind.
        devices_per_node: how many one machine holds; what the plan says without.
        states_bytes: the states, where they are known already.

    Raises:
        MemplanError: the scenario's model cannot be estimated.

    70B parameters of 16 bytes are 1,120 GB: 14 devices of 80 GB, two nodes of eight.

    >>> from memplan.catalog import device
    >>> mixed = {"optimizer_state_dtype": "fp32", "master_weights": True}
    >>> scenario = Scenario.model_validate({"model": {"parameters": 70_000_000_000}, "training": mixed})
    >>> found = devices_for_states(scenario, device("a100-80gb-sxm"))
    >>> found.states_bytes, found.devices, found.in_whole_nodes
    (1120000000000, 14, 16)
    """
    states = states_bytes_of(scenario) if states_bytes is None else states_bytes
    capacity = device.advertised_gb * GB
    node = scenario.hardware.devices_per_node if devices_per_node is None else devices_per_node
    devices = max(1, -(-states // capacity))
    return DevicesForStates(states, capacity, devices, -(-devices // node) * node)
