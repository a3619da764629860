"""What a scenario's tensors take, whatever the device: resolve the model, divide the states, walk a step.

What a device adds (workspaces, context) and gives (usable memory) comes later, so that one walk serves any number of
devices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from memplan.architecture.chosen_layers import adapted_on_last, checkpointed_every
from memplan.architecture.counts import total
from memplan.architecture.dividing import part_of, share
from memplan.architecture.stacks import is_run_by
from memplan.architecture.stages import Stage, stages, the_whole
from memplan.chosen_model import ChosenModel, chosen_model, run_by
from memplan.memory.account import States, exact_states, states_of_size
from memplan.memory.course import course
from memplan.memory.gathering import Gathering, compute_setup, gathering_of
from memplan.memory.instants import Timeline, timeline, work_of
from memplan.memory.levels import StepLevels, levels_of
from memplan.memory.runs import Work
from memplan.memory.setup import Setup
from memplan.memory.sharding import (
    CUTS_TENSORS,
    SHARDS_WEIGHTS,
    data_parallel_devices,
    expert_parallel_of,
    off_device,
    sharded,
)
from memplan.memory.stack import kernels_that_run, stack_of, traced, version_of_stack
from memplan.memory.symbols import Symbols
from memplan.memory.zero import backward_buckets, lasting_buckets, persistent, with_step_copies
from memplan.memory.zero_gathering import zero3_gathering
from memplan.plan.edit import replaced
from memplan.plan.hardware import Hardware, Sharding
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.result import CoursePoint, Instant, StageShare, TraceBytes


@dataclass(frozen=True, slots=True)
class Allocation:
    """A walked step of a scenario on the devices of one stage, and what it was walked with."""

    scenario: Scenario
    chosen: ChosenModel
    stage: Stage
    """The model of these devices: the whole one, unless matrices, layers or experts are divided."""
    setup: Setup
    whole: States
    """The states of the whole model."""
    states: States
    """One device's share of them, wherever it lives."""
    gathering: Gathering | None
    timeline: Timeline
    bucket_bytes: int
    """Buckets beside the tensors of every instant of a step."""
    others: tuple[Allocation, ...] = ()
    """The other kinds of stages of a pipeline, which hold less than this one."""

    @property
    def peak_bytes(self) -> int:
        """What tensors and buckets take at the peak; a device's workspace comes on top."""
        return self.timeline.bytes.peak + self.bucket_bytes

    @property
    def fullest_bytes(self) -> int:
        """What the terms of the fullest instant come to, as charts and tables list them, with the buckets."""
        line, buckets = self.timeline, self.bucket_bytes
        return max(one.total_bytes + (buckets if one.step else 0) for one in (*line.first, *line.later))

    @property
    def stages(self) -> tuple[StageShare, ...]:
        """What each kind of stage has, the fullest first; empty without a pipeline."""
        return tuple(one.share for one in (self, *self.others)) if self.stage.ranks > 1 else ()

    @property
    def share(self) -> StageShare:
        """What this stage has."""
        stage, virtual = self.stage, self.scenario.hardware.virtual_stages
        return StageShare(
            rank=stage.rank,
            ranks=stage.ranks,
            alike=stage.alike,
            first_layer=stage.first_layer,
            layers=stage.part.num_layers,
            has_embeddings=stage.part.starts,
            has_head=stage.part.ends,
            in_flight=share(stage.in_flight(self.scenario.training.gradient_accumulation, virtual), virtual),
            peak_bytes=self.peak_bytes,
        )

    def levels(self, symbols: Symbols) -> StepLevels:
        """Walk for every batch and sequence of a region."""
        training, hardware, (work, states) = self.scenario.training, self.scenario.hardware, self._work()
        most = _most_gradients(self.chosen, self.states)
        return levels_of(work, symbols, training, states, hardware=hardware, most_gradients=most)

    def course(self, complete: Callable[[Instant], Instant]) -> tuple[CoursePoint, ...]:
        """Walk again, every layer for itself; `complete` adds to an instant what the process holds beside tensors."""
        training, hardware, (work, states) = self.scenario.training, self.scenario.hardware, self._work()
        most = _most_gradients(self.chosen, self.states)
        return course(work, training, states, complete, hardware=hardware, most_gradients=most)

    def _work(self) -> tuple[Work, States]:
        """What is walked, and the states on the device beside it."""
        states = off_device(self.states, self.scenario)
        return _work(self.stage, self.setup, self.scenario, states, self.gathering), states

    def traced_bytes(self) -> TraceBytes:
        """Walk again, as a trace sees it: on a CPU, with the newest library."""
        setup, states, gathering = replace(self.setup, stack=traced(self.setup.stack)), self.states, self.gathering
        if self.setup.stack.experts_are_modules:  # other tensors hold the same weights
            states, gathering = _on_one_device(self.chosen, self.stage, setup, self.scenario)
        return _walked(self.chosen, self.stage, setup, self.scenario, states, gathering).bytes


