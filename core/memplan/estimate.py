"""From a scenario to its estimate: walk a step, add what the device's process holds, compare with what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from memplan.allocation import Allocation, allocation
from memplan.architecture.counts import active, total
from memplan.calibration import calibrated, measurement_of
from memplan.catalog import Device
from memplan.catalog import device as device_of
from memplan.checks import advice, runs_alone
from memplan.chosen_model import chosen_model
from memplan.explain import terms_of
from memplan.extrapolation import extrapolations
from memplan.memory.host import host_memory
from memplan.memory.process import (
    Overheads,
    need_of,
    overheads,
    process_of,
    slack,
    usable_bytes,
    usable_from,
    verdict_of,
)
from memplan.memory.setup import Setup
from memplan.misreadings import misreadings
from memplan.number_style import once_a_style
from memplan.parallel_checks import padding_advice
from memplan.plan.scenario import Scenario
from memplan.recipe import recipe_of
from memplan.result import Advice, Basis, CoursePoint, Estimate, Instant, Parameters


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
    held, asked = allocation(scenario), scenario
    scenario = held.scenario
    training, hardware = scenario.training, scenario.hardware
    chosen, setup, whole, line = held.chosen, held.setup, held.whole, held.timeline
    device = device_of(hardware.device)
    over = overheads(device, hardware)
    allocated = held.peak_bytes + over.workspace
    instants = tuple(_whole_process(one, held.bucket_bytes, over) for one in line.later)
    first = tuple(_whole_process(one, held.bucket_bytes, over) for one in line.first)
    peak = max((*first, *instants), key=lambda one: one.total_bytes)
    roomy, usable = need_of(allocated, over), usable_bytes(device, hardware)
    need = calibrated(roomy, allocated, peak.total_bytes, over, scenario.measured)
    unproven = (*chosen.advice, *extrapolations(scenario, chosen.architecture, device))  # its words are said below
    return Estimate(
        name=scenario.name,
        model_name=chosen.name,
        parameters=_parameters(held),
        recipe=recipe_of(setup, training, chosen.parameters, whole),
        trace=held.traced_bytes,
        instants=instants,
        first_step=first,
        peak=peak,
        explain=once_a_style(lambda: terms_of(chosen, setup, scenario, whole, line, (*first, *instants), peak)),
        walk_course=cache(lambda: _course(held, over)),
        process=process_of(allocated, over, device.framework_total_bytes),
        need=need,
        device_id=device.id,
        device_name=device.name,
        usable_bytes=usable,
        usable_from=usable_from(device, hardware),
        verdict=verdict_of(need, usable),
        basis=_basis(unproven, setup),
        runs_alone=runs_alone(hardware, device),
        stages=held.stages,
        host=host_memory(held.states, scenario, line.on_host),
        measured=measurement_of(scenario, allocated, roomy, need),
        advise=once_a_style(lambda: tuple(_advice(asked, held, device, need.low))),
    )


def _advice(scenario: Scenario, held: Allocation, device: Device, need_bytes: int) -> Iterator[Advice]:
    """What was assumed, what is unwise, then what may be meant otherwise."""
    architecture, walked = held.chosen.architecture, held.timeline.walked
    yield from chosen_model(scenario.model).advice
    yield from extrapolations(held.scenario, architecture, device)
    yield from advice(scenario, held.setup, architecture, device)
    yield from padding_advice(scenario, held.setup, held.stage.part, need_bytes)
    yield from misreadings(scenario, architecture, held.states.weights, walked.copied_bytes)


def _whole_process(instant: Instant, buckets: int, over: Overheads) -> Instant:
    """The instant with what the process holds beside the tensors. What is added comes last in the order of TERMS."""
    terms = dict(instant.bytes_by_term)
    if instant.step and buckets:
        terms["communication buffers"] = terms.get("communication buffers", 0) + buckets
    beside = slack(sum(terms.values()))
    if framework := over.workspace + over.context:
        terms["framework"] = framework
    if beside:
        terms["allocator slack"] = beside
    return Instant(instant.name, instant.step, instant.where, terms)


def _course(held: Allocation, over: Overheads) -> tuple[CoursePoint, ...]:
    """The course of a step with what the process holds beside the tensors."""
    return held.course(lambda instant: _whole_process(instant, held.bucket_bytes, over))


def _parameters(held: Allocation) -> Parameters:
    chosen = held.chosen
    whole = chosen.parameters + held.whole.adapter_parameters
    idle = total(chosen.architecture) - active(chosen.architecture)
    return Parameters(total=whole, trainable=held.whole.trainable, active=max(0, whole - idle))


def _basis(unproven: tuple[Advice, ...], setup: Setup) -> Basis:
    """Traces are of the newest library; older ones were held against measured runs, other losses read in source."""
    if unproven:
        return "extrapolated"
    if setup.stack.kernels == "megatron":
        return "published"
    if setup.stack.kernels in ("litgpt", "torchtune"):  # their chunked losses were traced with their modules
        return "measured" if setup.stack.keeps_packed_inputs else "traced"
    if setup.loss != "plain":
        return "published"
    return "traced" if setup.stack.version >= (5, 0) else "measured"
