"""Messages of everything but PyTorch's caching allocators: one recognizer for each wording."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from typing import Any

from memplan.diagnose.amounts import AMOUNT, NUMBER, Amount, amount
from memplan.diagnose.mentions import person_says
from memplan.diagnose.message import Message

Found = tuple[int, int, Message]
_TF_BYTES = {
    "float": 4,
    "half": 2,
    "bfloat16": 2,
    "double": 8,
    "int32": 4,
    "int64": 8,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}
_NUMPY_BYTES = {"float64": 8, "float32": 4, "float16": 2, "int64": 8, "int32": 4, "int8": 1, "uint8": 1, "complex64": 8}


def other_messages(squeezed: str) -> Iterator[Found]:
    """Find messages in every wording known here: where each begins and ends, and what it says."""
    for recognize in _RECOGNIZERS:
        yield from recognize(squeezed)


def _at(block: str, pattern: str) -> Amount | None:
    found = re.search(pattern, block)
    return amount(found[1], found[2]) if found else None


_MPS = re.compile(r"mpsback\w{0,3}outofmemory|mpsallocated:")


def _mps(squeezed: str) -> Iterator[Found]:
    """MPS says GB where it divides by 1024 three times (aten/src/ATen/mps/MPSAllocator.h, format_size)."""
    end_of_last = 0
    for found in _MPS.finditer(squeezed):
        if found.start() < end_of_last:
            continue
        block = squeezed[found.start() : found.start() + 500]
        again = block.find("mpsbackend", 10)
        block = block[:again] if again > 0 else block
        asked = re.search(rf"tr[il1|]edtoallocate{AMOUNT}(?:on\w+pool)?", block)
        end_of_last = found.start() + (asked.end() if asked else min(len(block), 120))
        yield (
            found.start(),
            end_of_last,
            Message(
                kind="mps",
                asked=amount(asked[1], asked[2]) if asked else None,
                allocated=_at(block, rf"mpsallocated:{AMOUNT}"),
                outside=_at(block, rf"otherallocations:{AMOUNT}"),
                limit=_at(block, rf"maxallowed:{AMOUNT}"),
            ),
        )
    for found in re.finditer(rf"invalidbuffersize:{AMOUNT}", squeezed):
        yield found.start(), found.end(), Message(kind="mps", asked=amount(found[1], found[2]))


_NEXT = re.compile(r"(?:torch\.)?(?:cuda\.)?outofmemoryerror|runtimeerror|triedtoallocate|traceback")
_ASYNC = re.compile(r"allocationondevice(\d{1,4})wouldexceedallowedmemory")


def _cuda_malloc_async(squeezed: str) -> Iterator[Found]:
    """backend:cudaMallocAsync, over several lines."""
    for found in _ASYNC.finditer(squeezed):
        block = squeezed[found.start() : found.start() + 420]
        block = _NEXT.split(block, maxsplit=1)[0]
        ends = [one.end() for one in re.finditer(AMOUNT, block)]
        yield (
            found.start(),
            found.start() + max([found.end() - found.start() + 15, *ends]),
            Message(
                kind="cuda",
                exact=True,
                device=int(found[1]),
                asked=_at(block, rf"requested:{AMOUNT}"),
                total=_at(block, rf"devicelimit:{AMOUNT}"),
                allocated=_at(block, rf"currentlyallocated:{AMOUNT}"),
                free=_at(block, rf"free\(accordingtocuda\):{AMOUNT}"),
                limit=_user_limit(_at(block, rf"pytorchlimit\([^)]*\):{AMOUNT}")),
            ),
        )


def _user_limit(limit: Amount | None) -> Amount | None:
    """PyTorch writes 2^64 bytes where nobody set a limit."""
    return None if limit is None or limit.low_bytes >= 2**60 else limit


def _mlx(squeezed: str) -> Iterator[Found]:
    for found in re.finditer(rf"\[(?:metal::)?malloc(?:_or_wait)?\]\w{{4,10}}toallocate{AMOUNT}", squeezed):
        block = squeezed[found.start() : found.end() + 120]
        most = _at(block, rf"maximumallowedbuffersizeof{AMOUNT}")
        yield found.start(), found.end(), Message(kind="mlx", asked=amount(found[1], found[2]), contiguous=most)
    for found in re.finditer(r"\[(?:metal::)?malloc\w*\]resourcelimit(?:\((\d{1,12})\))?exceeded", squeezed):
        allowed = int(found[1]) if found[1] else None
        yield found.start(), found.end(), Message(kind="mlx", out_of="buffers", buffers=allowed)


def _metal(squeezed: str) -> Iterator[Found]:
    for found in re.finditer(r"insufficientmemory(?:\(\w{8}:kiogpu\w+\))?", squeezed):
        yield found.start(), found.end(), Message(kind="metal")


_XLA = re.compile(r"resource_?exhausted(?:error)?:?|outofmemorywhiletryingtoallocate|ranoutofmemoryinmemoryspace")


def _xla(squeezed: str) -> Iterator[Found]:
    """XLA's and TensorFlow's. XLA writes one decimal letter for powers of 1024."""
    end_of_last = 0
    for found in _XLA.finditer(squeezed):
        if found.start() < end_of_last:
            continue
        block = squeezed[found.start() : found.start() + 600]
        again = _XLA.search(block, found.end() - found.start() + 80)
        block = block[: again.start()] if again else block
        message = _tensorflow_tensor(block) or _xla_message(block)
        message = _with_pool(message, squeezed[max(0, found.start() - 600) : found.start()], block)
        end_of_last = found.start() + len(block)
        yield found.start(), end_of_last, message


def _xla_message(block: str) -> Message:
    asked = _first(
        block,
        rf"\({AMOUNT}\)ondevice",
        rf"t(?:ry|rying|ing)toallocate{AMOUNT}",
        rf"outofmemoryallocating{AMOUNT}",
        rf"used{AMOUNT}of\d",  # what a program needs that was not even started
        rf"attemptingto(?:allocate|reserve){AMOUNT}",
        rf"(?:failed|unable)toallocate(?:requestfor)?{AMOUNT}",
    )
    device = re.search(r"deviceordinal(\d{1,4})|gpu_(\d{1,4})_bfc|device:(?:gpu|tpu):(\d{1,4})", block)
    nothing_told = "failedtoallocatememory" in block
    return Message(
        kind="tensorflow" if nothing_told or "resourceexhausted" in block else "xla",
        device=int(next(one for one in device.groups() if one)) if device else None,
        asked=asked,
        free=_first(block, rf"thereare{AMOUNT}free"),
        contiguous=_first(block, rf"freememoryis{AMOUNT}", rf"and{AMOUNT}reservable"),
        reserved=_first(block, rf"free,{AMOUNT}reserved"),
        total=_first(block, rf"used{AMOUNT}of{AMOUNT}"),
    )


def _first(block: str, *patterns: str) -> Amount | None:
    """The last amount of the first pattern that is there."""
    for pattern in patterns:
        if found := re.search(pattern, block):
            return amount(found.groups()[-2], found.groups()[-1])
    return None


def _tensorflow_tensor(block: str) -> Message | None:
    found = re.search(
        r"oomwhenallocatingtensor(?:with|of)shape\[?\[?([\d,]*)\]?\]?andtype(float|half|bfloat16|double|u?int\d+|bool)",
        block,
    )
    if found is None:
        return None
    shape = tuple(int(one) for one in found[1].split(",") if one)
    size = prod(shape) * _TF_BYTES.get(found[2], 4)
    device = re.search(r"device:(?:gpu|tpu):(\d{1,4})", block)
    return Message(
        kind="tensorflow",
        device=int(device[1]) if device else None,
        asked=Amount(f"{size} bytes", size, size),
        shape=shape,
        dtype=found[2],
    )


def _with_pool(message: Message, before: str, block: str) -> Message:
    """TensorFlow's allocator, which XLA has too, tells its pool before the error; JAX's statistics stand beside it."""
    if message.kind == "xla":
        beside = before + block
        stated = {
            "limit": _last(beside, rf"bytes_limit['\"]?[:=]{_BYTES}|(?<![a-z])limit:{_BYTES}"),
            "allocated": _last(beside, rf"(?<!peak_)bytes_in_use['\"]?[:=]{_BYTES}|(?<![a-z])inuse:{_BYTES}"),
            "contiguous": _last(beside, rf"largest_free_block_bytes['\"]?[:=]{_BYTES}"),
        }
    else:
        stated = {
            "limit": _last(before, rf"memory_limit_:{_BYTES}|(?<![a-z])limit:{_BYTES}"),
            "reserved": _last(before, rf"total_region_allocated_bytes_:{_BYTES}"),
            "free": _last(before, rf"availablebytes:{_BYTES}"),
            "allocated": _last(before, rf"(?<![a-z])inuse:{_BYTES}"),
        }
    told: dict[str, Any] = {name: value for name, value in stated.items() if value is not None}
    return replace(message, **told)


_BYTES = r"(\d{1,16})"
"""Bytes as a pool's log has them: the next word may follow at once, so no letter counts as a digit."""


