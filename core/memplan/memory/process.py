"""From tensors to the device: workspaces, context, what the allocator holds on top, as bands from measurements."""

from __future__ import annotations

from dataclasses import dataclass

from memplan.catalog import Device
from memplan.memory.storage import Size
from memplan.plan.hardware import Hardware
from memplan.result import Need, Process, UsableFrom, Verdict
from memplan.units import KIB, MIB

WORKSPACE_BYTES = 8 * MIB + 128 * KIB
"""cuBLAS before Hopper: :4096:2:16:8 (aten/src/ATen/cuda/CUDABlas, CublasHandlePool.cpp)."""
WORKSPACE_BYTES_HOPPER = 32 * MIB

CONTEXT_LOW, CONTEXT_MIDDLE, CONTEXT_HIGH = 141 * MIB, 410 * MIB, 550 * MIB
"""CUDA context and libraries of one process: 141 MiB measured on a T4; 300–550 MiB on current data-centre cards."""
NCCL_LOW, NCCL_MIDDLE, NCCL_HIGH = 342 * MIB, 544 * MIB, 1600 * MIB
"""NCCL's buffers: 342 MB with 2 devices, 544 MB on A100s, about 1.6 GB with the first communicator (nccl#864)."""

SLACK_LOW, SLACK_MIDDLE, SLACK_HIGH = 1.001, 1.018, 1.084
"""reserved / allocated where memory had run out, 49 messages: 10th percentile, median, 90th percentile. What the
allocator could give back, it had given back."""
CACHE_MIDDLE, CACHE_HIGH = 1.18, 1.70
"""process / allocated on cards with room to spare: median of 59 T4 runs, 90th percentile of 284 A100 runs."""


@dataclass(frozen=True, slots=True)
class Overheads:
    """What one process holds beside its tensors."""

    workspace: int
    context_low: int
    context: int
    context_high: int


def overheads(device: Device, hardware: Hardware) -> Overheads:
    """Workspace and context for a device. Unified memory of other makers has no CUDA context; its band starts at 0."""
    nvidia = device.vendor == "NVIDIA"
    newer = device.architecture.startswith(("Hopper", "Blackwell"))
    workspace = (WORKSPACE_BYTES_HOPPER if newer else WORKSPACE_BYTES) if nvidia else 0
    low, middle, high = (CONTEXT_LOW if nvidia else 0), CONTEXT_MIDDLE, CONTEXT_HIGH
    if hardware.devices > 1:
        low, middle, high = low + NCCL_LOW, middle + NCCL_MIDDLE, high + NCCL_HIGH
    return Overheads(workspace, low, middle, high)


def slack(allocated: Size) -> Size:
    """Memory that the allocator holds and can not give back, in the middle of its band."""
    return _times(allocated, SLACK_MIDDLE - 1)


def need_of(allocated: Size, over: Overheads) -> Need:
    """The band of what the run can not do without."""
    return Need(
        low=_times(allocated, SLACK_LOW) + over.context_low,
        high=_times(allocated, SLACK_HIGH) + over.context_high,
    )


def _times(num_bytes: Size, factor: float) -> Size:
    """The product in whole bytes; of an array each number's."""
    product = num_bytes * factor
    return round(product) if isinstance(product, float) else product.round().astype("int64")


def process_of(allocated: int, over: Overheads, device_bytes: int) -> Process:
    """What the monitor will likely show: a cache grows while there is room, and stops at the device's total."""
    need = need_of(allocated, over)
    room = max(need.low, device_bytes)
    total = min(room, round(allocated * CACHE_MIDDLE) + over.context)
    return Process(
        allocated=allocated,
        reserved=max(allocated, total - over.context),
        total=total,
        low=min(total, need.low),
        high=max(total, min(room, round(allocated * CACHE_HIGH) + over.context_high)),
    )


def usable_bytes(device: Device, hardware: Hardware) -> int:
    """What a process can really get: the device's usable memory less other programs and the headroom.

    Of this computer, what other programs were seen to hold is taken off, unless the plan says that they hold more.
    """
    found = usable_from(device, hardware)
    return max(0, int((found.given_bytes - found.others_bytes) * (1 - found.headroom)))


def usable_from(device: Device, hardware: Hardware) -> UsableFrom:
    """What a device gives, and what is taken off."""
    others = max(hardware.used_by_others_bytes, device.in_use_bytes)
    return UsableFrom(device.usable_bytes, others, hardware.headroom)


def verdict_of(need: Need, usable: int) -> Verdict:
    """Whether the need's band lies within what a process can get.

    >>> verdict_of(Need(5, 7), 7), verdict_of(Need(5, 7), 6), verdict_of(Need(5, 7), 4)
    ('fits', 'tight', 'does_not_fit')
    """
    if need.high <= usable:
        return "fits"
    return "does_not_fit" if need.low > usable else "tight"
