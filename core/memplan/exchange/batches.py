"""Sequences of one optimizer step, where a file gives those of all devices together: micro-batches and devices follow.

DeepSpeed asserts train_batch_size = micro-batch × accumulation × devices (runtime/config.py, 0.19), torchtitan that its
global batch is a multiple (trainer.py, 0.3); others round down.
"""

from __future__ import annotations

from memplan.errors import MemplanError
from memplan.exchange.desk import Desk
from memplan.exchange.notes import ImportNote, Stated

_TOTAL, _MICRO, _COUNT = "given.global_batch", "training.micro_batch", "training.gradient_accumulation"
_DEVICES = "hardware.devices"
_ROWS = "given.rows"
"""How many sequences a row is: two where rows are pairs. Files count rows, the plan sequences."""
_DEEPSPEED = "train_batch_size"


def settle_processes(desk: Desk) -> None:
    """Take the number of devices from what multiplies to it, or refuse what does not.

    Raises:
        MemplanError: accelerate's sizes make another number of processes than there are.
    """
    sizes, devices = desk.stated.get("given.processes"), desk.get(_DEVICES)
    if sizes is not None and devices is None:
        desk.assume(_DEVICES, sizes.value, f"{sizes.key}, as parallelism_config multiplies to all processes")
    elif sizes is not None and _DEVICES in desk.stated and devices != sizes.value:
        words = (
            f"{sizes.key} is {sizes.value:,} processes, and {desk.stated[_DEVICES].source} is {devices:,}: accelerate "
            "refuses to start."
        )
        raise MemplanError(words, place=f"{sizes.file}: parallelism_config", remedy="Make them one number.")
    total, micro, count = desk.stated.get(_TOTAL), _micro_rows(desk), desk.get(_COUNT)
    if _asserts(total) and total is not None and micro and count and desk.get(_DEVICES) is None:
        devices, rest = divmod(total.value * _divided(desk), micro * count)
        if rest or not devices:
            raise _refused(desk, total, f"it is no multiple of micro-batch {micro:,} x accumulation {count:,}")
        why = f"{total.value:,} rows of one step / ({micro:,} x {count:,} on each)"
        desk.assume(_DEVICES, devices, why)


def settle_accumulation(desk: Desk) -> None:
    """Work out accumulation, or the micro-batch, from the sequences of one step of all devices.

    Raises:
        MemplanError: they contradict each other.
    """
    total, micro, devices, count = (desk.get(path) for path in (_TOTAL, _MICRO, _DEVICES, _COUNT))
    if not (total and devices):
        return
    stated = desk.stated.get(_TOTAL)
    groups = max(1, devices // _divided(desk))
    if stated is not None and _asserts(stated):
        _settle_deepspeed(desk, stated, groups)
    elif micro and count is None:
        if stated is not None and desk.get("given.trainer") == "torchtitan" and total % (micro * groups):
            raise _refused(desk, stated, f"it is no multiple of {micro:,} sequences x {groups:,} devices")
        desk.assume(_COUNT, max(1, total // (micro * groups)), f"{total:,} sequences for one optimizer step")


def _settle_deepspeed(desk: Desk, stated: Stated, groups: int) -> None:
    total, micro, count = stated.value, _micro_rows(desk), desk.get(_COUNT)
    if desk.answers.keys() & {_MICRO, _COUNT}:
        words = f"{total:,} is passed over: your micro-batch and accumulation count"
        desk.notes.append(ImportNote("ignored", stated.key, words, stated.source))
        return
    if micro is None:
        count = count or 1
        if total % (count * groups):
            raise _refused(desk, stated, f"it is no multiple of accumulation {count:,} x {groups:,} devices")
        rows = total // (count * groups)
        desk.assume(_MICRO, rows * (desk.get(_ROWS) or 1), f"{total:,} rows for one optimizer step")
    elif count is None and total % (micro * groups):
        raise _refused(desk, stated, f"it is no multiple of micro-batch {micro:,} x {groups:,} devices")
    elif count is not None and micro * count * groups != total:
        made = f"micro-batch {micro:,} x accumulation {count:,} x {groups:,} devices is {micro * count * groups:,}"
        raise _refused(desk, stated, made)
    if desk.get(_COUNT) is None:
        desk.assume(_COUNT, count or total // ((micro or 1) * groups), f"{total:,} rows for one optimizer step")


def _micro_rows(desk: Desk) -> int | None:
    micro: int | None = desk.get(_MICRO)
    return None if micro is None else micro // (desk.get(_ROWS) or 1)


def _refused(desk: Desk, stated: Stated, why: str) -> MemplanError:
    others = {desk.stated[path].source for path in (_MICRO, _COUNT) if path in desk.stated}
    beside = f" (by {' and '.join(sorted(others))})" if others else ""
    remedy = "Change one of them, leave it out, or say how many devices run it with --devices."
    return MemplanError(f"is {stated.value:,}, but {why}{beside}.", place=f"{stated.file}: {stated.key}", remedy=remedy)


def _asserts(stated: Stated | None) -> bool:
    return stated is not None and stated.key.rpartition(".")[2] == _DEEPSPEED


def _divided(desk: Desk) -> int:
    """Devices that work on the same sequences."""
    divided = 1
    for path in ("hardware.tensor_parallel", "hardware.pipeline_parallel", "hardware.context_parallel"):
        divided *= desk.get(path) or 1
    return divided
