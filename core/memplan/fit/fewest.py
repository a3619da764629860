"""The fewest devices of a kind that hold a run, strategy by strategy, also in whole nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import lcm

from memplan.architecture.expert_parts import Experts
from memplan.catalog import Device
from memplan.catalog import devices as every_device
from memplan.chosen_model import chosen_model
from memplan.fit.devices import need_on
from memplan.fit.search import smallest_that
from memplan.fit.walks import FitWalks, hardware_of
from memplan.memory.process import usable_bytes
from memplan.plan.hardware import Hardware, Strategy
from memplan.plan.scenario import Scenario
from memplan.result import Need

SHARDING_STRATEGIES: tuple[Strategy, ...] = ("ddp", "zero1", "zero2", "zero3", "fsdp2")
"""What is looked at unless somebody names others. On one device none of them divides anything."""
MOST_DEVICES = 4096
_MORE_NODES = 8


@dataclass(frozen=True, slots=True)
class Fewest:
    """The fewest devices under one strategy."""

    strategy: Strategy
    devices: int | None
    """None: not one of the counts up to `most_devices` holds it."""
    need: Need | None
    """Of each of these devices."""
    in_whole_nodes: int | None
    """The fewest whole nodes' worth of devices from there on, where all of them take part; None where none holds it."""
    devices_per_node: int
    most_devices: int
    """The largest count that was looked at."""
    over_bytes: int
    """By how much the best count misses, where none holds it: the need's high end less usable. 0 otherwise."""

    @property
    def nodes(self) -> int | None:
        """How many nodes `in_whole_nodes` are."""
        return None if self.in_whole_nodes is None else -(-self.in_whole_nodes // self.devices_per_node)


@dataclass(frozen=True, slots=True)
class FewestDevices:
    """The fewest devices of one kind under each strategy."""

    device: Device
    by_strategy: tuple[Fewest, ...]

    @property
    def best(self) -> Fewest | None:
        """The strategy that needs the fewest devices, the simplest of them; None where none holds it."""
        found = [(one.devices, place) for place, one in enumerate(self.by_strategy) if one.devices is not None]
        return self.by_strategy[min(found)[1]] if found else None


def fewest_devices(
    scenario: Scenario, device: Device, strategies: Sequence[Strategy] = SHARDING_STRATEGIES
) -> FewestDevices:
    """Find the fewest devices of a kind that hold the run: the need's high end within what each can give.

    The micro-batch is that of one device, so more devices make a larger batch. Counts are multiples of the scenario's
    tensor-, pipeline- and context-parallel sizes, and of the expert-parallel one where the model has experts.

    Args:
        scenario: the set-up; its own device, count and strategy are left aside.
        device: which kind.
        strategies: which ways to divide the states.

    Raises:
        MemplanError: the scenario's model cannot be estimated.
    """
    return fewest_of_each(scenario, (device,), strategies)[0]


def fewest_of_each(
    scenario: Scenario,
    devices: Iterable[Device] | None = None,
    strategies: Sequence[Strategy] = SHARDING_STRATEGIES,
    walks: FitWalks | None = None,
) -> tuple[FewestDevices, ...]:
    """The same for many kinds of device, which share their walks; all of the catalog without `devices`."""
    walks = walks or FitWalks(scenario)
    return tuple(
        FewestDevices(device, tuple(_fewest(device, strategy, walks) for strategy in strategies))
        for device in (every_device() if devices is None else devices)
    )


def devices_per_node_of(device: Device, hardware: Hardware) -> int:
    """What the plan says of its own device, and what is usual of another."""
    named = {device.id, device.name, *device.aliases}
    own = hardware.device.casefold() in {name.casefold() for name in named}
    return hardware.devices_per_node if own else device.devices_per_node


def _fewest(device: Device, strategy: Strategy, walks: FitWalks) -> Fewest:
    hardware, together = walks.scenario.hardware, _together(walks.scenario)
    alone = not device.joins_others
    most = 1 if alone else max(1, MOST_DEVICES // together)
    per_node = 1 if alone else devices_per_node_of(device, hardware)
    usable = usable_bytes(device, hardware)
    needs: dict[int, Need] = {}

    def need(count: int) -> Need:
        if count not in needs:
            needs[count] = need_on(device, walks.on_devices(strategy, count), hardware_of(hardware, strategy, count))
        return needs[count]

    if alone and together > 1:
        return Fewest(strategy, None, None, None, per_node, 1, max(0, need(together).high - usable))
    found = smallest_that(lambda groups: need(groups * together).high <= usable, most)
    if found is None:
        over = min(one.high for one in needs.values()) - usable
        return Fewest(strategy, None, None, None, per_node, most * together, over)
    devices = found * together
    whole = lcm(per_node, together)
    rounded = range(-(-devices // whole) * whole, most * together + 1, whole)[:_MORE_NODES]
    in_whole_nodes = next((count for count in rounded if need(count).high <= usable), None)
    return Fewest(strategy, devices, need(devices), in_whole_nodes, per_node, most * together, 0)


def _together(scenario: Scenario) -> int:
    """Of how many devices each count is a multiple: the parallel sizes divide no other ones."""
    hardware = scenario.hardware
    together = hardware.tensor_parallel * hardware.pipeline_parallel * hardware.context_parallel
    layers = chosen_model(scenario.model).architecture.kinds
    return together * (hardware.expert_parallel if any(isinstance(one.mlp, Experts) for one in layers) else 1)
