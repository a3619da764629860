"""Levers that put memory elsewhere: on other devices, or on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memplan.choice_titles import choice_title
from memplan.levers.lever import ALWAYS, Changes, Lever, device_in, infers, never, setting
from memplan.memory.optimizers import RULES
from memplan.memory.sharding import SHARDS_STATES, SHARDS_WEIGHTS, data_parallel_devices
from memplan.number_style import number
from memplan.plan.hardware import Strategy
from memplan.plan.scenario import Scenario
from memplan.translation import tr

_MOST_DEVICES = 4096
_ZERO = "Rajbhandari et al. 2020, arXiv:1910.02054"


def _shared_memory(scenario: Scenario) -> str | None:
    device = device_in(scenario)
    shares = device is not None and device.device_class == "unified"
    return tr("device and host share one memory") if shares else None


def _offload_optimizer_why_not(scenario: Scenario) -> str | None:
    optimizer = scenario.training.optimizer
    if RULES[optimizer].paged:
        return tr("{optimizer} keeps its states on the host already").format(
            optimizer=choice_title("optimizer", optimizer)
        )
    if RULES[optimizer].source.startswith("bitsandbytes"):
        return tr("{optimizer} runs on the device alone").format(optimizer=choice_title("optimizer", optimizer))
    hardware = scenario.hardware
    if data_parallel_devices(hardware) > 1 and hardware.sharding.strategy not in SHARDS_STATES:
        return tr("states move to the host where devices divide them: under ZeRO or FSDP")
    if scenario.training.optimizer_in_backward:
        return tr("gradients are applied on the device as they come")
    return _shared_memory(scenario)


def _offload_parameters(scenario: Scenario) -> Changes:
    changes = {"hardware.offload.parameters": True}
    return changes if infers(scenario) else {**changes, "hardware.offload.optimizer": True}


def _offload_parameters_why_not(scenario: Scenario) -> str | None:
    hardware = scenario.hardware
    if data_parallel_devices(hardware) > 1 and hardware.sharding.strategy not in SHARDS_WEIGHTS:
        return tr("weights move to the host where devices divide them: under ZeRO-3 or FSDP")
    return _shared_memory(scenario) if infers(scenario) else _offload_optimizer_why_not(scenario)


def recomputes_every_layer(scenario: Scenario) -> bool:
    """Whether no layer keeps more than its input."""
    training = scenario.training
    return training.checkpointing == "offload" or (training.checkpointing == "full" and training.checkpoint_every == 1)


def _offload_activations_why_not(scenario: Scenario) -> str | None:
    if recomputes_every_layer(scenario):
        return tr("checkpoints are all that layers keep")
    return _shared_memory(scenario)


def _sharding_why_not(strategy: Strategy) -> Callable[[Scenario], str | None]:
    def why_not(scenario: Scenario) -> str | None:
        hardware = scenario.hardware
        if data_parallel_devices(hardware) == 1:
            return tr("there is no second device to divide with")
        if strategy in ("zero2", "zero3") and hardware.pipeline_parallel > 1:
            return tr("DeepSpeed's pipelines take ZeRO-1 alone")
        return None

    return why_not


def _more_devices(scenario: Scenario) -> Changes:
    """Twice the devices for the same batch, as far as pieces or sequences can be halved; states are divided."""
    training, hardware = scenario.training, scenario.hardware
    changes: dict[str, object] = {"hardware.devices": 2 * hardware.devices}
    if hardware.sharding.strategy in ("none", "ddp"):
        changes["hardware.sharding.strategy"] = "fsdp2"
    for path, count in (
        ("training.gradient_accumulation", training.gradient_accumulation),
        ("training.micro_batch", training.micro_batch),
    ):
        if count % 2 == 0:
            return {**changes, path: count // 2}
    return changes


def _more_devices_why_not(scenario: Scenario) -> str | None:
    device = device_in(scenario)
    if device is not None and device.vendor == "Apple":
        return tr("PyTorch has no communication between Apple's GPUs")
    if device is not None and not device.joins_others:
        return tr("devices of this kind cannot share a run")
    return tr("there are thousands of devices already") if 2 * scenario.hardware.devices > _MOST_DEVICES else None


def _sharding(strategy: Strategy, *, is_advised: bool = True, **facts: Any) -> Lever:
    return setting(
        id=strategy,
        group="sharding",
        on={"hardware.sharding.strategy": strategy},
        off={"hardware.sharding.strategy": "ddp"},
        why_not=_sharding_why_not(strategy),
        is_advised=is_advised,
        **facts,
    )


PLACING: tuple[Lever, ...] = (
    _sharding(
        "zero1",
        title="ZeRO-1",
        short="Divides states",
        price="Sends as much as DDP does. Needs DeepSpeed or a like.",
        does="Each device holds its part of the optimizer states and the master weights.",
        idle="There is one device, or there are hardly any states: adapters, SGD, Adafactor.",
        source=f"{_ZERO}, section 5.1",
        counts_as=0.01,
    ),
    _sharding(
        "zero2",
        title="ZeRO-2",
        short="Divides gradients",
        price="Weights stay whole on each device. Needs DeepSpeed or a like.",
        does="Each device holds its part of states and gradients.",
        idle="There is one device, or weights and activations are what is too much.",
        source=f"{_ZERO}, section 5.2",
        counts_as=0.02,
    ),
    _sharding(
        "fsdp2",
        title="FSDP2",
        short="Divides weights",
        price="Weights are gathered layer by layer, in every pass: half as much again is sent as DDP sends.",
        does="Each device holds its part of states, gradients and weights; a layer or two are whole at a time.",
        idle="There is one device, or activations are what is too much: they are not divided.",
        source="PyTorch documentation, fully_shard; Zhao et al. 2023, arXiv:2304.11277",
        counts_as=0.025,
        serves=ALWAYS,
    ),
    _sharding(
        "zero3",
        title="ZeRO-3",
        short="Divides weights",
        price="Weights are gathered layer by layer, in every pass: half as much again is sent as DDP sends. Needs "
        "DeepSpeed or a like.",
        does="Each device holds its part of states, gradients and weights; a few layers are whole at a time.",
        idle="There is one device, or activations are what is too much: they are not divided.",
        source=f"{_ZERO}, section 5.3",
        counts_as=0.03,
        serves=ALWAYS,
        is_advised=False,  # FSDP2 divides as much, and is part of PyTorch
    ),
    Lever(
        id="more_devices",
        title="Twice the devices",
        short="Twice as many",
        price="Twice as many devices to pay for and to connect, each with half of the states.",
        does="Halves what sharding divides, and the sequences of each device where they can be halved.",
        idle="The activations of a single sequence are what is too much.",
        source="arithmetic; PyTorch documentation, fully_shard",
        group="devices",
        on=_more_devices,
        off={},
        is_on=never,
        why_not=_more_devices_why_not,
        changes_what="devices",
        counts_as=0.7,
        times=4,
        comes_to=lambda scenario: tr("{count} devices").format(count=number(scenario.hardware.devices)),
    ),
    setting(
        id="offload_activations",
        title="Offload activations",
        short="Over the host link",
        price="What layers keep waits in the host's memory, pinned, and comes and goes while the device computes; few "
        "trainers have it.",
        does="What layers keep for backward leaves the device until it is wanted.",
        idle="The peak is at the optimizer step, or device and host share one memory.",
        source="PyTorch documentation, torch.autograd.graph.save_on_cpu; torchtune documentation, "
        "enable_activation_offloading",
        group="offload_activations",
        on={"hardware.offload.activations": True},
        off={"hardware.offload.activations": False},
        why_not=_offload_activations_why_not,
        changes_what="host",
        counts_as=0.5,
    ),
    setting(
        id="offload_checkpoints",
        title="Offload checkpoints",
        short="Recomputes, host link",
        price="Checkpoints wait in the host's memory; forward runs a second time during backward.",
        does="The inputs of layers leave the device until backward wants them.",
        idle="Sequences are short, or device and host share one memory.",
        source="Unsloth's gradient checkpointing; Chen et al. 2016, arXiv:1604.06174",
        group="checkpointing",
        on={"training.checkpointing": "offload"},
        off={"training.checkpointing": "full"},
        why_not=_shared_memory,
        changes_what="host",
        counts_as=0.1,
    ),
    setting(
        id="offload_optimizer",
        title="Offload optimizer",
        short="Updates on the host",
        price="States and master weights live in the host's memory, and its processor works out the update.",
        does="States and master weights leave the device.",
        idle="Few parameters train, or weights and activations are what is too much.",
        source="Ren et al. 2021, arXiv:2101.06840",
        group="offload",
        on={"hardware.offload.optimizer": True},
        off={"hardware.offload.optimizer": False, "hardware.offload.parameters": False},
        why_not=_offload_optimizer_why_not,
        changes_what="host",
        counts_as=0.15,
    ),
    Lever(
        id="offload_parameters",
        title="Offload parameters",
        short="Over the host link",
        price="Weights and states live in the host's memory, where they are updated; weights come layer by layer, in "
        "every pass.",
        does="Weights and states leave the device; a layer or two are on it at a time.",
        idle="Activations or logits are what is too much.",
        source="Rajbhandari et al. 2021, arXiv:2104.07857; PyTorch documentation, CPUOffloadPolicy",
        group="offload",
        on=_offload_parameters,
        off={"hardware.offload.parameters": False},
        is_on=lambda scenario: scenario.hardware.offload.parameters,
        why_not=_offload_parameters_why_not,
        changes_what="host",
        counts_as=0.3,
        serves=ALWAYS,
    ),
)
"""Least costly first."""
