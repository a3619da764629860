"""How long a set-up takes for a token, well enough to compare set-ups of one run: what a lever costs in time.

Arithmetic is counted; bytes that move are divided by the link that they move over. What is left out (kernels' starts,
the data, imperfect overlap) is much the same before and after a lever. Nothing here decides what fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from memplan.allocation import Allocation, allocation
from memplan.architecture.flops import Gradients, step_flops, token_flops
from memplan.architecture.parts import Architecture
from memplan.catalog import Device
from memplan.chosen_model import chosen_model
from memplan.levers.links import HOST_GB_S, Links, links_of
from memplan.memory.optimizers import paged_tensors
from memplan.memory.setup import Setup
from memplan.memory.sharding import SHARDS_GRADIENTS, SHARDS_STATES, SHARDS_WEIGHTS, data_parallel_devices
from memplan.memory.stack import stack_of
from memplan.memory.states import held_tensors, weight_bytes
from memplan.number_formats import BYTES_PER_VALUE
from memplan.plan.hardware import Hardware
from memplan.plan.scenario import Scenario
from memplan.plan.training import Method, Training

_UPDATE_BYTES = 28
"""Read and written on the host for one parameter's AdamW update in fp32: weight, gradient and two moments read, weight
and moments written. Ren et al. 2021, arXiv:2101.06840, measured about 2.6 s for 10e9 parameters: 108 GB/s of it."""


@dataclass(frozen=True, slots=True)
class Work:
    """What one optimizer step asks of each device: operations, and bytes by the link that they move over."""

    flops: float
    read_bytes: float
    """Weights and gradients, read again for each micro-batch; what 4-bit weights are unpacked to."""
    neighbour_bytes: float
    """What data-parallel devices send each other; arithmetic hides as much of it as it takes long."""
    leaves_node: bool
    streamed_bytes: float
    """To and from the host while the device computes, which hides as much of it."""
    host_bytes: float
    """To and from the host while the device waits."""
    update_bytes: float
    """Read and written by the host's processor, for all devices of a node."""
    tokens: int

    def seconds_per_token(self, links: Links) -> float:
        """Device time for a token.

        Equation: t = compute + read / memory + max(0, sent / link - compute) + max(0, streamed / host link - compute)
        + waited for / host link + update / host memory; compute = FLOPs / (0.4 · peak).
        """
        compute = self.flops / links.flops
        seconds = compute + self.read_bytes / links.memory
        if self.neighbour_bytes:
            rate = min(links.neighbours, links.network) if self.leaves_node else links.neighbours
            seconds += max(0.0, self.neighbour_bytes / rate - compute)
        if links.host is not None:
            seconds += max(0.0, self.streamed_bytes / links.host - compute)
            seconds += self.host_bytes / links.host + self.update_bytes / (HOST_GB_S * 1e9)
        return seconds / self.tokens


def slowdown(now: Scenario, then: Scenario, device: Device) -> float:
    """Device time for a token, after over before: 1.33 where forward, a third of the arithmetic, runs twice.

    With more devices it is the time of all of them together: twice the devices in half the time is no slowdown.

    >>> from memplan.catalog import device
    >>> from memplan.plan.edit import replaced
    >>> scenario = Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.1-8B"}})
    >>> round(slowdown(scenario, replaced(scenario, "training.checkpointing", "full"), device("a100-80gb-sxm")), 2)
    1.31
    """
    links = links_of(device)
    return work_of(then).seconds_per_token(links) / work_of(now).seconds_per_token(links)


def work_of(scenario: Scenario, kept_on_host_bytes: int | None = None) -> Work:
    """Count what a step asks of each device; the device itself plays no part.

    Equation: read = pieces · (passes · (weights + unpacked) + 2 · gradients); sent: 2 · gradients a step, or a piece
    where gradients are divided; where weights are, 2 · weights + gradients a piece; all of it · (d - 1) / d.
    Symbols: pieces = micro-batches of a step; passes = forward, and each of backward's products; d = data-parallel
    devices.
    Sources: `step_flops`; Rajbhandari et al. 2020, section 7 (what ZeRO sends); Ren et al. 2021 (ZeRO-Offload).

    Args:
        scenario: as it is.
        kept_on_host_bytes: what layers keep on the host for one micro-batch, where that is known; walked for without.
    """
    training, hardware = scenario.training, scenario.hardware
    architecture, held = chosen_model(scenario.model).architecture, _held(scenario)
    kept = kept_on_host(scenario) if kept_on_host_bytes is None else kept_on_host_bytes
    split = hardware.tensor_parallel * hardware.pipeline_parallel * hardware.context_parallel
    devices, pieces = data_parallel_devices(hardware), training.gradient_accumulation
    recomputes = training.checkpointing in ("full", "offload")
    tokens = training.micro_batch * training.sequence_length * pieces
    gradients = _GRADIENTS[training.method]
    token = token_flops(architecture, training.sequence_length)
    passes = 2 + (gradients == "all") + recomputes
    states, update = _at_the_host(scenario, held, devices)
    return Work(
        flops=tokens * step_flops(token, gradients, adapters=held.adapters, recomputes=recomputes) / split,
        read_bytes=pieces * (passes * (held.weight_bytes + held.unpacked_bytes) + 2 * held.gradient_bytes) / split,
        neighbour_bytes=_sent(hardware, held, devices, pieces) / split,
        leaves_node=devices > hardware.devices_per_node,
        streamed_bytes=_streamed_weights(scenario, held, devices) / split + 2 * kept * pieces,
        host_bytes=states / split,
        update_bytes=update / split,
        tokens=tokens,
    )


