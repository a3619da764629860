"""What the search fields find: catalog entries as hits with a figure beside each. Plain Python, no Qt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memplan import MemplanError, Unit, catalog, format_bytes, format_count, number, tr, tr_later

_COUNT = re.compile(r"\s*(\d{1,4})\s*[x×]\s*", re.IGNORECASE)
_NODES = re.compile(r"\s*(\d{1,3})\s*[x×]\s*(\d{1,2})(?:\s*[x×]\s*|\s+(?=[a-z]))", re.IGNORECASE)
NO_MODEL = tr_later("No model of the catalog matches “{query}”. Open its config.json instead, or give its size alone.")
NO_DEVICE = tr_later("No device of the catalog matches “{query}”.")


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that matches: what the plan calls it, what a person reads, and a figure beside it."""

    value: str
    text: str
    note: str = ""
    devices: int = 0
    """How many of it were asked for; 0 where nothing was said of that."""


def model_hits(query: str) -> Sequence[Hit]:
    """Models that match every word of the query."""
    return [
        Hit(entry.id, entry.id, format_count(entry.parameters.total) if entry.parameters.total else "")
        for entry in catalog.search_models(query)
    ]


def device_hits(query: str, unit: Unit = "gib") -> Sequence[Hit]:
    """This computer, then devices that match every word of the query, with what a process can get of them.

    A count may come first: "8 x H100", "2x8 H100".
    """
    count, name = counted(query)
    times = f"{number(count)} × " if count else ""
    hits = [
        Hit(entry.id, f"{times}{entry.name}", _given(entry.usable_bytes, unit), count)
        for entry in catalog.search_devices(name)
    ]
    return [*([] if count else _computer_hits(query, unit)), *hits]


def counted(query: str) -> tuple[int, str]:
    """How many devices were asked for, 0 where that was not said, and of what name.

    >>> counted("8 x H100"), counted("2x8 H100"), counted("8× 4090"), counted("H100")
    ((8, 'H100'), (16, 'H100'), (8, '4090'), (0, 'H100'))
    """
    if found := _NODES.match(query):
        return int(found[1]) * int(found[2]), query[found.end() :]
    found = _COUNT.match(query)
    return (int(found[1]), query[found.end() :]) if found else (0, query)


def _given(usable_bytes: int, unit: Unit) -> str:
    return tr("{size} before headroom").format(size=format_bytes(usable_bytes, unit))


def _computer_hits(query: str, unit: Unit) -> list[Hit]:
    """This computer, for who typed nothing or its beginning; what it has is said where it was asked already."""
    own = tr("This computer")
    if not own.casefold().startswith(query.strip().casefold()):
        return []
    found = catalog.known_computer()
    if found is None:
        return [Hit(catalog.THIS_COMPUTER, own, tr("asked when chosen"))]
    known = [Hit(device.id, device.name, _given(device.usable_bytes, unit)) for device in found.devices]
    return known or [Hit(catalog.THIS_COMPUTER, own, tr("no device found"))]


def device_problem(name: str) -> str:
    """Why a device cannot be taken into the plan: this computer may have none. Empty where it can."""
    if name.startswith(catalog.THIS_COMPUTER) and not (found := catalog.this_computer()).devices:
        return tr("This computer: {problems}").format(problems=" ".join(found.problems))
    return ""


def device_title(name: str) -> str:
    """What to call a device of a plan; a plan may name one that this catalog lacks."""
    try:
        return catalog.device(name).name
    except MemplanError:
        return name


def model_title(name: str) -> str:
    """What to call a model of a plan."""
    try:
        return catalog.model(name).id
    except MemplanError:
        return name
