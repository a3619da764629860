"""This computer's devices as the catalog's are: what was read of them, and what is known of such a card."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memplan.catalog.card_memory import apple_limit, framework_total
from memplan.catalog.entries import Device
from memplan.number_style import number
from memplan.units import GIB, MIB, format_bytes

if TYPE_CHECKING:
    from memplan.catalog.computer import Found, Reading

THIS_COMPUTER = "this-computer"
"""The id under which plans and the command line find it; a second kind of device is `this-computer-2`."""
_SAME_SIZE = 0.01

WDDM_NOTE = (
    "Under Windows' display driver (WDDM) what does not fit spills into the system's memory: the run becomes slow "
    "instead of failing."
)


@dataclass(frozen=True, slots=True)
class ThisComputer:
    """Its devices, largest first, and what went wrong while they were asked for, in words."""

    devices: tuple[Device, ...]
    problems: tuple[str, ...]


def devices_of(found: Found, known: Callable[[str], Device | None]) -> ThisComputer:
    """Make devices of what was read.

    Args:
        found: what this computer's tools said.
        known: the catalog's entry by the name that a driver reports; None where it has none.
    """
    devices, problems = [], list(found.problems)
    for reading in found.readings:
        device = _device(reading, known)
        if device is None:
            problems.append(f"{reading.name}: its driver does not say how much memory it has.")
        else:
            devices.append(device)
    return ThisComputer(tuple(_numbered(sorted(devices, key=lambda one: -one.usable_bytes))), tuple(problems))


def _numbered(devices: Iterable[Device]) -> Iterable[Device]:
    for position, device in enumerate(devices):
        yield replace(device, id=THIS_COMPUTER if position == 0 else f"{THIS_COMPUTER}-{position + 1}")


def _device(reading: Reading, known: Callable[[str], Device | None]) -> Device | None:
    if reading.vendor == "Apple":
        assert reading.total_bytes is not None, "macOS says how much memory there is"
        entry = known(f"{reading.name} {round(reading.total_bytes / GIB)} GB")
        return _with_memory(entry or _plain(reading), reading, *_apple_memory(reading))
    entry = known(reading.name)
    total = reading.total_bytes
    if total is None:
        if entry is None:
            return None
        return _with_memory(entry, reading, entry.framework_total_bytes, entry.usable_bytes, entry.usable_basis)
    if entry is not None and entry.device_class == "unified" and reading.shared_bytes:
        seen = max(total, reading.shared_bytes)
        return _with_memory(entry, reading, seen, seen, "the system's memory that the GPU may take (GTT).")
    if reading.is_wddm:
        return _with_memory(entry or _plain(reading), reading, total, total, "Windows shows PyTorch nearly all of it.")
    if entry is not None and abs(total - entry.total_bytes) <= _SAME_SIZE * total:
        return _with_memory(entry, reading, entry.framework_total_bytes, entry.usable_bytes, entry.usable_basis)
    seen = framework_total(reading.vendor, total)
    return _with_memory(entry or _plain(reading), reading, seen, seen, "what its driver says, less its reserve.")


def _apple_memory(reading: Reading) -> tuple[int, int, str]:
    assert reading.total_bytes is not None
    limit = apple_limit(reading.total_bytes, reading.macos, reading.wired_limit_mib)
    if reading.wired_limit_mib:
        return limit, limit, f"iogpu.wired_limit_mb is set to {number(reading.wired_limit_mib)}."
    return limit, limit, f"what macOS {reading.macos} lets the GPU have; iogpu.wired_limit_mb raises it."


def _with_memory(device: Device, reading: Reading, seen: int, usable: int, basis: str) -> Device:
    notes = [WDDM_NOTE] if reading.is_wddm else []
    if reading.in_use_bytes:
        notes.append(f"{format_bytes(reading.in_use_bytes)} of it was in use by other programs when it was looked at.")
    name = device.name if reading.count == 1 else f"{reading.count} × {device.name}"
    return replace(
        device,
        name=f"This computer: {name}",
        aliases=(),
        total_mib=device.total_mib if reading.total_bytes is None else reading.total_bytes // MIB,
        framework_total_bytes=seen,
        usable_bytes=usable,
        usable_basis=basis,
        usable_bytes_by_os=None,
        devices_per_node=reading.count,
        in_use_bytes=min(reading.in_use_bytes, usable),
        notes=tuple(notes),
        origin="computer",
    )


def _plain(reading: Reading) -> Device:
    """A device of which nothing is known but what its driver says."""
    total = reading.total_bytes or 0
    return Device(
        id=THIS_COMPUTER,
        name=reading.name,
        aliases=(),
        vendor=reading.vendor,
        device_class="unified" if reading.vendor == "Apple" else "consumer",
        advertised_gb=max(1, round(total / GIB)),
        total_mib=total // MIB,
        framework_total_bytes=total,
        usable_bytes=total,
        usable_basis="",
        bandwidth_gb_s=None,
        bf16_tflops=None,
        fp16_tflops=None,
        bf16_supported=True,
        fp8_supported=False,
        architecture="Apple silicon" if reading.vendor == "Apple" else "",
        interconnect=None,
        devices_per_node=reading.count,
        launch_year=None,
        tdp_w=None,
        sources=("this computer's own driver",),
        unverified=("architecture, bf16_supported: not in the catalog",),
        notes=(),
    )