def _last(text: str, pattern: str) -> Amount | None:
    """The last of such figures, in bytes."""
    found = list(re.finditer(pattern, text))
    return amount(next(one for one in found[-1].groups() if one), "bytes") if found else None


def _bitsandbytes(squeezed: str) -> Iterator[Found]:
    for found in re.finditer(r"error[o0]utofmemoryatline\d+(?:infile\S{0,120}?\.(?:cu|c|cpp))?", squeezed):
        yield found.start(), found.end(), Message(kind="bitsandbytes")


def _host(squeezed: str) -> Iterator[Found]:
    told = rf"defaultcpuallocator:(?:can'tallocate|notenough)memory:youtriedtoallocate{AMOUNT}"
    for found in re.finditer(told, squeezed):
        yield found.start(), found.end(), Message(kind="host", asked=amount(found[1], found[2]))
    for found in re.finditer(rf"unabletommap{AMOUNT}fromfile", squeezed):  # a checkpoint's file
        yield found.start(), found.end() + 60, Message(kind="host", asked=amount(found[1], found[2]))
    for found in re.finditer(rf"memorylimitexceeded\({NUMBER}gi\)", squeezed):  # a container's
        yield found.start(), found.end(), Message(kind="host", total=amount(found[1], "gib"))
    numpy = rf"unabletoallocate{AMOUNT}foranarraywithshape\(([\d,]*)\)anddatatype(\w+?\d+)"
    for found in re.finditer(numpy, squeezed):
        shape = tuple(int(one) for one in found[3].split(",") if one)
        size = prod(shape) * _NUMPY_BYTES.get(found[4], 0)
        asked = Amount(f"{size} bytes", size, size) if size else amount(found[1], found[2])
        yield found.start(), found.end(), Message(kind="host", asked=asked, shape=shape, dtype=found[4])
    yield from _ended(squeezed)
    for found in re.finditer(r"(?<![a-z])memoryerror(?![a-z])|cannotallocatememory(?!block)|bad_alloc", squeezed):
        yield found.start(), found.end(), Message(kind="host")


