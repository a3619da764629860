"""Levers for runs that train nothing: fewer sequences at once, and matrices divided over devices."""

from __future__ import annotations

from memplan.architecture.linear_parts import StateMixer
from memplan.chosen_model import chosen_model
from memplan.errors import MemplanError
from memplan.levers.lever import (
    Changes,
    Lever,
    Purpose,
    device_in,
    half_the_sequences,
    micro_batch_words,
    never,
    no_fewer_sequences,
)
from memplan.memory.sharding import data_parallel_devices
from memplan.number_style import number
from memplan.plan.scenario import Scenario
from memplan.translation import tr

_INFERENCE: frozenset[Purpose] = frozenset({"inference"})
_MEGATRON = "Shoeybi et al. 2019, arXiv:1909.08053, section 3"


def _divided(scenario: Scenario) -> Changes:
    """Pairs of devices that had sequences of their own take those of both, each with half of every matrix."""
    return {
        "hardware.tensor_parallel": 2 * scenario.hardware.tensor_parallel,
        "training.micro_batch": 2 * scenario.training.micro_batch,
    }


def _divided_why_not(scenario: Scenario) -> str | None:
    if data_parallel_devices(scenario.hardware) % 2:
        return tr("there is no second device to divide with")
    return _parts_why_not(scenario)


def _over_more(scenario: Scenario) -> Changes:
    hardware = scenario.hardware
    return {"hardware.devices": 2 * hardware.devices, "hardware.tensor_parallel": 2 * hardware.tensor_parallel}


def _over_more_why_not(scenario: Scenario) -> str | None:
    device = device_in(scenario)
    if device is not None and device.vendor == "Apple":
        return tr("PyTorch has no communication between Apple's GPUs")
    return _parts_why_not(scenario)


def _parts_why_not(scenario: Scenario) -> str | None:
    parts = 2 * scenario.hardware.tensor_parallel
    if parts > scenario.hardware.devices_per_node:
        return tr("products would wait for the network in every layer")
    try:
        kinds = chosen_model(scenario.model).architecture.kinds
    except MemplanError:
        return None
    heads = (layer.attention.heads for layer in kinds if not isinstance(layer.attention, StateMixer))
    return tr("the heads can not be divided further") if any(count % parts for count in heads) else None


INFERENCE: tuple[Lever, ...] = (
    Lever(
        id="tensor_parallel",
        title="Tensor parallel",
        short="Waits in each layer",
        price="Devices add up what each has of a layer's output, and wait for it twice in every layer.",
        does="Each device holds its part of every matrix and of the cached heads.",
        idle="There is one device, or its sequences' own buffers are what is too much.",
        source=_MEGATRON,
        group="tensor",
        on=_divided,
        off={},
        is_on=never,
        why_not=_divided_why_not,
        counts_as=0.02,
        times=3,
        comes_to=lambda scenario: tr("{count} parts").format(count=number(scenario.hardware.tensor_parallel)),
        serves=_INFERENCE,
    ),
    Lever(
        id="over_more_devices",
        title="Over twice the devices",
        short="Twice as many",
        price="Twice as many devices to pay for and to connect, each with half of every matrix (tensor parallel).",
        does="Halves weights and cached keys and values of each device.",
        idle="Activations are what is too much: what is between the matrices stays whole.",
        source=_MEGATRON,
        group="devices",
        on=_over_more,
        off={},
        is_on=never,
        why_not=_over_more_why_not,
        changes_what="devices",
        counts_as=0.7,
        times=3,
        comes_to=lambda scenario: tr("{count} devices").format(count=number(scenario.hardware.devices)),
        serves=_INFERENCE,
    ),
    Lever(
        id="fewer_at_once",
        title="Fewer sequences at once",
        short="Others wait",
        price="Half the sequences at once: the others wait, and weights are read as often for half the tokens.",
        does="Halves what grows with the batch: cached keys and values, activations, logits.",
        idle="The micro-batch is 1, or weights alone are too much.",
        source="arithmetic: weights are read once for each pass",
        group="sequences",
        on=half_the_sequences,
        off={},
        is_on=never,
        why_not=no_fewer_sequences,
        changes_what="effective_batch",
        counts_as=0.3,
        times=20,
        comes_to=micro_batch_words,
        serves=_INFERENCE,
    ),
)
"""Least costly first."""
