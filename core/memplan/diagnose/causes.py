"""Why there was no room, as far as a message's figures say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from memplan.diagnose.amounts import Amount
from memplan.diagnose.belief import is_absurd
from memplan.diagnose.message import Message
from memplan.diagnose.request import says_nothing
from memplan.number_style import number
from memplan.units import GIB, MIB, Unit, format_bytes

CauseName = Literal[
    "absurd",
    "other_process",
    "beside",
    "fragmentation",
    "not_fragmentation",
    "limit",
    "not_memory",
    "full",
    "host",
    "shared_memory",
    "no_figures",
    "program",
    "outside_step",
    "warning",
]

OUTSIDE_BYTES = 2 * GIB
"""From there on another process is likelier than this one's context and communication: of 47 messages the median is
1.09 GiB."""
OTHERS_BYTES = GIB // 2
FRAGMENTED_SHARE = 0.10
"""Reserved but unallocated, of the card: 3 of 49 messages have more."""
CONTEXT_BYTES = 900 * MIB
"""A rank that only touches a card holds a context there, and no more than this."""

MPS_RATIO = 1.7
"""PYTORCH_MPS_HIGH_WATERMARK_RATIO, unless it is set."""
MAC_WORKING_SETS_GIB = {16: 10.67, 18: 12.0, 24: 16.0, 32: 21.33, 36: 27.0, 48: 36.0, 64: 48.0, 96: 72.0, 128: 107.52}
"""What Metal recommends, by the Mac's memory in GB: 2/3 of it up to 32 GB, 3/4 beyond; 128 GB as macOS 26 has it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that the figures say, and what to do about it."""

    name: CauseName
    sentence: str
    remedy: str = ""


def causes(message: Message, unit: Unit = "gib") -> tuple[Cause, ...]:
    """What is to blame, the weightiest first."""
    return tuple(cause for find in _FINDERS for cause in find(message, unit))


def short_by(message: Message) -> Amount | None:
    """How much was missing at least: what was asked for, less what was free (or allowed)."""
    asked = message.asked
    if asked is None or is_absurd(message):
        return None
    if message.limit is not None and message.allocated is not None and message.kind == "mps":
        held = message.allocated if message.outside is None else message.allocated.plus(message.outside)
        return held.plus(asked).minus(message.limit)
    if message.is_of_a_program and message.total is not None:
        return asked.minus(message.total)  # a whole program, which was not started
    return None if message.free is None else asked.minus(message.free)


def _absurd(message: Message, unit: Unit) -> Iterator[Cause]:
    if is_absurd(message) and message.asked is not None:
        on = f" on a card of {message.total.text}" if message.total else ""
        yield Cause(
            "absurd",
            f"{message.asked.text} was asked for{on}: that is no matter of sizing.",
            "Look for a row that is padded or not cut, or for the call that makes this tensor; less of anything else "
            "does not help.",
        )


def _buffers(message: Message, unit: Unit) -> Iterator[Cause]:
    if message.out_of == "buffers":
        most = f" ({number(message.buffers)} at most)" if message.buffers is not None else ""
        yield Cause(
            "not_memory",
            f"It is the count of buffers that ran out{most}, not memory: too many arrays were alive at once.",
            "Evaluate more often (mx.eval), and let go of arrays that pile up, such as losses kept from step to step; "
            "a smaller batch does not help.",
        )


def _program(message: Message, unit: Unit) -> Iterator[Cause]:
    """XLA lays out a whole step before it runs, and says so where that is larger than the device."""
    asked, total = message.asked, message.total
    if message.is_of_a_program and asked is not None and total is not None:
        over = _about(asked.minus(total), unit)
        yield Cause(
            "program",
            f"The compiled step needs {asked.text} and the device has {total.text}: {over} too much. Nothing ran yet.",
            "Less per device in one step helps: a smaller batch, rematerialisation (jax.checkpoint), more devices.",
        )


