"""What the search fields find: catalog entries as hits with a figure beside each. Plain Python, no Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memplan import MemplanError, Unit, catalog, format_bytes, format_count

NO_MODEL = "No model of the catalog matches “{}”. Open its config.json instead, or give its size alone."
NO_DEVICE = "No device of the catalog matches “{}”."


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that matches: what the plan calls it, what a person reads, and a figure beside it."""

    value: str
    text: str
    note: str = ""


def model_hits(query: str) -> Sequence[Hit]:
    """Models that match every word of the query."""
    return [
        Hit(entry.id, entry.id, format_count(entry.parameters.total) if entry.parameters.total else "")
        for entry in catalog.search_models(query)
    ]


def device_hits(query: str, unit: Unit = "gib") -> Sequence[Hit]:
    """This computer, then devices that match every word of the query, with what a process can get of them."""
    hits = [
        Hit(entry.id, entry.name, f"{format_bytes(entry.usable_bytes, unit)} usable")
        for entry in catalog.search_devices(query)
    ]
    return [*_computer_hits(query, unit), *hits]


def _computer_hits(query: str, unit: Unit) -> list[Hit]:
    """This computer, for who typed nothing or its beginning; what it has is said where it was asked already."""
    if not "this computer".startswith(query.strip().casefold()):
        return []
    found = catalog.known_computer()
    if found is None:
        return [Hit(catalog.THIS_COMPUTER, "This computer", "asked when chosen")]
    known = [
        Hit(device.id, device.name, f"{format_bytes(device.usable_bytes, unit)} usable") for device in found.devices
    ]
    return known or [Hit(catalog.THIS_COMPUTER, "This computer", "no device found")]


def device_problem(name: str) -> str:
    """Why a device cannot be taken into the plan: this computer may have none. Empty where it can."""
    if name.startswith(catalog.THIS_COMPUTER) and not (found := catalog.this_computer()).devices:
        return f"This computer: {' '.join(found.problems)}"
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