def _chosen(scenario: Scenario) -> ChosenModel:
    training = scenario.training
    chosen = run_by(chosen_model(scenario.model), kernels_that_run(training), version_of_stack(training))
    architecture, last = chosen.architecture, training.lora.last_layers
    if last is not None and training.method in ("lora", "qlora"):
        architecture = adapted_on_last(architecture, last)
    return chosen if architecture is chosen.architecture else replace(chosen, architecture=architecture)


def allocation(scenario: Scenario) -> Allocation:
    """Walk one step of a scenario on its fullest device. Pure; `scenario.hardware.device` plays no part.

    A model that generates no text is walked in one pass, whatever the scenario says of a KV cache.

    Raises:
        ConfigError: the model's configuration does not describe a model.
        UnknownEntryError: the catalog has no such model.
    """
    if scenario.training.caches_keys and not chosen_model(scenario.model).architecture.generates:
        scenario = replaced(scenario, "training.inference.kv_cache", False)
    chosen, hardware = _chosen(scenario), scenario.hardware
    own_modules = is_run_by(chosen.architecture, kernels_that_run(scenario.training))
    stack = stack_of(scenario.training, model_type=chosen.architecture.model_type, own_modules=own_modules)
    setup = Setup.of(scenario.training, stack)
    setup = replace(setup, context_parts=hardware.context_parallel, expert_parts=expert_parallel_of(hardware))
    if hardware.sequence_parallel and scenario.training.kernels != "litgpt":  # whose modules do not divide sequences
        setup = replace(setup, sequence_parts=hardware.tensor_parallel)
    if setup.autocast is not None and hardware.sharding.strategy == "zero3":
        setup = replace(setup, recasts_weights=True)
    whole = _states(chosen, the_whole(chosen.architecture), setup, scenario)
    found = [
        _on_a_stage(chosen, stage, setup, scenario, whole)
        for stage in _stages(chosen, hardware, expert_parallel_of(hardware), _every(scenario.training))
    ]
    fullest, *others = sorted(found, key=lambda one: -one.peak_bytes)
    return replace(fullest, others=tuple(others)) if others else fullest


def _on_a_stage(chosen: ChosenModel, stage: Stage, setup: Setup, scenario: Scenario, whole: States) -> Allocation:
    states, gathering = _on_one_device(chosen, stage, setup, scenario)
    buckets = lasting_buckets(states, scenario.training, scenario.hardware, chosen.architecture.hidden_size)
    return Allocation(
        scenario=scenario,
        chosen=chosen,
        stage=stage,
        setup=setup,
        whole=whole,
        states=states,
        gathering=gathering,
        timeline=_walked(chosen, stage, setup, scenario, states, gathering),
        bucket_bytes=buckets,
    )


def _walked(
    chosen: ChosenModel, stage: Stage, setup: Setup, scenario: Scenario, states: States, gathering: Gathering | None
) -> Timeline:
    on_device = off_device(states, scenario)
    return timeline(
        _work(stage, setup, scenario, on_device, gathering),
        scenario.training,
        on_device,
        hardware=scenario.hardware,
        most_gradients=_most_gradients(chosen, states),
    )


def _most_gradients(chosen: ChosenModel, states: States) -> int | None:
    """What bounds the gradients of a model whose layers were assumed."""
    return None if chosen.exact else states.gradients


