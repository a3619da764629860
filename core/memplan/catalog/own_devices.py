"""Devices of a person's own: a JSON file beside the other settings, whose entries stand beside the catalog's.

    {"memplan_devices": 1, "devices": [
      {"id": "lab-card", "name": "Lab card 48 GB", "vendor": "NVIDIA", "device_class": "workstation",
       "total_mib": 49140}
    ]}

An entry that cannot be taken is told, with its place; the others work.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from memplan.catalog.card_memory import framework_total, shared_memory
from memplan.catalog.entries import Device
from memplan.disk import read_file
from memplan.errors import MemplanError
from memplan.json_text import read_json
from memplan.number_style import number
from memplan.plan.problems import invalid_plan, quoted, shown
from memplan.units import GIB, MB, MIB

if TYPE_CHECKING:
    from memplan.catalog.device_entry import CustomDevice

DEVICES_VARIABLE = "MEMPLAN_DEVICES"
"""The environment variable that names another file."""
_FORMAT = 1
_LARGEST_FILE_BYTES = 4 * MB


@dataclass(frozen=True, slots=True)
class CustomDevices:
    """What a person's file holds, and what of it cannot be taken."""

    path: Path
    devices: tuple[Device, ...] = ()
    problems: tuple[MemplanError, ...] = ()
    stamp: tuple[int, int] | None = None
    """When the file was written and how long it was; None where there was none."""

    @property
    def is_stale(self) -> bool:
        """Whether the file, or which file it is, has changed since."""
        return devices_file() != self.path or stamp_of(self.path) != self.stamp


def devices_file() -> Path:
    """Where the file is looked for: `devices.json` among memplan's settings, or what MEMPLAN_DEVICES names."""
    if named := os.environ.get(DEVICES_VARIABLE):
        return Path(named)
    if sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    else:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "memplan" / "devices.json"


def stamp_of(path: Path) -> tuple[int, int] | None:
    """When a file was last written and how long it is; None where it cannot be seen."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def read_custom_devices(path: Path, taken: frozenset[str] = frozenset()) -> CustomDevices:
    """Read a file of devices; where there is none, nothing is wrong.

    Args:
        path: the file.
        taken: names that other devices have, in small letters.
    """
    stamp = stamp_of(path)
    if stamp is None:
        return CustomDevices(path)
    try:
        data = read_file(path, limit_bytes=_LARGEST_FILE_BYTES, what="a file of devices")
        entries = _entries(read_json(data, place=str(path), error=MemplanError), path)
    except MemplanError as problem:
        return CustomDevices(path, problems=(problem,), stamp=stamp)
    devices, problems, names = [], [], set(taken)
    for position, item in enumerate(entries):
        try:
            device = _device(item, position, path, names)
        except MemplanError as problem:
            problems.append(problem)
            continue
        names.add(device.id.casefold())
        devices.append(device)
    return CustomDevices(path, tuple(devices), tuple(problems), stamp)


def _entries(content: Any, path: Path) -> list[Any]:
    if not isinstance(content, dict) or not isinstance(content.get("devices"), list):
        remedy = 'It begins {"memplan_devices": 1, "devices": […]}.'
        raise MemplanError("is no file of devices.", place=str(path), remedy=remedy)
    version = content.get("memplan_devices")
    if version != _FORMAT:
        message = f"found {shown(version)}; this memplan reads {_FORMAT}."
        raise MemplanError(message, place=f"{path}: memplan_devices")
    return content["devices"]  # type: ignore[no-any-return]  # a list, as was seen above


def _device(item: Any, position: int, path: Path, taken: set[str]) -> Device:
    from memplan.catalog.device_entry import CustomDevice  # most people have no such file, and need not wait for it

    here = f"devices[{position}]"
    try:
        entry = CustomDevice.model_validate(item, strict=True)
    except ValidationError as error:
        raise invalid_plan(error, CustomDevice, place=str(path), under=("devices", position)) from None
    if entry.id.casefold() in taken:
        message = f"{quoted(entry.id)} is the name of another device."
        raise MemplanError(message, place=f"{path}: {here}.id", remedy="Choose another one.")
    if entry.usable_mib is not None and entry.usable_mib > entry.total_mib:
        message = f"is more than the whole memory, {number(entry.total_mib)} MiB."
        raise MemplanError(message, place=f"{path}: {here}.usable_mib")
    return _as_device(entry, path)


def _as_device(entry: CustomDevice, path: Path) -> Device:
    total = entry.total_mib * MIB
    seen = total if entry.device_class == "unified" else framework_total(entry.vendor, total)
    derived = shared_memory(total) if entry.device_class == "unified" else seen
    usable = derived if entry.usable_mib is None else entry.usable_mib * MIB
    return Device(
        id=entry.id,
        name=entry.name,
        aliases=(),
        vendor=entry.vendor,
        device_class=entry.device_class,
        advertised_gb=max(1, round(total / GIB)),
        total_mib=entry.total_mib,
        framework_total_bytes=max(seen, usable),
        usable_bytes=usable,
        usable_basis="given" if entry.usable_mib is not None else "the total less what drivers keep back.",
        bandwidth_gb_s=None,
        bf16_tflops=None,
        fp16_tflops=None,
        bf16_supported=entry.bf16_supported,
        fp8_supported=False,
        architecture=entry.architecture,
        interconnect=None,
        devices_per_node=entry.devices_per_node,
        launch_year=None,
        tdp_w=None,
        sources=(str(path),),
        unverified=(),
        notes=(),
        origin="custom",
    )
