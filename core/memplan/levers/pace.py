"""How long a set-up takes for a token, well enough to compare set-ups of one run: what a lever costs in time.

Arithmetic is counted; bytes that move are divided by the link that they move over. What is left out (kernels' starts,
the data, imperfect overlap) is much the same before and after a lever. Nothing here decides what fits.

What travels while a pass computes hides under that pass alone: forward's gathers under forward; backward's gathers and
reductions under backward, with what is recomputed in it. Where gradients are reduced once for several micro-batches,
they hide under the last one's backward. Source: PyTorch 2.13, torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py
(pre_backward gathers the next group's weights while this one computes) and _fsdp_state.py (a checkpoint's forward runs
behind that hook); Li et al. 2020, arXiv:2006.15704, section 3.2 (DDP's buckets, and no_sync).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from memplan.allocation import Allocation, allocation
from memplan.architecture.chosen_layers import adapted_on_last
from memplan.architecture.flops import Reach, backward_flops, token_flops
from memplan.architecture.parts import Architecture
from memplan.catalog import Device
from memplan.chosen_model import chosen_model
from memplan.levers.links import HOST_GB_S, Links, links_of
from memplan.levers.reach import frozen_layers, reach_of
from memplan.memory.gathering import casts, gathered_dtype
from memplan.memory.optimizers import paged_tensors
from memplan.memory.setup import Setup
from memplan.memory.sharding import SHARDS_GRADIENTS, SHARDS_STATES, SHARDS_WEIGHTS, data_parallel_devices
from memplan.memory.stack import stack_of
from memplan.memory.states import held_tensors, weight_bytes
from memplan.number_formats import BYTES_PER_VALUE
from memplan.plan.hardware import Hardware, Sharding
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training

_UPDATE_BYTES = 28
"""Read and written on the host for one parameter's AdamW update in fp32: weight, gradient and two moments read, weight
and moments written. Ren et al. 2021, arXiv:2101.06840, measured about 2.6 s for 10e9 parameters: 108 GB/s of it."""


@dataclass(frozen=True, slots=True)
class Pass:
    """Forward or backward of a micro-batch on each device: operations, and bytes that travel meanwhile."""

    flops: float
    sent_bytes: float
    """What data-parallel devices send each other; arithmetic hides as much of it as it takes long."""
    streamed_bytes: float
    """To and from the host; arithmetic hides as much of it."""
    times: int = 1

    def seconds(self, links: Links, rate: float) -> float:
        """How long it takes; `rate` is that of the link between devices."""
        compute = self.flops / links.flops
        seconds = compute + max(0.0, self.sent_bytes / rate - compute)
        if links.host is not None:
            seconds += max(0.0, self.streamed_bytes / links.host - compute)
        return seconds


@dataclass(frozen=True, slots=True)
class Work:
    """What one optimizer step asks of each device: operations, and bytes by the link that they move over.

    Where text is generated, what making the next token of each sequence asks.
    """

    passes: tuple[Pass, ...]
    read_bytes: float
    """Weights and gradients, read again for each micro-batch; what 4-bit weights are unpacked to; cached keys."""
    sent_over: int
    """Network cards of a node that data-parallel devices send over, one for each that is there; 0 within one node."""
    summed_bytes: float
    """What tensor-parallel devices send each other to add up what each has of a layer's output, and wait for."""
    summed_over: int
    """Network cards of a node that tensor-parallel devices send over; 0 within one node."""
    host_bytes: float
    """To and from the host while the device waits."""
    update_bytes: float
    """Read and written by the host's processor, for all devices of a node."""
    tokens: float
    """Each device's share of them: of those that several devices work out together, a part."""

    def seconds_per_token(self, links: Links) -> float:
        """Device time for a token.

        Equation: t = Σ over passes of (compute + max(0, sent / link - compute) + max(0, streamed / host link -
        compute)) + summed / link + read / memory + waited for / host link + update / host memory; compute = FLOPs /
        (0.4 · peak).
        """
        rate = links.between(self.sent_over)
        seconds = sum(one.times * one.seconds(links, rate) for one in self.passes) + self.read_bytes / links.memory
        seconds += self.summed_bytes / links.between(self.summed_over)
        if links.host is not None:
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