def _others(message: Message, unit: Unit) -> Iterator[Cause]:
    others = message.other_processes
    if message.free is not None and message.asked is not None and message.free.low_bytes > message.asked.high_bytes:
        return  # there was room beside them
    if message.process is not None and message.total is not None and message.free is not None:
        rest = message.total.minus(message.free).minus(message.process)
        others = rest if others is None or rest.middle_bytes > 1.1 * others.high_bytes else others
    if others is not None and others.middle_bytes >= OTHERS_BYTES:
        each = [other.held.middle_bytes for other in message.others]
        if len(each) > 1 and max(each) < CONTEXT_BYTES:
            yield Cause(
                "other_process",
                f"{len(each)} other processes hold {_about(others, unit)} of this card, a context each: other ranks "
                "touch it too.",
                "Give each rank its own card before anything is put on one (torch.cuda.set_device).",
            )
        else:
            yield Cause(
                "other_process",
                f"Other processes hold {_about(others, unit)} of this card.",
                f"End them ({_monitor(message)} lists them), or plan with them as memory used by others.",
            )
        return
    outside = message.outside_allocator
    if message.process is None and outside is not None and outside.low_bytes > OUTSIDE_BYTES:
        yield Cause(
            "other_process",
            f"{_about(outside, unit)} of the card is held outside this process's allocator. Context and "
            "communication take 0.5 to 2 GiB; the rest is likely another process.",
            f"Look for another process ({_monitor(message)}) before looking at the model.",
        )


def _monitor(message: Message) -> str:
    """The program that lists a card's processes."""
    return {"hip": "rocm-smi", "npu": "npu-smi info", "xpu": "xpu-smi", "hpu": "hl-smi"}.get(message.kind, "nvidia-smi")


def _beside(message: Message, unit: Unit) -> Iterator[Cause]:
    beside = message.beside_allocator
    if beside is not None and beside.low_bytes > OUTSIDE_BYTES:
        yield Cause(
            "beside",
            f"This process holds {_about(beside, unit)} beside its allocator: communication buffers (NCCL), libraries, "
            "or another framework in the same process.",
            "Fewer communicators, or NCCL_BUFFSIZE below its 4 MiB, leave more for tensors.",
        )


def _fragmentation(message: Message, unit: Unit) -> Iterator[Cause]:
    asked, loose = message.asked, message.unallocated_in_all
    if message.contiguous is not None and message.free is not None and asked is not None:
        if message.contiguous.high_bytes < asked.low_bytes <= message.free.high_bytes:
            yield Cause(
                "fragmentation",
                f"{message.free.text} was free, but its largest piece is {message.contiguous.text}: fragmentation.",
            )
        return
    if asked is None or loose is None:
        return
    limit = FRAGMENTED_SHARE * message.total.middle_bytes if message.total else 0
    if loose.high_bytes >= asked.low_bytes and loose.middle_bytes > limit:
        setting = {"npu": "PYTORCH_NPU_ALLOC_CONF", "hip": "PYTORCH_HIP_ALLOC_CONF"}.get(
            message.kind, "PYTORCH_CUDA_ALLOC_CONF"
        )
        yield Cause(
            "fragmentation",
            f"{_about(loose, unit)} was reserved but in no tensor, enough for the {asked.text} asked for, in pieces "
            "too small for it: fragmentation.",
            f"{setting}=expandable_segments:True lets pieces be joined.",
        )


def _not_fragmentation(message: Message, unit: Unit) -> Iterator[Cause]:
    """PyTorch prints the same advice about fragmentation under every message."""
    asked, loose, total = message.asked, message.unallocated, message.total
    if asked is None or loose is None or is_absurd(message) or any(_fragmentation(message, unit)):
        return
    words = f"{loose.text} was reserved and in no tensor. The advice about it stands in every message."
    if loose.high_bytes >= asked.low_bytes and total is not None and total.middle_bytes:
        share = loose.middle_bytes / total.middle_bytes
        yield Cause("not_fragmentation", f"Fragmentation has a small part at most ({share:.0%} of the card): {words}")
    else:
        yield Cause("not_fragmentation", f"Fragmentation is not to blame: {words}")


