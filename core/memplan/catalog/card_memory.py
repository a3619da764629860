"""What a process can get of a device of which nobody reported it: the rules behind the catalog's derived figures."""

from __future__ import annotations

from memplan.units import GIB, MIB

_NVIDIA_GAPS_MIB = ((16, 480), (32, 541), (48, 664))
"""Cards of up to so many GiB, and the largest gap between nvidia-smi's total and PyTorch's that was seen on them."""
_WIDEST_NVIDIA_GAP_MIB = 922
_AMD_GAP_MIB = 301
_UNKNOWN_SHARE = 0.944
_SHARED_SHARE = 0.75

_MACOS_26 = 26
_OLDER_SMALL_SHARE, _OLDER_SHARE, _OLDER_SMALL_GIB = 2 / 3, 3 / 4, 32
_NEWER_SHARES = {16: 0.74, 18: 0.74, 24: 0.74, 32: 0.78, 36: 0.78, 48: 0.78, 64: 0.81, 128: 0.84}
"""macOS 26 and newer, by the machine's memory in GiB; other sizes were not observed."""


def framework_total(vendor: str, total_bytes: int) -> int:
    """What PyTorch sees of a device with memory of its own, from what the vendor's tool prints.

    Equation: total − reserve; other vendors: total · 0.944.
    Symbols: reserve = the largest gap seen on cards of that size. Source: public reports of both totals (the catalog
    names them); 5.6% is the largest share kept back on any accelerator there (Arc A770: 15.11 of 16 GiB).

    >>> framework_total("NVIDIA", 24_564 * MIB) // MIB, framework_total("NVIDIA", 81_920 * MIB) // MIB
    (24023, 80998)
    """
    if vendor == "NVIDIA":
        gap = next((gap for most, gap in _NVIDIA_GAPS_MIB if total_bytes <= most * GIB), _WIDEST_NVIDIA_GAP_MIB)
    elif vendor == "AMD":
        gap = _AMD_GAP_MIB
    else:
        return int(total_bytes * _UNKNOWN_SHARE)
    return max(0, total_bytes - gap * MIB)


def apple_limit(memory_bytes: int, macos: int, wired_limit_mib: int = 0) -> int:
    """What macOS lets the GPU have of the memory that it shares: Metal's recommended working set.

    Equation: N MiB where `iogpu.wired_limit_mb` is N; otherwise memory · share. Symbols: share = 2/3 up to 32 GiB and
    3/4 above on macOS 15 and older; 0.74 to 0.84 by size on macOS 26 and newer, where it was observed. Source: Metal's
    figures in public reports (llama.cpp, ollama, ds4), named in the catalog.

    >>> apple_limit(32 * GIB, 15) // MIB, apple_limit(128 * GIB, 26) // MIB, apple_limit(32 * GIB, 26, 28_000) // MIB
    (21845, 110100, 28000)
    """
    if wired_limit_mib > 0:
        return min(wired_limit_mib * MIB, memory_bytes)
    gib = memory_bytes / GIB
    share = _OLDER_SMALL_SHARE if gib <= _OLDER_SMALL_GIB else _OLDER_SHARE
    if macos >= _MACOS_26:
        share = _NEWER_SHARES.get(round(gib), share)
    return int(memory_bytes * share)


def shared_memory(total_bytes: int) -> int:
    """What is counted on of other memory that the system shares with the GPU, where no figure is known.

    >>> shared_memory(64 * GIB) // GIB
    48
    """
    return int(total_bytes * _SHARED_SHARE)
