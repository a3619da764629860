"""A tensor that a run asks for, and how an allocator writes its size when it cannot be had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memplan.diagnose.message import MessageKind
from memplan.memory.storage import rounded
from memplan.result import InstantName, TermName
from memplan.units import KIB, MIB

SMALL_SEGMENT, MIDDLE_SEGMENT, SEGMENT_STEP = 2 * MIB, 20 * MIB, 2 * MIB
MIDDLE_FROM, LARGE_FROM = MIB, 10 * MIB
_MPS_PAGE = 16 * KIB


@dataclass(frozen=True, slots=True)
class Request:
    """One kind of tensor that a step asks for.

    `held_low` and `held_high` are what tensors hold when it is asked for: at the first time and at the last.
    """

    what: str
    """What it is: "gradient", "logits in fp32"."""
    of: str
    """Of which weight or module; may be empty."""
    shape: tuple[Any, ...]
    dtype: str
    num_bytes: int
    instant: InstantName
    term: TermName
    held_low: int
    held_high: int
    planned: bool = True
    """Whether the plan has it; otherwise it is what a run has that differs from the plan as `why` says."""
    why: str = ""


def asked_bytes(num_bytes: int, kind: MessageKind, *, as_requested: bool = False) -> int:
    """What a message says was tried for a tensor of so many bytes.

    Equation (caching allocators): up to 1 MiB a segment of 2 MiB, below 10 MiB one of 20 MiB, from there on the next
    multiple of 2 MiB; expandable segments say the same. Apple's allocator rounds up to a page of 16 KiB, others ask for
    what is needed. Source: c10/core/AllocatorConfig.h, PyTorch 2.13; aten/src/ATen/mps/MPSAllocator.h.

    >>> asked_bytes(119547 * 768 * 4, "cuda") // 2**20, asked_bytes(5_000_000, "cuda") // 2**20, asked_bytes(9, "xla")
    (352, 20, 9)
    """
    if as_requested or kind not in ("cuda", "hip", "xpu", "npu", "mps", "unknown"):
        return num_bytes
    if kind == "mps":
        return -(-num_bytes // _MPS_PAGE) * _MPS_PAGE
    block = int(rounded(num_bytes))
    if block <= MIDDLE_FROM:
        return SMALL_SEGMENT
    if block < LARGE_FROM:
        return MIDDLE_SEGMENT
    return -(-block // SEGMENT_STEP) * SEGMENT_STEP


def says_nothing(asked_low: int, asked_high: int, kind: MessageKind) -> bool:
    """Whether the size tried is that of a segment, which any smaller tensor may have asked for."""
    if kind in ("cuda", "hip", "xpu", "npu"):
        return any(asked_low <= size <= asked_high for size in (SMALL_SEGMENT, MIDDLE_SEGMENT))
    return asked_high <= MIB
