"""From a scenario to its estimate: resolve the model, walk a step, add what stays, compare with the device."""

from __future__ import annotations

from memplan.architecture.counts import active, total
from memplan.catalog import device as device_of
from memplan.checks import advice, not_modelled
from memplan.chosen_model import ChosenModel, chosen_model
from memplan.explain import terms_of
from memplan.memory.account import States, exact_states, states_of_size
from memplan.memory.instants import timeline
from memplan.memory.process import need_of, overheads, process_of, slack, usable_bytes
from memplan.memory.setup import Setup
from memplan.memory.sharding import communication_bytes, sharded
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
    TermName,
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
    (8.0, 'does_not_fit')
    """
    chosen, training, hardware = chosen_model(scenario.model), scenario.training, scenario.hardware
    device = device_of(hardware.device)
    setup = Setup.of(training)
    whole = _states(chosen, setup, scenario)
    states = sharded(whole, hardware)
    communication = communication_bytes(whole, chosen.architecture.num_layers, hardware)
    line = timeline(chosen.architecture, setup, training, states, _frozen_layers(scenario, chosen))
    over = overheads(device, hardware)
    allocated = line.bytes.peak + communication + over.workspace
    framework = over.workspace + over.context

    def finished(instant: Instant) -> Instant:
        beside: dict[TermName, int] = {
            "communication buffers": communication if instant.step else 0,
            "framework": framework,
            "allocator slack": slack(instant.total_bytes),
        }
        merged = {**instant.bytes_by_term, **beside}
        return Instant(instant.name, instant.step, instant.where, {t: merged[t] for t in TERMS if merged.get(t)})

    instants = tuple(finished(one) for one in line.later)
    first = tuple(finished(one) for one in line.first)
    peak = max((*first, *instants), key=lambda one: one.total_bytes)
    need, usable = need_of(allocated, over), usable_bytes(device, hardware)
    extrapolations = (*chosen.advice, *not_modelled(scenario, chosen.architecture))
    return Estimate(
        name=scenario.name,
        model_name=chosen.name,
        parameters=_parameters(chosen, whole),
        recipe=recipe_of(setup, training, chosen.parameters, whole),
        bytes=line.bytes,
        instants=instants,
        first_step=first,
        peak=peak,
        terms=terms_of(chosen, setup, training, whole, line, (*first, *instants), peak),
        process=process_of(allocated, over, device.framework_total_bytes),
        need=need,
        device_id=device.id,
        device_name=device.name,
        usable_bytes=usable,
        verdict=_verdict(need, usable),
        basis=_basis(extrapolations),
        warnings=(*extrapolations, *advice(scenario, setup, chosen.architecture)),
    )


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


def _basis(extrapolations: tuple[Advice, ...]) -> Basis:
    return "extrapolated" if extrapolations else "traced"