_GRADIENTS: dict[Method, Gradients] = {
    "full": "all",
    "freeze": "all",
    "lora": "inputs",
    "qlora": "inputs",
    "inference": "none",
}


@dataclass(frozen=True, slots=True)
class _Held:
    """What moves."""

    weight_bytes: int
    """Of the whole model, packed ones as they are packed."""
    unpacked_bytes: int
    """What packed weights are unpacked to for each use."""
    gradient_bytes: int
    trainable: int
    adapters: int
    """Values of adapters that a token passes through."""
    paged_bytes: int
    """States that come and go by pages."""


def _held(scenario: Scenario) -> _Held:
    training = scenario.training
    architecture = chosen_model(scenario.model).architecture
    setup = Setup.of(training, stack_of(training))
    return _held_by(architecture, setup, training.optimizer, training.quantization.double_quant)


@lru_cache(maxsize=1024)
def _held_by(architecture: Architecture, setup: Setup, optimizer: str, double_quant: bool) -> _Held:
    tensors = held_tensors(architecture, setup)
    trains = [one for one in tensors if one.trains]
    states = Training.model_validate({"optimizer": optimizer})
    return _Held(
        weight_bytes=sum(weight_bytes(one, double_quant=double_quant) for one in tensors),
        unpacked_bytes=sum(one.total_values * BYTES_PER_VALUE[one.dtype] for one in tensors if one.packed),
        gradient_bytes=sum(one.total_values * BYTES_PER_VALUE[one.dtype] for one in trains),
        trainable=sum(one.total_values for one in trains),
        adapters=sum(one.total_values for one in tensors if one.adapter),
        paged_bytes=sum(one.count * sum(paged_tensors(one, states)) for one in trains),
    )


def _sent(hardware: Hardware, held: _Held, devices: int, pieces: int) -> float:
    """Bytes that a data-parallel device sends and receives in a step."""
    strategy = hardware.sharding.strategy
    if devices == 1:
        return 0.0
    amount = 2 * held.gradient_bytes * (pieces if strategy in SHARDS_GRADIENTS else 1)
    if strategy in SHARDS_WEIGHTS:
        gathers = 2 if hardware.sharding.reshard_after_forward else 1
        amount = (gathers * held.weight_bytes + held.gradient_bytes) * pieces
    return amount * (devices - 1) / devices


def _at_the_host(scenario: Scenario, held: _Held, devices: int) -> tuple[float, float]:
    """Bytes that come and go for the optimizer's step, and those that the host's processor reads and writes for it."""
    hardware = scenario.hardware
    divided = devices if hardware.sharding.strategy in SHARDS_STATES else 1
    if hardware.offload.optimizer:
        together = min(hardware.devices, hardware.devices_per_node)  # they share one host
        return 2 * held.gradient_bytes / divided, held.trainable * _UPDATE_BYTES * together / divided
    return 2 * held.paged_bytes / divided, 0.0


def _streamed_weights(scenario: Scenario, held: _Held, devices: int) -> float:
    """Bytes of weights that come while the device computes, for forward and for backward of each micro-batch."""
    hardware, training = scenario.hardware, scenario.training
    if not hardware.offload.parameters:
        return 0.0
    divided = devices if hardware.sharding.strategy in SHARDS_WEIGHTS else 1
    return 2 * held.weight_bytes / divided * training.gradient_accumulation


def kept_on_host(scenario: Scenario, walked: Allocation | None = None) -> int:
    """Bytes that a device's layers keep on the host for one micro-batch: they go there in forward and come back."""
    if not (scenario.hardware.offload.activations or scenario.training.checkpointing == "offload"):
        return 0
    found = walked or allocation(scenario)
    virtual = scenario.hardware.virtual_stages if found.stage.ranks > 1 else 1
    return found.timeline.on_host * virtual // found.stage.in_flight(scenario.training.gradient_accumulation, virtual)