def _limits(message: Message, unit: Unit) -> Iterator[Cause]:
    if message.kind == "mps" and message.limit is not None:
        yield Cause("limit", *_apple(message))
    elif message.kind in ("mlx", "xpu") and message.contiguous is not None:
        who = "Metal allows one buffer" if message.kind == "mlx" else "The driver allows one allocation"
        yield Cause("limit", f"{who} to have at most {message.contiguous.text}.")
    elif message.limit is not None and message.kind not in ("xla", "tensorflow"):
        yield Cause(
            "limit",
            f"This process may take {message.limit.text} of the card.",
            "torch.cuda.set_per_process_memory_fraction sets that.",
        )


def _apple(message: Message) -> tuple[str, str]:
    assert message.limit is not None, "asked where there is one"
    working_set = message.limit.middle_bytes / GIB / MPS_RATIO
    mac = next((gb for gb, gib in MAC_WORKING_SETS_GIB.items() if abs(gib - working_set) < 0.01 * working_set), None)
    words = f"This process may have {message.limit.text}"
    if mac is not None:
        words += f": {MPS_RATIO} times what Metal recommends on a Mac of {mac} GB, so memory was being swapped already"
    else:
        words += f", which is not {MPS_RATIO} times what any known Mac recommends: the ratio has likely been set"
    if message.outside is not None and message.allocated is not None:
        words += (
            f". Tensors hold {message.allocated.text}, Apple's driver and graphs {message.outside.text} beside them"
        )
    return (
        f"{words}.",
        "Raising PYTORCH_MPS_HIGH_WATERMARK_RATIO makes the Mac swap, not the run fit; a smaller run does.",
    )


def _not_memory(message: Message, unit: Unit) -> Iterator[Cause]:
    asked, total = message.asked, message.total
    if asked is None or is_absurd(message) or message.kind in ("mps", "host", "xla", "tensorflow"):
        return
    if message.contiguous is not None and message.kind == "xpu":
        return
    if message.free is not None and message.free.low_bytes > asked.high_bytes:
        if message.kind == "xpu":
            words = (
                f"{message.free.text} was free, more than the {asked.text} asked for: likely the driver's limit on one"
            )
            yield Cause("not_memory", f"{words} allocation, not the card's size.")
            return
        if message.limit is not None:
            return  # which says it
        yield Cause(
            "not_memory",
            f"{message.free.text} was free, more than the {asked.text} asked for: another limit than the card's size.",
            "Look at a limit on the process (ulimit, a memory fraction, pinned memory under WSL).",
        )
        return
    held = message.reserved_in_all if message.kind == "xpu" else None
    if total is not None and held is not None and total.minus(held).low_bytes > 4 * asked.high_bytes:
        yield Cause(
            "not_memory",
            f"{_about(held, unit)} of {total.text} was taken: likely the driver's limit on one allocation, not the "
            "card's size.",
        )


def _full(message: Message, unit: Unit) -> Iterator[Cause]:
    missing = short_by(message)
    if (
        missing is None
        or message.kind == "mps"
        or (message.kind == "xla" and message.free is None)
        or message.asked is None
        or missing.high_bytes == 0
    ):
        return
    held, free = message.process or message.reserved_in_all or message.allocated, message.free
    words = (
        f"{message.asked.text} was asked for and {free.text} free" if free else f"{message.asked.text} was asked for"
    )
    if held is not None and message.total is not None:
        words = f"This process held {_about(held, unit)} of {message.total.text}; {words}"
    yield Cause("full", f"{words}.")


