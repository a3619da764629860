"""The catalog of models and devices: lookup by name, search. The data files keep each entry's sources.

Beside the catalog's devices stand those of the person's own file, and what this computer has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

from memplan.catalog.computer_devices import THIS_COMPUTER as THIS_COMPUTER
from memplan.catalog.computer_devices import ThisComputer, devices_of
from memplan.catalog.entries import CatalogModel as CatalogModel
from memplan.catalog.entries import Device as Device
from memplan.catalog.entries import Parameters
from memplan.catalog.own_devices import CustomDevices, devices_file, read_custom_devices
from memplan.catalog.search import CatalogIndex, newness
from memplan.errors import MemplanError, UnknownEntryError
from memplan.resources import resource

_FORMAT = 1

T = TypeVar("T")


def models() -> tuple[CatalogModel, ...]:
    """Every model, family by family."""
    return _model_index().entries


def devices() -> tuple[Device, ...]:
    """Every device, vendor by vendor, then those of the person's own file; this computer is asked apart."""
    return _device_index().entries


def model(name: str) -> CatalogModel:
    """The model of that id, alias or id without owner, in capitals or not.

    Raises:
        UnknownEntryError: there is none; the error suggests the closest.
    """
    return _model_index().get(name)


def find_model(name: str) -> CatalogModel | None:
    """The model of that id, alias or id without owner; None where there is none, which takes no search for the like."""
    return _model_index().find(name)


def device(name: str) -> Device:
    """The device of that id or alias (the name its driver reports, say), in capitals or not.

    `this-computer` asks this computer, once.

    Raises:
        UnknownEntryError: there is none; the error suggests the closest, or says why this computer has none.
    """
    if name.casefold().startswith(THIS_COMPUTER):
        return _own_device(name.casefold())
    try:
        return _device_index().get(name)
    except UnknownEntryError as error:
        if not (problems := custom_devices().problems):
            raise
        remedy = f"{error.remedy} Your own file of devices has problems: {problems[0]}"
        raise UnknownEntryError(error.message, remedy=remedy) from None


@cache
def custom_devices() -> CustomDevices:
    """The devices of the person's own file, and what in it cannot be taken."""
    taken = {name.casefold() for entry in _catalog_devices() for name in (entry.id, *entry.aliases)}
    return read_custom_devices(devices_file(), frozenset(taken | {THIS_COMPUTER}))


@cache
def this_computer() -> ThisComputer:
    """What this computer has. It is asked once, with two seconds for each of its tools to answer."""
    from memplan.catalog.computer import look  # few people ask

    return devices_of(look(), _known_device)


def known_computer() -> ThisComputer | None:
    """What this computer has, where it has been asked already; None otherwise. Asks nothing."""
    return this_computer() if this_computer.cache_info().currsize else None


def refresh_custom_devices() -> bool:
    """Read the person's file anew, where it has changed since; says whether it has."""
    if not custom_devices().is_stale:
        return False
    custom_devices.cache_clear()
    _device_index.cache_clear()
    return True


def read_devices_again() -> None:
    """Forget the person's file and this computer, so that they are read anew when somebody asks."""
    for known in (custom_devices, this_computer, _device_index):
        known.cache_clear()


def search_models(query: str) -> tuple[CatalogModel, ...]:
    """Models that match every word of the query, best first; all of them for an empty query."""
    return _model_index().search(query)


def search_devices(query: str) -> tuple[Device, ...]:
    """Devices that match every word of the query, best first; all of them for an empty query."""
    return _device_index().search(query)


@cache
def _model_index() -> CatalogIndex[CatalogModel]:
    return CatalogIndex(
        "model",
        _read("models.json", "models", _model),
        more_words=_model_words,
        short_names=_names_without_owner,
        newness=lambda entry: newness(entry.name, entry.family),
    )


@cache
def _device_index() -> CatalogIndex[Device]:
    return CatalogIndex("device", _catalog_devices() + custom_devices().devices, more_words=_device_words)


@cache
def _catalog_devices() -> tuple[Device, ...]:
    return _read("devices.json", "devices", _device)


def _own_device(name: str) -> Device:
    found = this_computer()
    for entry in found.devices:
        if entry.id == name:
            return entry
    if found.devices:
        known = ", ".join(entry.id for entry in found.devices)
        raise UnknownEntryError(f"this computer has no device {name}.", remedy=f"It has {known}.")
    raise UnknownEntryError(f"this computer: {' '.join(found.problems)}", remedy="Choose a device of the catalog.")


def _known_device(name: str) -> Device | None:
    """The catalog's entry by a name or an alias; None where it has none."""
    try:
        return _device_index().get(name)
    except UnknownEntryError:
        wanted = name.casefold()
        return next((entry for entry in _catalog_devices() if entry.name.casefold() == wanted), None)


def _read(file: str, key: str, entry: Callable[[dict[str, Any]], T]) -> tuple[T, ...]:
    path = resource("catalog", file)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT:
            raise ValueError(f"format {content['format']}")
        return tuple(entry(item) for item in content[key])
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise MemplanError(
            f"this catalog cannot be read ({type(error).__name__}: {error}).",
            place=str(path),
            remedy="The installation is damaged: install memplan again.",
        ) from error


def _model(item: dict[str, Any]) -> CatalogModel:
    return CatalogModel(**{**_tuples(item), "parameters": Parameters(**item["parameters"])})


def _device(item: dict[str, Any]) -> Device:
    fields = _tuples(item)
    fields["device_class"] = fields.pop("class")
    return Device(**fields)


def _tuples(item: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in item.items()}


def _model_words(entry: CatalogModel) -> Iterator[str]:
    yield entry.family
    yield entry.model_type
    if entry.parameters.active is not None:
        yield "moe mixture of experts"
    if "vision_config" in entry.config:
        yield "vision multimodal"


def _names_without_owner(entry: CatalogModel) -> Iterator[str]:
    for name in (entry.id, *entry.aliases):
        yield name.rpartition("/")[2]


def _device_words(entry: Device) -> Iterator[str]:
    yield entry.vendor
    yield entry.architecture
    yield entry.device_class
    yield f"{entry.advertised_gb}gb"
    if entry.device_class == "datacentre":
        yield "datacenter"
