"""What a scenario's tensors take, whatever the device: resolve the model, divide the states, walk a step.

What a device adds (workspaces, context) and gives (usable memory) comes later, so that one walk serves any number of
devices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memplan.architecture.counts import total
from memplan.chosen_model import ChosenModel, chosen_model
from memplan.memory.account import States, exact_states, states_of_size
from memplan.memory.gathering import Gathering, compute_setup, gathering_of
from memplan.memory.instants import Timeline, timeline
from memplan.memory.setup import Setup
from memplan.memory.sharding import SHARDS_WEIGHTS, bucket_bytes, data_parallel_devices, sharded
from memplan.memory.stack import TRACED, stack_of
from memplan.plan.scenario import Scenario
from memplan.result import TraceBytes


@dataclass(frozen=True, slots=True)
class Allocation:
    """A walked step of a scenario on its fullest device, and what it was walked with."""

    scenario: Scenario
    chosen: ChosenModel
    setup: Setup
    whole: States
    """The states of the whole model."""
    states: States
    """The fullest device's share of them."""
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

    def traced_bytes(self) -> TraceBytes:
        """Walk again, as a trace sees it: on a CPU, with the newest library."""
        setup, states, gathering = replace(self.setup, stack=TRACED), self.states, self.gathering
        if self.setup.stack.experts_are_modules:  # other tensors hold the same weights
            whole = _states(self.chosen, setup, self.scenario)
            states, gathering = _on_one_device(self.chosen, setup, self.scenario, whole)
        return _walked(self.chosen, setup, self.scenario, states, gathering).bytes


def allocation(scenario: Scenario) -> Allocation:
    """Walk one step of a scenario. Pure; `scenario.hardware.device` plays no part.

    Raises:
        ConfigError: the model's configuration does not describe a model.
        UnknownEntryError: the catalog has no such model.
    """
    chosen = chosen_model(scenario.model)
    setup = Setup.of(scenario.training, stack_of(scenario.training))
    whole = _states(chosen, setup, scenario)
    states, gathering = _on_one_device(chosen, setup, scenario, whole)
    return Allocation(
        scenario=scenario,
        chosen=chosen,
        setup=setup,
        whole=whole,
        states=states,
        gathering=gathering,
        timeline=_walked(chosen, setup, scenario, states, gathering),
        bucket_bytes=bucket_bytes(states, scenario.hardware),
    )


def _walked(
    chosen: ChosenModel, setup: Setup, scenario: Scenario, states: States, gathering: Gathering | None
) -> Timeline:
    return timeline(
        chosen.architecture,
        compute_setup(setup, scenario.hardware.sharding) if gathering else setup,
        scenario.training,
        states,
        frozen_layers=_frozen_layers(scenario, chosen),
        gathering=gathering,
    )


def _on_one_device(
    chosen: ChosenModel, setup: Setup, scenario: Scenario, whole: States
) -> tuple[States, Gathering | None]:
    """The fullest device's share of the states, and what it gathers."""
    hardware, training = scenario.hardware, scenario.training
    devices = data_parallel_devices(hardware)
    if devices == 1 or hardware.sharding.strategy not in SHARDS_WEIGHTS:
        return sharded(whole, hardware), None
    gathering = gathering_of(chosen.architecture, setup, hardware.sharding, devices)
    if not chosen.exact or setup.packed:
        return sharded(whole, hardware), gathering
    states = exact_states(chosen.architecture, setup, training, _frozen_layers(scenario, chosen), devices)
    if training.method == "full":
        states = replace(states, gradients=gathering.gradient_bytes(chosen.architecture))
    return states, gathering


def _frozen_layers(scenario: Scenario, chosen: ChosenModel) -> int:
    training = scenario.training
    if training.method != "freeze":
        return 0
    return max(0, chosen.architecture.num_layers - training.freeze.trainable_layers)


def _states(chosen: ChosenModel, setup: Setup, scenario: Scenario) -> States:
    exact = exact_states(chosen.architecture, setup, scenario.training, _frozen_layers(scenario, chosen))
    if chosen.exact:
        return exact
    return states_of_size(chosen.parameters, total(chosen.architecture), setup, scenario.training, exact)