_OUT_OF_MEMORY = (
    r"killedprocess(\d+)\(?[^)]{0,40}\)?(?:total-vm:\d+kb,)?(?:anon-rss:(\d+)kb)?"
    r"|oom[_-]kill(?:ed|er)?event|oomkilled(?![\"']?[:=]?(?:false|0))|usingallavailableram"
    r"|winerror1455"  # Windows' paging file
)
_BY_SIGNAL = (
    r"diedwith<signals\.sigkill:9>|exitcode:-9(?!\d)|exitswithreturncode=-9(?!\d)|iskilledbysignal:killed"
    r"|(?:line\d+:|\[\d+\][+-]?)\d+killed|zsh:killed"  # bash of a script's line and of a job, zsh
)
_NO_SHARED_MEMORY = r"insufficientsharedmemory\(shm\)|iskilledbysignal:buserror|workersareoutofsharedmemory"


def _ended(squeezed: str) -> Iterator[Found]:
    """Processes that were ended: for want of memory, or by a signal that says no more. Workers that shared none."""
    for found in re.finditer(rf"{_OUT_OF_MEMORY}|({_BY_SIGNAL})", squeezed):
        held = amount(found[2], "kib") if found[2] else None
        in_use = list(
            re.finditer(rf"cpuvirtualmemory:used={AMOUNT}", squeezed[max(0, found.start() - _NEAR) : found.start()])
        )
        seen = amount(in_use[-1][1], in_use[-1][2]) if in_use else None  # DeepSpeed's last count
        yield found.start(), found.end(), Message(kind="host", process=held, allocated=seen, killed=bool(found[3]))
    for found in re.finditer(_NO_SHARED_MEMORY, squeezed):  # torch/csrc/DataLoader.cpp, utils/data/dataloader.py
        yield found.start(), found.end(), Message(kind="host", out_of="shared memory")


def _gaudi(squeezed: str) -> Iterator[Found]:
    """Intel Gaudi's PyTorch bridge: bytes, or no figure where pieces could not be brought together."""
    told = r"(?:\[rank:(\d{1,6})\]fatalerror::)?module:pt_devmem(?:allocationfailedforsize::(\d{1,16})|oom:)"
    for found in re.finditer(told, squeezed):
        asked = amount(found[2], "bytes") if found[2] else None
        yield found.start(), found.end(), Message(kind="hpu", rank=int(found[1]) if found[1] else None, asked=asked)