def _work(stage: Stage, setup: Setup, scenario: Scenario, states: States, gathering: Gathering | None) -> Work:
    sharding = _gathers_by(scenario.hardware)
    virtual = scenario.hardware.virtual_stages if stage.ranks > 1 else 1
    return work_of(
        stage.part,
        compute_setup(setup, sharding) if sharding else setup,
        scenario.training,
        states,
        hardware=scenario.hardware,
        frozen_layers=_frozen_layers(scenario, stage),
        gathering=gathering,
        in_flight=(stage.in_flight(scenario.training.gradient_accumulation, virtual), virtual),
        buckets=backward_buckets(states, scenario.training, scenario.hardware, stage.part.hidden_size),
    )


def _stages(chosen: ChosenModel, hardware: Hardware, expert_parallel: int, every: int = 1) -> tuple[Stage, ...]:
    """One of each kind of stage; the whole model, where there is no pipeline.

    Layers between checkpoints are counted on each stage from its first: a process knows of no others
    (torchtitan, distributed/activation_checkpoint.py, a count of what it has wrapped).
    """
    part = part_of(chosen.architecture, tensor=hardware.tensor_parallel, expert=expert_parallel)
    found = stages(part, hardware.pipeline_parallel)
    return found if every == 1 else tuple(replace(one, part=checkpointed_every(one.part, every)) for one in found)


def _every(training: Training) -> int:
    return training.checkpoint_every if training.checkpointing == "full" else 1


def _on_one_device(
    chosen: ChosenModel, stage: Stage, setup: Setup, scenario: Scenario
) -> tuple[States, Gathering | None]:
    """One device's share of the stage's states, wherever they live, and what it gathers."""
    hardware, training = scenario.hardware, scenario.training
    sharding, gathering, shared_out = _gathers_by(hardware), None, expert_parallel_of(hardware)
    devices = data_parallel_devices(hardware)
    if sharding is _FROM_HOST:  # whose host has all of them: nothing is gathered from other devices
        gathering = gathering_of(stage.part, setup, sharding, 1)
    elif sharding is not None:
        by = zero3_gathering if sharding.strategy == "zero3" else gathering_of
        gathering = by(stage.part, setup, sharding, devices, expert_parallel=shared_out)
    if gathering is None or hardware.sharding.strategy not in CUTS_TENSORS or not chosen.exact:
        undivided, all_experts = _states(chosen, stage, setup, scenario), None
        if shared_out > 1:
            with_all = next(one for one in _stages(chosen, hardware, 1) if one.rank == stage.rank)
            all_experts = _states(chosen, with_all, setup, scenario)
        states = with_step_copies(sharded(undivided, hardware, all_experts), training, hardware)
        if hardware.sharding.strategy == "zero3" and devices > 1 and chosen.exact:
            states = persistent(states, stage.part, setup, hardware.sharding, devices)
        return states, gathering
    frozen = _frozen_layers(scenario, stage)
    states = exact_states(stage.part, setup, training, frozen, devices, shared_out)
    if training.method in ("full", "lora", "qlora"):
        states = replace(states, gradients=gathering.gradient_bytes(stage.part))
    return states, gathering


_FROM_HOST = Sharding(strategy="zero3", mixed_precision=False)
"""Weights on the host come as shards do: unit by unit, in their own dtype."""


def _gathers_by(hardware: Hardware) -> Sharding | None:
    """How weights come to the device unit by unit; None where they are there."""
    if data_parallel_devices(hardware) > 1 and hardware.sharding.strategy in SHARDS_WEIGHTS:
        return hardware.sharding
    return _FROM_HOST if hardware.offload.parameters else None


def _frozen_layers(scenario: Scenario, stage: Stage) -> int:
    """How many of the stage's layers, counted from its first, are frozen: all but the model's last ones."""
    training = scenario.training
    if training.method != "freeze":
        return 0
    frozen = stage.num_layers - training.freeze.trainable_layers - stage.first_layer
    return min(max(0, frozen), stage.part.num_layers)


def _states(chosen: ChosenModel, stage: Stage, setup: Setup, scenario: Scenario) -> States:
    part = stage.part
    flat = scenario.hardware.sharding.strategy in ("zero1", "zero2", "zero3")
    exact = exact_states(part, setup, scenario.training, _frozen_layers(scenario, stage), flat=flat)
    if chosen.exact:
        return exact
    assumed = total(part)
    parameters = chosen.parameters
    if part is not chosen.architecture:
        parameters = parameters * assumed // total(chosen.architecture)
    return states_of_size(parameters, assumed, setup, scenario.training, exact)
