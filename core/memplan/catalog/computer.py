"""What this computer has: asked of the vendor's own tool or of the system, here, with two seconds to answer.

Nothing is installed, nothing is sent anywhere, and nothing is asked before somebody wants to know.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from memplan.printable import printable
from memplan.units import MB, MIB

TIME_LIMIT_SECONDS = 2.0
_MOST_PRINTED_BYTES = MB
_LEAST_BYTES, _MOST_BYTES = 64 * MIB, 2**50
"""A figure outside is no memory of a device."""

NVIDIA_QUERY = ("--query-gpu=name,memory.total,memory.used,driver_model.current", "--format=csv,noheader,nounits")
AMD_QUERY = ("--showproductname", "--showmeminfo", "vram", "gtt", "--json")
APPLE_QUERY = ("hw.memsize", "machdep.cpu.brand_string", "iogpu.wired_limit_mb")


@dataclass(frozen=True, slots=True)
class Reading:
    """One kind of device that was found, and how many of it."""

    vendor: str
    name: str
    total_bytes: int | None
    """What the tool prints; None where it prints none, for memory that the system shares."""
    in_use_bytes: int = 0
    """The most that is in use of one of them."""
    count: int = 1
    shared_bytes: int = 0
    """AMD: how much of the system's memory the GPU may take (GTT); it counts where it has none of its own."""
    is_wddm: bool = False
    """Windows' display driver model: what does not fit spills into the system's memory instead of failing."""
    wired_limit_mib: int = 0
    """macOS: what `iogpu.wired_limit_mb` is set to; 0 for the system's own limit."""
    macos: int = 0
    """The major version; 0 elsewhere."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found, and what went wrong on the way, in words."""

    readings: tuple[Reading, ...] = ()
    problems: tuple[str, ...] = ()


class _ToolError(Exception):
    """Why a tool gave no answer."""


def look(search_path: str | None = None, system: str = sys.platform, macos: str | None = None) -> Found:
    """Ask what this computer has.

    Args:
        search_path: where tools are looked for; as the system does without.
        system: which system it is, as `sys.platform` names it.
        macos: its version on a Mac; asked of the system without.
    """
    if system == "darwin":
        version = platform.mac_ver()[0] if macos is None else macos
        return _asked("sysctl", APPLE_QUERY, search_path, lambda text: (_apple(text, version),))
    nvidia = _asked("nvidia-smi", NVIDIA_QUERY, search_path, _nvidia)
    amd = _asked("rocm-smi", AMD_QUERY, search_path, _amd)
    readings, problems = nvidia.readings + amd.readings, nvidia.problems + amd.problems
    if readings or problems:
        return Found(readings, problems)
    return Found(problems=("no GPU was found: neither nvidia-smi nor rocm-smi is installed.",))


def _asked(tool: str, arguments: Sequence[str], search_path: str | None, read: Any) -> Found:
    place = shutil.which(tool, path=search_path)
    if place is None:
        return Found(problems=(f"{tool} is not installed.",) if tool == "sysctl" else ())
    try:
        text = _output(place, arguments)
        try:
            return Found(read(text))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _ToolError(f"printed what is no list of devices: {_start_of(text)}.") from None
    except _ToolError as problem:
        return Found(problems=(f"{tool} {problem}",))


def _output(place: str, arguments: Sequence[str]) -> str:
    """What a tool prints. Into a file: whatever the tool started may hold a pipe open for ever."""
    with tempfile.TemporaryFile() as printed:
        try:
            # A session of its own, so that all it started ends with it; on Windows, no console flashes up.
            process = subprocess.Popen(
                [place, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as problem:
            raise _ToolError(f"could not be started ({problem.strerror or problem}).") from None
        try:
            status = process.wait(TIME_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            _end(process)
            raise _ToolError(f"gave no answer within {TIME_LIMIT_SECONDS:.0f} seconds.") from None
        printed.seek(0)
        text = printed.read(_MOST_PRINTED_BYTES).decode("utf-8", errors="replace")
    # sysctl fails when one of several names is unknown, and prints the others.
    if status and not (text.strip() and "sysctl" in place):
        raise _ToolError(f"failed with status {status}{f': {_start_of(text)}' if text.strip() else ''}.")
    return text


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(1)


def _nvidia(text: str) -> tuple[Reading, ...]:
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, total, used, model = (part.strip() for part in line.rsplit(",", 3))
        if not name or len(name) > 100:
            raise ValueError(line)
        known = total.isdecimal()
        if not known and not re.fullmatch(r"\[?(N/A|Not Supported|Unknown Error)\]?", total):
            raise ValueError(line)
        found.append(
            Reading(
                vendor="NVIDIA",
                name=name,
                total_bytes=_memory(int(total) * MIB) if known else None,
                in_use_bytes=int(used) * MIB if used.isdecimal() else 0,
                is_wddm=model.casefold() == "wddm",
            )
        )
    return _together(found)


def _amd(text: str) -> tuple[Reading, ...]:
    found = []
    for key, card in json.loads(text).items():
        if not re.fullmatch(r"card\d+", key):
            continue
        names = {name.casefold(): str(value) for name, value in card.items()}
        name = names.get("card series") or names.get("card model") or names["card sku"]
        total = _memory(int(names["vram total memory (b)"]))
        used, shared = (int(names.get(key, 0)) for key in ("vram total used memory (b)", "gtt total memory (b)"))
        found.append(Reading("AMD", name[:100], total, used, shared_bytes=shared))
    return _together(found)


def _apple(text: str, version: str) -> Reading:
    lines = (line.partition(":") for line in text.splitlines())
    values = {key.strip(): value.strip() for key, _, value in lines}
    return Reading(
        vendor="Apple",
        name=values.get("machdep.cpu.brand_string") or "Apple",
        total_bytes=_memory(int(values["hw.memsize"])),
        wired_limit_mib=int(values.get("iogpu.wired_limit_mb", 0)),
        macos=int(version.partition(".")[0] or 0),
    )


def _memory(num_bytes: int) -> int:
    if not _LEAST_BYTES <= num_bytes <= _MOST_BYTES:
        raise ValueError(num_bytes)
    return num_bytes


def _together(found: Iterable[Reading]) -> tuple[Reading, ...]:
    """Devices of the same name and size once, with how many there are; there must be one."""
    kinds: dict[tuple[str, int | None], list[Reading]] = {}
    for one in found:
        kinds.setdefault((one.name, one.total_bytes), []).append(one)
    if not kinds:
        raise ValueError("no device")
    return tuple(
        Reading(
            first.vendor,
            first.name,
            first.total_bytes,
            in_use_bytes=max(one.in_use_bytes for one in alike),
            count=len(alike),
            shared_bytes=first.shared_bytes,
            is_wddm=first.is_wddm,
        )
        for first, *others in kinds.values()
        for alike in [(first, *others)]
    )


def _start_of(text: str) -> str:
    line = printable(next(filter(None, map(str.strip, text.splitlines())), ""))
    return f"“{line[:60]}{'…' if len(line) > 60 else ''}”" if line else "nothing"