def _host(message: Message, unit: Unit) -> Iterator[Cause]:
    if message.kind != "host":
        return
    if message.out_of == "shared memory":
        yield Cause(
            "shared_memory",
            "Workers of a data loader hand their rows over in shared memory (/dev/shm), of which a container has "
            "little: 64 MB under Docker unless it is told otherwise.",
            "Start the container with --ipc=host or a larger --shm-size (in Kubernetes an emptyDir in memory there), "
            "or take fewer workers.",
        )
        return
    used, whole = message.allocated, message.total
    filled = f" {used.text} was in use{f', of {whole.text}' if whole else ''}." if used else ""
    what = "This is the host's memory (RAM), not the card's."
    if message.killed:
        what = (
            "A process was ended by signal 9, mostly by the kernel when the host's memory (RAM) is used up: dmesg or "
            "the job's record says whether it was. Schedulers and people send that signal as well."
        )
    yield Cause(
        "host",
        f"{what}{filled}",
        "Each rank that loads the model holds a copy of it: load on one rank or by shards, offload less, or take "
        "fewer workers for the data.",
    )


_NO_FIGURES = {
    "bitsandbytes": (
        "bitsandbytes states no figures. Its paged optimizers ask the driver for memory that host and card share, "
        "which fails under WSL whatever is free.",
        "Take an optimizer that is not paged.",
    ),
    "driver": (
        "The driver or a library (cuBLAS, cuDNN, NCCL) found no memory for itself: the allocator had taken nearly all.",
        "Leave the card some headroom; what the run needs is no smaller for it.",
    ),
    "batch_search": (
        "accelerate halved the batch after each such message until nothing was left: one row did not fit either.",
        "A smaller batch is no way out: shorter rows, checkpointing, adapters or sharding are.",
    ),
    "metal": ("Metal states no figures. Its limit lies below the Mac's memory.", ""),
}


def _no_figures(message: Message, unit: Unit) -> Iterator[Cause]:
    if message.out_of == "buffers":
        return
    if message.kind in _NO_FIGURES:
        yield Cause("no_figures", *_NO_FIGURES[message.kind])
        return
    asked = message.asked
    if asked is None:
        yield Cause("no_figures", "The message does not state what was asked for.")
    elif message.shape is None and says_nothing(asked.low_bytes, asked.high_bytes, message.kind):
        segment = message.kind in ("cuda", "hip", "xpu", "npu")
        why = "any smaller tensor takes a segment of this size" if segment else "everything else was in use already"
        yield Cause("no_figures", f"{asked.text} says nothing of the tensor: {why}.")
    elif message.shape is not None and asked.high_bytes <= MIB:
        yield Cause("no_figures", "So small a tensor fails only because all else is in use: it is not the culprit.")


_OUTSIDE_STEP = {
    "saving": "Gather the state dict on the host and on one rank (offload_to_cpu, rank0_only), or save shards.",
    "evaluation": "per_device_eval_batch_size is 8 unless it is set; eval_accumulation_steps moves logits to the host.",
    "loading a checkpoint's states": "Load optimizer states to the host first; torch.load with map_location='cpu'.",
}


def _outside_step(message: Message, unit: Unit) -> Iterator[Cause]:
    if message.place in _OUTSIDE_STEP:
        words = (
            f"It happened in {message.place}, which is no part of a training step: an estimate of one leaves it out."
        )
        yield Cause("outside_step", words, _OUTSIDE_STEP[message.place])
    if message.in_warning:
        yield Cause("warning", "It stands in a warning: the run went on, and what it was doing is not complete.")


def _about(amount: Amount, unit: Unit) -> str:
    """An amount as it is stated, or what follows from others in three figures."""
    if amount.text:
        return amount.text
    if amount.middle_bytes < GIB // 10:
        return f"{number(amount.middle_bytes / MIB, '.3g')} MiB"
    return format_bytes(amount.middle_bytes, unit)


_FINDERS: tuple[Callable[[Message, Unit], Iterator[Cause]], ...] = (
    _absurd,
    _buffers,
    _program,
    _host,
    _outside_step,
    _others,
    _beside,
    _fragmentation,
    _limits,
    _not_memory,
    _full,
    _not_fragmentation,
    _no_figures,
)