def work_of(scenario: Scenario, kept_on_host_bytes: int | None = None, cached_bytes: int | None = None) -> Work:
    """Count what a step asks of each device; the device itself plays no part.

    Equation: read = pieces · (passes · (weights + unpacked) + 2 · gradients) + cached keys and values.
    Symbols: pieces = micro-batches of a step; passes = forward, and each of backward's products.
    Assumption: of a text that is generated, the tokens to come take the time, not the prompt.
    Sources: `backward_flops`; Rajbhandari et al. 2020, section 7 (what ZeRO sends); Ren et al. 2021 (ZeRO-Offload).

    Args:
        scenario: as it is.
        kept_on_host_bytes: what layers keep on the host for one micro-batch, where that is known; walked for without.
        cached_bytes: keys and values that are cached on a device, likewise.
    """
    training, hardware = scenario.training, scenario.hardware
    held, devices = _held(scenario), data_parallel_devices(hardware)
    kept = kept_on_host(scenario) if kept_on_host_bytes is None else kept_on_host_bytes
    cached = cached_keys(scenario) if cached_bytes is None else cached_bytes
    split, pieces, reach = _split(hardware), _pieces(training), reach_of(scenario)
    reads = 1 + (reach.reached + reach.trained + reach.recomputed if reach else 0)
    read = pieces * (reads * (held.weight_bytes + held.unpacked_bytes) + 2 * held.gradient_bytes) / split
    states, update = _at_the_host(scenario, held, devices)
    return Work(
        passes=_passes(scenario, held, kept, reach),
        read_bytes=read + cached,
        sent_over=_cards(hardware, devices, beside=hardware.tensor_parallel * hardware.context_parallel),
        summed_bytes=_summed(scenario, reach),
        summed_over=_cards(hardware, hardware.tensor_parallel, beside=1),
        host_bytes=states / split,
        update_bytes=update / split,
        tokens=_piece_tokens(scenario) * pieces / split,
    )


