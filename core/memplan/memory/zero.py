"""What DeepSpeed's ZeRO, DDP and Megatron's distributed optimizer hold beside the states: buckets and copies.

Sizes are DeepSpeed's documented defaults unless the plan says otherwise; `auto` is what transformers fills in.
"""

from __future__ import annotations

from dataclasses import replace

from memplan.architecture.dividing import share
from memplan.architecture.parts import Architecture
from memplan.memory.account import States
from memplan.memory.setup import Setup
from memplan.memory.sharding import SHARDS_GRADIENTS, data_parallel_devices
from memplan.memory.states import held_tensors, weight_bytes
from memplan.number_formats import BYTES_PER_VALUE
from memplan.number_style import number
from memplan.plan.hardware import Hardware, Sharding
from memplan.plan.training import Training

SUB_GROUP = 1_000_000_000
"""Values that ZeRO-3 updates at once (sub_group_size)."""


def reduce_bucket(sharding: Sharding, hidden_size: int) -> int:
    """Values of a reduce bucket.

    Source: DeepSpeed 0.19, zero/config.py (5e8); transformers 5.24, integrations/deepspeed.py (auto).

    >>> reduce_bucket(Sharding(), 4096), reduce_bucket(Sharding(reduce_bucket=None), 4096)
    (500000000, 16777216)
    """
    return hidden_size**2 if sharding.reduce_bucket is None else sharding.reduce_bucket


def prefetch_bucket(sharding: Sharding, hidden_size: int) -> int:
    """Values that ZeRO-3 gathers ahead.

    >>> prefetch_bucket(Sharding(), 4096), prefetch_bucket(Sharding(prefetch_bucket=None), 4096)
    (50000000, 15099494)
    """
    return int(0.9 * hidden_size**2) if sharding.prefetch_bucket is None else sharding.prefetch_bucket


def persistence_threshold(sharding: Sharding, hidden_size: int) -> int:
    """Values up to which ZeRO-3 leaves a tensor whole.

    >>> persistence_threshold(Sharding(), 4096), persistence_threshold(Sharding(persistence_threshold=None), 4096)
    (100000, 40960)
    """
    return 10 * hidden_size if sharding.persistence_threshold is None else sharding.persistence_threshold


def gradient_width(training: Training) -> int:
    """Bytes of one value of a gradient."""
    own = training.lora.adapter_dtype if training.method in ("lora", "qlora") else training.weights_dtype
    return BYTES_PER_VALUE[own if training.gradients_dtype == "weights" else training.gradients_dtype]


def lasting_buckets(states: States, training: Training, hardware: Hardware, hidden_size: int) -> int:
    """Buckets that are there from the first step on.

    Equation: DDP: a copy of the gradients, unless these are views of the buckets. ZeRO-3: one reduce bucket. ZeRO-1 and
    ZeRO-2 over fp32 weights: the partition that is updated is a copy, 4 bytes for each value of it, on the host where
    the optimizer is.
    Source: torch.nn.parallel.DistributedDataParallel; DeepSpeed 0.19, stage3.py (ipg_buckets), stage_1_and_2.py
    (single_partition_of_fp32_groups).

    >>> eight = States(16, 0, 16_000_000_000, 0, 0, 0, 0, 8_000_000_000, 0)
    >>> def of(**sharding):
    ...     return lasting_buckets(eight, Training(), Hardware(devices=8, sharding=Sharding(**sharding)), 4096)
    >>> of(strategy="ddp"), of(strategy="ddp", gradient_as_bucket_view=True), of(strategy="zero3")
    (16000000000, 0, 1000000000)
    """
    strategy, sharding = hardware.sharding.strategy, hardware.sharding
    if training.method == "inference" or not _has_buckets(hardware):
        return 0
    if strategy in ("none", "ddp"):
        return 0 if sharding.gradient_as_bucket_view else states.gradients
    if strategy == "zero3":
        return reduce_bucket(sharding, hidden_size) * gradient_width(training)
    copies = strategy in ("zero1", "zero2") and gradient_width(training) == 4 and not states.master
    copies = copies and not hardware.offload.optimizer
    return 4 * share(states.trainable, data_parallel_devices(hardware)) if copies else 0


def backward_buckets(states: States, training: Training, hardware: Hardware, hidden_size: int) -> int:
    """Buckets that are there in backward alone.

    Equation: ZeRO-1 and ZeRO-2: a reduce bucket whatever the model's size, two where communication overlaps; stage 2
    makes its partition's gradients anew and adds them to those of earlier micro-batches. ZeRO-3: what is in the bucket
    once more, ordered by the device that it goes to.
    Source: DeepSpeed 0.19, stage_1_and_2.py (setup_buckets, copy_grads_in_partition), comm/coalesced_collectives.py
    (reduce_scatter_coalesced).

    >>> eight = States(16, 0, 16_000_000_000, 0, 0, 0, 0, 8_000_000_000, 0)
    >>> def of(**sharding):
    ...     return backward_buckets(eight, Training(), Hardware(devices=8, sharding=Sharding(**sharding)), 4096)
    >>> of(strategy="zero2"), of(strategy="zero2", overlap_comm=True), of(strategy="zero2", reduce_bucket=None)
    (1000000000, 2000000000, 33554432)
    """
    strategy, sharding = hardware.sharding.strategy, hardware.sharding
    if training.method == "inference" or not _has_buckets(hardware):
        return 0
    values, width = reduce_bucket(sharding, hidden_size), gradient_width(training)
    if strategy in ("zero1", "zero2"):
        anew = states.gradients if strategy == "zero2" and training.gradient_accumulation > 1 else 0
        return values * width * (2 if sharding.overlap_comm else 1) + anew
    orders = strategy == "zero3" and data_parallel_devices(hardware) > 1
    return min(values, states.trainable) * width if orders else 0


