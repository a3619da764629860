"""Sequences of one optimizer step, where a file gives those of all devices together: micro-batches and devices follow.

DeepSpeed asserts train_batch_size = micro-batch × accumulation × devices (runtime/config.py, 0.19), torchtitan that its
global batch is a multiple (trainer.py, 0.3); others round down.
"""

from __future__ import annotations

from memplan.errors import MemplanError
from memplan.exchange.desk import Desk
from memplan.exchange.notes import ImportNote, Stated
from memplan.exchange.precision import FSDP
from memplan.number_style import number
from memplan.plan.edit import facts_at
from memplan.plan.scenario import Scenario

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
            f"{sizes.key} is {number(sizes.value)} processes, and {desk.stated[_DEVICES].source} is {number(devices)}: "
            "accelerate refuses to start."
        )
        raise MemplanError(words, place=f"{sizes.file}: parallelism_config", remedy="Make them one number.")
    total, micro, count = desk.stated.get(_TOTAL), _micro_rows(desk), desk.get(_COUNT)
    if _asserts(total) and total is not None and micro and count and desk.get(_DEVICES) is None:
        devices, rest = divmod(total.value * _divided(desk), micro * count)
        if rest or not devices:
            raise _refused(
                desk, total, f"which is no multiple of micro-batch {number(micro)} x accumulation {number(count)}"
            )
        why = f"{number(total.value)} rows of one step / ({number(micro)} x {number(count)} on each)"
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
            raise _refused(
                desk, stated, f"which is no multiple of {number(micro)} sequences x {number(groups)} devices"
            )
        desk.assume(_COUNT, max(1, total // (micro * groups)), f"{number(total)} sequences for one optimizer step")


def settle_groups(desk: Desk) -> None:
    """Take one of several groups that each hold the model whole (HSDP, MiCS): what the others hold is the same.

    Sequences of a step are of all groups: they are worked out before.
    """
    stated, hybrid, devices = desk.stated.get("given.copies"), desk.stated.get("given.hybrid"), desk.get(_DEVICES)
    group = desk.stated.get("given.group")
    if not devices or desk.get("hardware.sharding.strategy") not in (*FSDP, "zero3"):
        return
    per_node = desk.get("hardware.devices_per_node") or facts_at(Scenario, "hardware.devices_per_node").default
    copies = stated.value if stated is not None else devices // per_node if hybrid is not None else 1
    if group is not None and group.value > 0:
        copies = devices // group.value
    one, rest = divmod(devices, max(1, copies))
    if copies <= 1 or rest or one <= 1:
        return
    desk.answers = {path: value for path, value in desk.answers.items() if path != _DEVICES}
    told = (stated or hybrid or group or Stated(None, "", "")).source
    groups = f"one of {number(copies)} groups that hold the same, {number(devices)} in all ({told})"
    why = f"{groups}; their all-reduce is not counted"
    desk.assume(_DEVICES, one, why)


def _settle_deepspeed(desk: Desk, stated: Stated, groups: int) -> None:
    total, micro, count = stated.value, _micro_rows(desk), desk.get(_COUNT)
    if desk.answers.keys() & {_MICRO, _COUNT}:
        words = f"{number(total)} is passed over: your micro-batch and accumulation count"
        desk.notes.append(ImportNote("ignored", stated.key, words, stated.source))
        return
    if micro is None:
        count = count or 1
        if total % (count * groups):
            raise _refused(
                desk, stated, f"which is no multiple of accumulation {number(count)} x {number(groups)} devices"
            )
        rows = total // (count * groups)
        desk.assume(_MICRO, rows * (desk.get(_ROWS) or 1), f"{number(total)} rows for one optimizer step")
    elif count is None and total % (micro * groups):
        raise _refused(desk, stated, f"which is no multiple of micro-batch {number(micro)} x {number(groups)} devices")
    elif count is not None and micro * count * groups != total:
        taken = f"micro-batch {number(micro)} x accumulation {number(count)} x {number(groups)} devices"
        made = f"but {taken} is {number(micro * count * groups)}"
        raise _refused(desk, stated, made)
    if desk.get(_COUNT) is None:
        desk.assume(_COUNT, count or total // ((micro or 1) * groups), f"{number(total)} rows for one optimizer step")


def _micro_rows(desk: Desk) -> int | None:
    micro: int | None = desk.get(_MICRO)
    return None if micro is None else micro // (desk.get(_ROWS) or 1)


def _refused(desk: Desk, stated: Stated, why: str) -> MemplanError:
    others = {desk.stated[path].source for path in (_MICRO, _COUNT) if path in desk.stated}
    beside = f" (by {' and '.join(sorted(others))})" if others else ""
    remedy = "Change one of them, leave it out, or say how many devices run it with --devices."
    return MemplanError(
        f"is {number(stated.value)}, {why}{beside}.", place=f"{stated.file}: {stated.key}", remedy=remedy
    )


def _asserts(stated: Stated | None) -> bool:
    return stated is not None and stated.key.rpartition(".")[2] == _DEEPSPEED


def _divided(desk: Desk) -> int:
    """Devices that work on the same sequences."""
    divided = 1
    for path in ("hardware.tensor_parallel", "hardware.pipeline_parallel", "hardware.context_parallel"):
        divided *= desk.get(path) or 1
    return divided
