"""From a scenario to its estimate: resolve the model, walk a step, add what stays, compare with the device."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from memplan.architecture.counts import active, total
from memplan.catalog import device as device_of
from memplan.checks import advice, not_modelled
from memplan.chosen_model import ChosenModel, chosen_model
from memplan.explain import terms_of
from memplan.memory.account import States, exact_states, states_of_size
from memplan.memory.gathering import Gathering, compute_setup, gathering_of
from memplan.memory.instants import Timeline, timeline
from memplan.memory.process import Overheads, need_of, overheads, process_of, slack, usable_bytes
from memplan.memory.setup import Setup
from memplan.memory.sharding import SHARDS_WEIGHTS, bucket_bytes, data_parallel_devices, sharded
from memplan.memory.stack import TRACED, stack_of
from memplan.plan.scenario import Scenario
from memplan.recipe import recipe_of
from memplan.result import (
    TERMS,
    Advice,
    Basis,
    Estimate,
    Instant,
    Need,
    Parameters,
    Verdict,
)


def estimate(scenario: Scenario) -> Estimate:
    """Estimate one scenario. Pure: the same scenario gives the same answer, on any thread.

    Raises:
        ConfigError: the model's configuration does not describe a model.
        UnknownEntryError: the catalog has no such model or device.

    >>> from memplan.plan.scenario import Scenario
    >>> found = estimate(Scenario.model_validate({"model": {"parameters": 7_000_000_000}}))
    >>> found.recipe.bytes_per_parameter, found.verdict
    (8.0, 'fits')
    """
    chosen, training, hardware = chosen_model(scenario.model), scenario.training, scenario.hardware
    device = device_of(hardware.device)
    setup = Setup.of(training, stack_of(training))
    whole = _states(chosen, setup, scenario)
    states, gathering = _on_one_device(chosen, setup, scenario, whole)
    line = _walked(chosen, setup, scenario, states, gathering)
    over, buckets = overheads(device, hardware), bucket_bytes(states, hardware)
    allocated = line.bytes.peak + buckets + over.workspace
    instants = tuple(_whole_process(one, buckets, over) for one in line.later)
    first = tuple(_whole_process(one, buckets, over) for one in line.first)
    peak = max((*first, *instants), key=lambda one: one.total_bytes)
    need, usable = need_of(allocated, over), usable_bytes(device, hardware)
    extrapolations = (*chosen.advice, *not_modelled(scenario, chosen.architecture, device))
    return Estimate(
        name=scenario.name,
        model_name=chosen.name,
        parameters=_parameters(chosen, whole),
        recipe=recipe_of(setup, training, chosen.parameters, whole),
        trace=lambda: _walked(chosen, replace(setup, stack=TRACED), scenario, states, gathering).bytes,
        instants=instants,
        first_step=first,
        peak=peak,
        explain=cache(lambda: terms_of(chosen, setup, training, whole, line, (*first, *instants), peak)),
        process=process_of(allocated, over, device.framework_total_bytes),
        need=need,
        device_id=device.id,
        device_name=device.name,
        usable_bytes=usable,
        verdict=_verdict(need, usable),
        basis=_basis(extrapolations, setup),
        warnings=(*extrapolations, *advice(scenario, setup, chosen.architecture, device)),
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


def _whole_process(instant: Instant, buckets: int, over: Overheads) -> Instant:
    """The instant with what the process holds beside the tensors."""
    terms = dict(instant.bytes_by_term)
    if instant.step and buckets:
        terms["communication buffers"] = terms.get("communication buffers", 0) + buckets
    terms["allocator slack"] = slack(sum(terms.values()))
    terms["framework"] = over.workspace + over.context
    return Instant(instant.name, instant.step, instant.where, {term: terms[term] for term in TERMS if terms.get(term)})


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


def _parameters(chosen: ChosenModel, states: States) -> Parameters:
    whole = chosen.parameters + states.adapter_parameters
    idle = total(chosen.architecture) - active(chosen.architecture)
    return Parameters(total=whole, trainable=states.trainable, active=max(0, whole - idle))


def _verdict(need: Need, usable: int) -> Verdict:
    if need.high <= usable:
        return "fits"
    return "does_not_fit" if need.low > usable else "tight"


def _basis(extrapolations: tuple[Advice, ...], setup: Setup) -> Basis:
    """Traces are of the newest library; older ones were held against measured runs, other losses read in source."""
    if extrapolations:
        return "extrapolated"
    if setup.loss != "plain":
        return "published"
    return "traced" if setup.stack.version >= (5, 0) else "measured"