_NEAR = 6000
"""Letters before the end of a process in which what was last said of the host's memory still counts."""
_RAY = re.compile(
    rf"memoryonthenode\(.{{0,200}}?\)wherethetask(?:\(.{{0,300}}?\))?wasrunningwas{AMOUNT}/{AMOUNT}"
    rf"|morethan\d{{1,3}}%ofthememoryonnode.{{0,100}}?isused\({NUMBER}/{AMOUNT}\)"
)


def _ray(squeezed: str) -> Iterator[Found]:
    """Ray ends the task that it started last when a node's memory is used up: two generations of its words."""
    for found in _RAY.finditer(squeezed):
        used, unit, whole = (found[1], found[2], found[3]) if found[1] else (found[5], found[7], found[6])
        task = re.search(rf"memoryused={AMOUNT}", found[0])
        yield (
            found.start(),
            found.end(),
            Message(
                kind="host",
                allocated=amount(used, unit),
                total=amount(whole, found[4] or unit),
                process=amount(task[1], task[2]) if task else None,
            ),
        )


def _xpu_block(squeezed: str) -> Iterator[Found]:
    """Intel's extension before PyTorch's own XPU: the driver's limit on one allocation."""
    for found in re.finditer(rf"cannotallocatememoryblockwithsizelargerthan{AMOUNT}", squeezed):
        block = squeezed[found.end() : found.end() + 300]
        end = max([found.end(), *(found.end() + one.end() for one in re.finditer(AMOUNT, block[:200]))])
        yield (
            found.start(),
            end,
            Message(
                kind="xpu",
                contiguous=amount(found[1], found[2]),
                asked=_at(block, rf"triedtoallocate{AMOUNT}"),
                total=_at(block, rf"{AMOUNT}totalcap"),
                allocated=_at(block, rf"{AMOUNT}alreadyall"),
                reserved=_at(block, rf"{AMOUNT}reservedin"),
            ),
        )


def _batch_search(squeezed: str) -> Iterator[Found]:
    for found in re.finditer(r"(?<![\"'])noexecutablebatchsizefound,?reachedzero", squeezed):
        yield found.start(), found.end(), Message(kind="batch_search")


_DRIVER = re.compile(
    r"(?<!searchfor`)(?:cuda|hip)(?:driver|runtime)?error:?(?:outofmemory|memoryallocation)"
    r"|cu(?:blas|dnn|solver|fft)_status_alloc_failed|cuda_error_out_of_memory"
    r"|nccl\w*:?cudafailure(?:\d+)?'outofmemory'|cudafailure(?:\d+)?'outofmemory'"
)


_PINS = re.compile(r"\.pin_memory\(|cudahostalloc|cudahostregister")
"""Page-locked memory is the host's, which the driver gives: what it says does not tell."""
_NEAR_CALL = 200
"""Letters between a traceback's last call and its error."""


def _driver(squeezed: str) -> Iterator[Found]:
    for found in _DRIVER.finditer(squeezed):
        pins = _PINS.search(squeezed, max(0, found.start() - _NEAR_CALL), found.start())
        yield found.start(), found.end(), Message(kind="host" if pins else "driver")
    for found in re.finditer(r"rtmallocfailed.{0,80}?size\[(\d{1,16})\]", squeezed):  # Ascend's communication
        yield found.start(), found.end(), Message(kind="driver", asked=amount(found[1], "bytes"))
    for found in re.finditer(rf"failedtocuda(?:host)?[cm]alloc(?:async)?{AMOUNT}", squeezed):  # NCCL's buffers
        yield found.start(), found.end(), Message(kind="driver", asked=amount(found[1], found[2]))


_RECOGNIZERS: tuple[Callable[[str], Iterator[Found]], ...] = (
    _mps,
    _cuda_malloc_async,
    _mlx,
    _metal,
    _xla,
    _bitsandbytes,
    _gaudi,
    _ray,
    _xpu_block,
    _batch_search,
    _host,
    _driver,
)

_WANTS = re.compile(rf"tr(?:ied|ies|ying)?to(?:allocate|reserve)a?n?(?:d)?{AMOUNT}")


def told_in_words(raw: str, squeezed: str) -> Message | None:
    """What a person says of a run that ended for want of memory; None where nothing of that is said."""
    asked = _WANTS.search(squeezed)
    if asked is None and not person_says(raw):
        return None
    return Message(kind="unknown", asked=amount(asked[1], asked[2]) if asked else None)
