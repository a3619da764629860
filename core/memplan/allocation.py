"""What a scenario's tensors take, whatever the device: resolve the model, divide the states, walk a step.

What a device adds (workspaces, context) and gives (usable memory) comes later, so that one walk serves any number of
devices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memplan.architecture.counts import total
from memplan.architecture.dividing import part_of
from memplan.architecture.parts import Architecture
from memplan.chosen_model import ChosenModel, chosen_model
from memplan.memory.account import States, exact_states, states_of_size
from memplan.memory.gathering import Gathering, compute_setup, gathering_of
from memplan.memory.instants import Timeline, timeline, work_of
from memplan.memory.levels import StepLevels, levels_of
from memplan.memory.setup import Setup
from memplan.memory.sharding import (
    CUTS_TENSORS,
    SHARDS_WEIGHTS,
    bucket_bytes,
    data_parallel_devices,
    expert_parallel_of,
    off_device,
    sharded,
)
from memplan.memory.stack import TRACED, stack_of
from memplan.memory.step import Work
from memplan.memory.symbols import Symbols
from memplan.plan.hardware import Hardware, Sharding
from memplan.plan.scenario import Scenario
from memplan.result import TraceBytes


@dataclass(frozen=True, slots=True)
class Allocation:
    """A walked step of a scenario on its fullest device, and what it was walked with."""

    scenario: Scenario
    chosen: ChosenModel
    part: Architecture
    """The model of the fullest device: the whole one, unless matrices, layers or experts are divided."""
    setup: Setup
    whole: States
    """The states of the whole model."""
    states: States
    """The fullest device's share of them, wherever it lives."""
    gathering: Gathering | None
    timeline: Timeline
    bucket_bytes: int
    """DDP's buckets, beside the tensors of every instant."""

    @property
    def peak_bytes(self) -> int:
        """What tensors and buckets take at the peak; a device's workspace comes on top."""
        return self.timeline.bytes.peak + self.bucket_bytes

    @property
    def fullest_bytes(self) -> int:
        """What the terms of the fullest instant come to, as charts and tables list them, with the buckets."""
        line, buckets = self.timeline, self.bucket_bytes
        return max(one.total_bytes + (buckets if one.step else 0) for one in (*line.first, *line.later))

    def levels(self, symbols: Symbols) -> StepLevels:
        """Walk for every batch and sequence of a region."""
        scenario, training = self.scenario, self.scenario.training
        states = off_device(self.states, scenario)
        work = _work(self.part, self.setup, scenario, states, self.gathering)
        return levels_of(
            work,
            symbols,
            training,
            states,
            hardware=scenario.hardware,
            most_gradients=None if self.chosen.exact else self.states.gradients,
        )

    def traced_bytes(self) -> TraceBytes:
        """Walk again, as a trace sees it: on a CPU, with the newest library."""
        setup, states, gathering = replace(self.setup, stack=TRACED), self.states, self.gathering
        if self.setup.stack.experts_are_modules:  # other tensors hold the same weights
            states, gathering = _on_one_device(self.chosen, self.part, setup, self.scenario)
        return _walked(self.chosen, self.part, setup, self.scenario, states, gathering).bytes


def allocation(scenario: Scenario) -> Allocation:
    """Walk one step of a scenario. Pure; `scenario.hardware.device` plays no part.

    Raises:
        ConfigError: the model's configuration does not describe a model.
        UnknownEntryError: the catalog has no such model.
    """
    chosen, hardware = chosen_model(scenario.model), scenario.hardware
    part = _part(chosen, hardware, expert_parallel_of(hardware))
    setup = Setup.of(scenario.training, stack_of(scenario.training))
    states, gathering = _on_one_device(chosen, part, setup, scenario)
    return Allocation(
        scenario=scenario,
        chosen=chosen,
        part=part,
        setup=setup,
        whole=_states(chosen, chosen.architecture, setup, scenario),
        states=states,
        gathering=gathering,
        timeline=_walked(chosen, part, setup, scenario, states, gathering),
        bucket_bytes=bucket_bytes(states, hardware),
    )


def _walked(
    chosen: ChosenModel,
    part: Architecture,
    setup: Setup,
    scenario: Scenario,
    states: States,
    gathering: Gathering | None,
) -> Timeline:
    on_device = off_device(states, scenario)
    return timeline(
        _work(part, setup, scenario, on_device, gathering),
        scenario.training,
        on_device,
        hardware=scenario.hardware,
        most_gradients=None if chosen.exact else states.gradients,
    )


def _work(part: Architecture, setup: Setup, scenario: Scenario, states: States, gathering: Gathering | None) -> Work:
    sharding = _gathers_by(scenario.hardware)
    return work_of(
        part,
        compute_setup(setup, sharding) if sharding else setup,
        scenario.training,
        states,
        hardware=scenario.hardware,
        frozen_layers=_frozen_layers(scenario, part),
        gathering=gathering,
    )


def _part(chosen: ChosenModel, hardware: Hardware, expert_parallel: int) -> Architecture:
    """The model of the fullest device."""
    tensor, pipeline = hardware.tensor_parallel, hardware.pipeline_parallel
    return part_of(chosen.architecture, tensor=tensor, pipeline=pipeline, expert=expert_parallel)


def _on_one_device(
    chosen: ChosenModel, part: Architecture, setup: Setup, scenario: Scenario
) -> tuple[States, Gathering | None]:
    """The fullest device's share of the states, wherever they live, and what it gathers."""
    hardware, training = scenario.hardware, scenario.training
    sharding, gathering, shared_out = _gathers_by(hardware), None, expert_parallel_of(hardware)
    devices = data_parallel_devices(hardware)
    if sharding is not None:
        gathering = gathering_of(part, setup, sharding, devices, expert_parallel=shared_out)
    by_count = setup.packed or not chosen.exact
    if gathering is None or hardware.sharding.strategy not in CUTS_TENSORS or by_count:
        undivided = _states(chosen, part, setup, scenario)
        if shared_out == 1:
            return sharded(undivided, hardware), gathering
        all_experts = _states(chosen, _part(chosen, hardware, 1), setup, scenario)
        return sharded(undivided, hardware, all_experts), gathering
    frozen = _frozen_layers(scenario, part)
    states = exact_states(part, setup, training, frozen, devices, shared_out)
    if training.method == "full":
        states = replace(states, gradients=gathering.gradient_bytes(part))
    return states, gathering


_FROM_HOST = Sharding(strategy="zero3", mixed_precision=False)
"""Weights on the host come as shards do: unit by unit, in their own dtype."""


def _gathers_by(hardware: Hardware) -> Sharding | None:
    """How weights come to the device unit by unit; None where they are there."""
    if data_parallel_devices(hardware) > 1 and hardware.sharding.strategy in SHARDS_WEIGHTS:
        return hardware.sharding
    return _FROM_HOST if hardware.offload.parameters else None


def _frozen_layers(scenario: Scenario, part: Architecture) -> int:
    training = scenario.training
    if training.method != "freeze":
        return 0
    return max(0, part.num_layers - training.freeze.trainable_layers)


def _states(chosen: ChosenModel, part: Architecture, setup: Setup, scenario: Scenario) -> States:
    exact = exact_states(part, setup, scenario.training, _frozen_layers(scenario, part))
    if chosen.exact:
        return exact
    assumed = total(part)
    parameters = chosen.parameters
    if part is not chosen.architecture:
        parameters = parameters * assumed // total(chosen.architecture)
    return states_of_size(parameters, assumed, setup, scenario.training, exact)