def _has_buckets(hardware: Hardware) -> bool:
    """Whether there is anything to exchange; DeepSpeed makes its buckets even for one device.

    Source: DeepSpeed 0.19, stage_1_and_2.py (setup_buckets) and stage3.py (ipg_bucket_flat_buffer), which ask for no
    number of devices.
    """
    return data_parallel_devices(hardware) > 1 or hardware.sharding.strategy.startswith("zero")


def buckets_in_words(training: Training, hardware: Hardware, hidden_size: int) -> tuple[str, str]:
    """What the communication buffers are, with their numbers, and where that is known from.

    >>> hardware = Hardware(devices=8, sharding=Sharding(strategy="zero2", overlap_comm=True))
    >>> buckets_in_words(Training(), hardware, 4096)[0]
    'two reduce buckets of 500,000,000 values × 2 bytes, in backward'
    """
    sharding, width = hardware.sharding, gradient_width(training)
    bucket = f"{number(reduce_bucket(sharding, hidden_size))} values × {width} bytes"
    if sharding.strategy in ("zero1", "zero2"):
        count = "two reduce buckets" if sharding.overlap_comm else "a reduce bucket"
        return f"{count} of {bucket}, in backward", "DeepSpeed 0.19, stage_1_and_2.py"
    if sharding.strategy == "zero3":
        ahead = f"{number(prefetch_bucket(sharding, hidden_size))} ahead"
        return f"a reduce bucket of {bucket}; gathered weights, {ahead}", "DeepSpeed 0.19, stage3.py"
    if sharding.strategy in ("fsdp1", "fsdp2") or hardware.offload.parameters:
        return "gathered layers and gradients on their way to be reduced", "PyTorch 2.13, torch.distributed.fsdp"
    return (
        f"a copy of the gradients in buckets: each value × {width} bytes",
        "torch.nn.parallel.DistributedDataParallel",
    )


def with_step_copies(states: States, training: Training, hardware: Hardware) -> States:
    """One device's states with what the update holds for a moment: its partition's gradients, flattened, then in fp32.

    Equation, s values of the partition that are updated at once, of n (stage 3: 10⁹ of them), g bytes of a gradient, t
    bytes of the optimizer's own temporaries for all: on top of g n the larger of s (g + 4) and s (4 - g) + t s / n;
    stage 1 frees the other devices' gradients first. Megatron keeps its gradients: 4 n + t on top of them, t alone
    where they are fp32.
    Source: DeepSpeed 0.19, stage_1_and_2.py and stage3.py (step); Megatron-LM, docs, distributed optimizer.

    Stage 2 over 8 devices: 1 billion values of 2 bytes; 2 for the flat copy and 4 for fp32 come on top.

    >>> states = States(16, 0, 2_000_000_000, 0, 0, 4_000_000_000, 0, 8_000_000_000, 0)
    >>> hardware = Hardware(devices=8, sharding=Sharding(strategy="zero2"))
    >>> with_step_copies(states, Training(), hardware).step_temporary
    6000000000
    """
    strategy, devices = hardware.sharding.strategy, data_parallel_devices(hardware)
    if strategy not in ("zero1", "zero2", "zero3", "megatron") or not states.gradients:
        return states
    if strategy == "megatron" and devices == 1:
        return states
    width, part = gradient_width(training), share(states.trainable, devices)
    upcast = 4 * part if width != 4 else 0
    if strategy == "megatron":
        return replace(states, step_temporary=states.step_temporary + upcast)
    at_once = min(part, SUB_GROUP) if strategy == "zero3" else part
    held = states.gradients if strategy in SHARDS_GRADIENTS else width * part
    converting = held + at_once * (width + (4 if upcast else 0))
    updating = held - width * at_once + 4 * at_once + states.step_temporary * at_once // max(1, part)
    return replace(states, step_temporary=max(0, max(converting, updating) - states.gradients))


def persistent(states: States, architecture: Architecture, setup: Setup, sharding: Sharding, devices: int) -> States:
    """The states where small tensors stay whole on every device.

    Source: DeepSpeed 0.19, zero/config.py (param_persistence_threshold): each is at most that many values.
    """
    most = persistence_threshold(sharding, architecture.hidden_size)
    small = [one for one in held_tensors(architecture, setup) if one.values <= most and not one.packed]
    more = [sum(weight_bytes(one, double_quant=False) for one in small if one.adapter == which) for which in (0, 1)]
    weights, adapters = (size - size // devices for size in more)
    return replace(states, weights=states.weights + weights, adapters=states.adapters + adapters)


def gradients_have_places(hardware: Hardware) -> bool:
    """Whether gradients have memory of their own from the start, which each new one is added to or copied into.

    ZeRO-2's is made in backward, when the first bucket is full, and counted from the start.
    Source: PyTorch's DDP with gradient_as_bucket_view; DeepSpeed 0.19, stage_1_and_2.py (grads_in_partition) and
    stage3.py (grad_partitions_flat_buffer); Megatron-LM, core/distributed/param_and_grad_buffer.py (grad_data).
    """
    strategy = hardware.sharding.strategy
    if not _has_buckets(hardware):
        return False
    views = strategy in ("none", "ddp") and hardware.sharding.gradient_as_bucket_view
    return views or strategy in ("zero2", "zero3", "megatron")
