"""Files that the probe leaves behind a training run: read, checked, and the fullest device's taken."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memplan.disk import read_file
from memplan.errors import MemplanError
from memplan.json_text import read_json
from memplan.plan.measured import Measured
from memplan.resources import resource

PROBE_VERSION = 1
MOST_BYTES = 1_000_000
_FIGURES = ("allocated_bytes", "reserved_bytes", "process_bytes")
_REMEDY = "`memplan probe` prints the script that writes such a file."


def probe_script() -> str:
    """The script that measures a run, to stand beside a training script."""
    return resource("probe", "memplan_probe.txt").read_text(encoding="utf-8")


def read_probes(paths: Iterable[str | Path]) -> Measured:
    """Read what the probe left, one file a rank, and take the device that held most.

    Raises:
        MemplanError: a file is none of the probe's, or its run ran out of memory.
    """
    found = [
        parse_probe(read_file(Path(path), limit_bytes=MOST_BYTES, what="a probe's file", error=MemplanError), str(path))
        for path in paths
    ]
    return max(found, key=lambda one: one.allocated_bytes or 0)


def parse_probe(data: bytes, place: str = "") -> Measured:
    """Read one file of the probe.

    Raises:
        MemplanError: what is wrong with it.

    >>> parse_probe(b'{"memplan_probe": 1, "allocated_bytes": 5, "reserved_bytes": 7, "process_bytes": null}')
    Measured(allocated_bytes=5, reserved_bytes=7, process_bytes=None)
    """
    content = read_json(data, place=place, error=MemplanError)
    version = content.get("memplan_probe") if isinstance(content, dict) else None
    if not isinstance(content, dict) or type(version) is not int:
        raise MemplanError("is no file of memplan's probe.", place=place, remedy=_REMEDY)
    if version != PROBE_VERSION:
        raise MemplanError(
            f"is of version {version} of the probe; this memplan reads version {PROBE_VERSION}.",
            place=place,
            remedy=_REMEDY,
        )
    if content.get("ran_out") is True:
        raise MemplanError(
            "is of a run that ran out of memory, so its peaks are none.",
            place=place,
            remedy="Read its message with `memplan diagnose`.",
        )
    figures = {name: _figure(content, name, place) for name in _FIGURES}
    allocated, reserved = figures["allocated_bytes"], figures["reserved_bytes"]
    if allocated is None:
        raise MemplanError("does not say what tensors held (allocated_bytes).", place=place)
    if reserved is not None and reserved < allocated:
        raise MemplanError("says that less was reserved than allocated, which cannot be.", place=place)
    return Measured(**figures)


def _figure(content: dict[str, Any], name: str, place: str) -> int | None:
    value = content.get(name)
    if value is None:
        return None
    if type(value) is not int or not 1 <= value <= 10**15:
        raise MemplanError(f"{name} is {value!r}; allowed is a whole number of bytes from 1 to 10^15.", place=place)
    return value