def _cards(hardware: Hardware, devices: int, *, beside: int) -> int:
    """How many of a node's network cards a group of devices sends over, each over its own; 0 where one node holds it.

    Args:
        hardware: how many devices a node has.
        devices: of the group.
        beside: devices from one of the group to the next: those that split tensors, then sequences, stand together
            (Shoeybi et al. 2019 and Megatron Core's order of ranks: tensor, context, data, pipeline).
    """
    if devices == 1 or devices * beside <= hardware.devices_per_node:
        return 0
    return min(devices, max(1, hardware.devices_per_node // beside))


def _passes(scenario: Scenario, held: _Held, kept: int, reach: Reach | None) -> tuple[Pass, ...]:
    """Forward and backward of each micro-batch; the last backward reduces the gradients that are reduced once."""
    training, hardware = scenario.training, scenario.hardware
    split, sequence = _split(hardware), training.sequence_length
    architecture, tokens = chosen_model(scenario.model).architecture, _piece_tokens(scenario) / split
    ahead, back, once = (one / split for one in _sent(hardware, held, reach))
    streamed = _streamed_weights(hardware, held) / split
    forward = Pass(tokens * (token_flops(architecture, sequence).forward + 2 * held.adapters), ahead, streamed + kept)
    if reach is None:
        return (forward,)
    pieces = _pieces(training)
    flops = tokens * (backward_flops(architecture, sequence, reach) + 4 * held.adapters)
    first = Pass(flops, back, streamed * reach.reached + kept, times=pieces - 1)
    last = replace(first, sent_bytes=back + once, times=1)
    return replace(forward, times=pieces), first, last


def _summed(scenario: Scenario, reach: Reach | None) -> float:
    """Bytes that a tensor-parallel device sends and receives in a step.

    Equation: tokens · layers · hidden · bytes · sums · 2 (t - 1) / t; two sums of a layer in forward, in backward, and
    where forward is recomputed. Source: Shoeybi et al. 2019, arXiv:1909.08053, section 3.
    """
    training, hardware, parts = scenario.training, scenario.hardware, scenario.hardware.tensor_parallel
    if parts == 1:
        return 0.0
    architecture = chosen_model(scenario.model).architecture
    num_bytes = 4 if training.weights_dtype == "fp32" and training.autocast == "none" else 2
    sums = 2 * (1 + (reach.reached + reach.recomputed if reach else 0))
    values = _piece_tokens(scenario) * _pieces(training) * architecture.num_layers * architecture.hidden_size
    return values * num_bytes * sums * 2 * (parts - 1) / _split(hardware)


def _piece_tokens(scenario: Scenario) -> int:
    """Tokens of a micro-batch; where text is generated, the next one of each sequence."""
    training = scenario.training
    return training.micro_batch * (1 if _generates(scenario) else training.sequence_length)


def _generates(scenario: Scenario) -> bool:
    return scenario.training.caches_keys and chosen_model(scenario.model).architecture.generates


def _pieces(training: Training) -> int:
    return training.gradient_accumulation if training.method != "inference" else 1


def _split(hardware: Hardware) -> int:
    """How many devices share a micro-batch."""
    return hardware.tensor_parallel * hardware.pipeline_parallel * hardware.context_parallel


@dataclass(frozen=True, slots=True)
class _Held:
    """What moves."""

    weight_bytes: int
    """Of the whole model, packed ones as they are packed."""
    gathered_bytes: int
    """The same as sharded ones are sent: cast before, under mixed precision."""
    reduced_bytes: int
    """Gradients as sharded ones are sent: in fp32 under mixed precision."""
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
    architecture, last = chosen_model(scenario.model).architecture, training.lora.last_layers
    setup = Setup.of(training, stack_of(training))
    if setup.adapted and last is not None:
        architecture = adapted_on_last(architecture, last)
    frozen = frozen_layers(training, architecture)
    by = training.optimizer, training.quantization.double_quant, scenario.hardware.sharding
    return _held_by(architecture, setup, frozen, *by)


@lru_cache(maxsize=1024)
def _held_by(
    architecture: Architecture, setup: Setup, frozen: int, optimizer: str, double_quant: bool, sharding: Sharding
) -> _Held:
    tensors = held_tensors(architecture, setup, frozen)
    trains = [one for one in tensors if one.trains]
    states = Training.model_validate({"optimizer": optimizer})
    sent = [one if one.packed else replace(one, dtype=gathered_dtype(sharding, one.dtype)) for one in tensors]
    return _Held(
        weight_bytes=sum(weight_bytes(one, double_quant=double_quant) for one in tensors),
        gathered_bytes=sum(weight_bytes(one, double_quant=double_quant) for one in sent),
        reduced_bytes=sum(one.total_values * (4 if casts(sharding) else BYTES_PER_VALUE[one.dtype]) for one in trains),
        unpacked_bytes=sum(one.total_values * BYTES_PER_VALUE[one.dtype] for one in tensors if one.packed),
        gradient_bytes=sum(one.total_values * BYTES_PER_VALUE[one.dtype] for one in trains),
        trainable=sum(one.total_values for one in trains),
        adapters=sum(one.total_values for one in tensors if one.adapter and not one.component),  # no trained copies
        paged_bytes=sum(one.count * sum(paged_tensors(one, states)) for one in trains),
    )


def _sent(hardware: Hardware, held: _Held, reach: Reach | None) -> tuple[float, float, float]:
    """Bytes that a data-parallel device sends and receives in a forward, in a backward, and in a step's last one.

    Equation: 2 · gradients a step, or a backward where gradients are divided; where weights are, they are gathered in
    forward and, unless they stay, in backward of the layers it comes to, and gradients are reduced; all of it ·
    (d - 1) / d.
    """
    strategy, devices = hardware.sharding.strategy, data_parallel_devices(hardware)
    part = (devices - 1) / devices
    if strategy in SHARDS_WEIGHTS:
        again = held.gathered_bytes * reach.reached if reach and hardware.sharding.reshard_after_forward else 0
        return held.gathered_bytes * part, (again + held.reduced_bytes) * part, 0.0
    reduced = 2 * held.gradient_bytes * part
    return (0.0, reduced, 0.0) if strategy in SHARDS_GRADIENTS else (0.0, 0.0, reduced)


def _at_the_host(scenario: Scenario, held: _Held, devices: int) -> tuple[float, float]:
    """Bytes that come and go for the optimizer's step, and those that the host's processor reads and writes for it."""
    hardware = scenario.hardware
    divided = devices if hardware.sharding.strategy in SHARDS_STATES else 1
    if hardware.offload.optimizer:
        together = min(hardware.devices, hardware.devices_per_node)  # they share one host
        return 2 * held.gradient_bytes / divided, held.trainable * _UPDATE_BYTES * together / divided
    return 2 * held.paged_bytes / divided, 0.0


def _streamed_weights(hardware: Hardware, held: _Held) -> float:
    """Bytes of weights that come while the device computes, in forward and in backward of each micro-batch."""
    if not hardware.offload.parameters:
        return 0.0
    divided = data_parallel_devices(hardware) if hardware.sharding.strategy in SHARDS_WEIGHTS else 1
    return held.weight_bytes / divided


def kept_on_host(scenario: Scenario, walked: Allocation | None = None) -> int:
    """Bytes that a device's layers keep on the host for one micro-batch: they go there in forward and come back."""
    if not (scenario.hardware.offload.activations or scenario.training.checkpointing == "offload"):
        return 0
    found = walked or allocation(scenario)
    virtual = scenario.hardware.virtual_stages if found.stage.ranks > 1 else 1
    return found.timeline.on_host * virtual // found.stage.in_flight(scenario.training.gradient_accumulation, virtual)


def cached_keys(scenario: Scenario, walked: Allocation | None = None) -> int:
    """Bytes of keys and values that a device reads for each token that is made; 0 where no text is generated."""
    if not _generates(scenario):
        return 0
    return (walked or allocation(scenario)).timeline.bytes.kv_cache or 0
