"""Messages of PyTorch's caching allocators (CUDA, HIP, XPU, NPU and their like), from 1.0 to 2.x."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from memplan.diagnose.amounts import AMOUNT, amount
from memplan.diagnose.message import Message, MessageKind, OtherProcess

_START = re.compile(
    r"(?P<who>cuda|hip|xpu|npu|mtia|musa|mlu|gcu)?(?:error:?)?[o0]ut[o0]f?mem[o0]ry"
    r"|(?P<alone>tr[il1|]?[ec]dt?[o0]?a[l1|]{2}[o0]cate(?=[\doil|]))"
)
"""A message begins with who ran out, or where its beginning was lost, with what was tried."""
_ASKED = re.compile(rf"tr[il1|]?[ec]dt?[o0]?a[l1|]{{2}}[o0]cate(?:morethan)?{AMOUNT}")
_DEVICE = re.compile(r"\((?:g[pb][uvy]|npu|xpu|device|mlu|musa)(\d{1,4})[;:,]|g[pb][uvy](\d{1,4})hasa?t[o0]?ta")
_FIELDS = {
    "total": (rf"{AMOUNT}t[o0]?talcap", rf"totalcapa\w{{0,6}}?of{AMOUNT}"),
    "limit": (rf"{AMOUNT}allowed",),
    "allocated": (rf"{AMOUNT}alread\w{{0,2}}all", rf"allocatedmemory{AMOUNT}isallocated"),
    "pools": (rf"with{AMOUNT}allocatedinprivatep",),
    "active": (rf"{AMOUNT}currentactive",),
    "free": (rf"{AMOUNT}free", rf"ofwhich{AMOUNT}is"),
    "reserved": (rf"{AMOUNT}reservedin",),
    "unallocated": (rf"{AMOUNT}isreservedby", rf"{AMOUNT}cached"),
    "process": (rf"thisprocesshas{AMOUNT}",),
}
_PATTERNS = {name: tuple(re.compile(one) for one in ones) for name, ones in _FIELDS.items()}
_OTHER = re.compile(rf"process(\d{{1,9}})has{AMOUNT}mem")
_LONGEST = 4000
"""No message is longer without spaces, however many processes it names."""


def caching_messages(squeezed: str) -> Iterator[tuple[int, int, Message]]:
    """Find messages of caching allocators: where each begins and ends, and what it says."""
    starts = list(_starts(squeezed))
    ends = [*(start for start, _ in starts), len(squeezed)][1:]
    for (start, kind), end in zip(starts, ends, strict=True):
        block = squeezed[start : min(end, start + _LONGEST)]
        message, length = _read(block, kind)
        if message is not None:
            yield start, start + length, message


def _starts(squeezed: str) -> Iterator[tuple[int, MessageKind]]:
    """Where messages begin. `OutOfMemoryError: CUDA out of memory. Tried to allocate` is one beginning, not three."""
    last: tuple[int, int, MessageKind] | None = None
    for found in _START.finditer(squeezed):
        who = found["who"] or ""
        kind = cast(MessageKind, who if who in ("cuda", "hip", "xpu", "npu") else "unknown")
        if last is not None:
            between = squeezed[last[1] : found.start()]
            asked_before = _ASKED.search(squeezed, last[0], found.start())
            if len(between) < 60 and asked_before is None:
                last = (last[0], found.end(), kind if kind != "unknown" else last[2])
                continue
            yield last[0], last[2]
        last = (found.start(), found.end(), kind)
    if last is not None:
        yield last[0], last[2]


def _read(block: str, kind: MessageKind) -> tuple[Message | None, int]:
    asked_at, end = _ASKED.search(block), 0
    if asked_at is None and kind == "unknown":
        return None, 0
    if asked_at is not None and asked_at.start() > 200:
        asked_at = None
    found: dict[str, Any] = {}
    for name, patterns in _PATTERNS.items():
        for pattern in patterns:
            match = pattern.search(block)
            value = amount(match[1], match[2]) if match else None
            if match and value is not None:
                found[name], end = value, max(end, match.end())
                break
    others = []
    for match in _OTHER.finditer(block):
        held = amount(match[2], match[3])
        if held is not None:
            others.append(OtherProcess(int(match[1]), held))
            end = max(end, match.end())
    device = _DEVICE.search(block)
    if kind == "unknown":
        kind = "npu" if "(npu" in block else "xpu" if "(xpu" in block else "cuda"
    message = Message(
        kind=kind,
        device=int(next(one for one in device.groups() if one)) if device else None,
        asked=amount(asked_at[1], asked_at[2]) if asked_at else None,
        others=tuple(others),
        **found,
    )
    return message, max(end, asked_at.end() if asked_at else 0, 11)
