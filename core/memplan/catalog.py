"""The catalog of models and devices: entries, lookup by name, search. The data files keep each entry's sources."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from memplan.catalog_search import CatalogIndex
from memplan.errors import MemplanError
from memplan.resources import resource

_FORMAT = 1
_MIB = 2**20

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """How many parameters a model has, and where that is known from."""

    total: int | None
    """All of them, tied weights once; None where no count is known."""
    active: int | None
    """Those that one token uses, for a mixture of experts; None where every one is used."""
    text_only: int | None
    """Without vision and audio towers; None for a model that has none."""
    basis: str
    published: int | None
    """What the repository states; it may count stored buffers, scales or extra prediction layers."""
    published_source: str | None
    active_published: str | None = None
    untied: int | None = None
    """The total where a library keeps a separate output layer that `total` counts as tied."""


@dataclass(frozen=True, slots=True, eq=False)
class CatalogModel:
    """One published model. `config` is the part of its config.json that decides memory; read it, never change it."""

    id: str
    aliases: tuple[str, ...]
    family: str
    config: Mapping[str, Any]
    parameters: Parameters
    count_verified: bool
    """Whether the model class, built from `config`, had exactly `parameters.total` parameters."""
    dtype_published: str | None
    licence: str | None
    sources: tuple[str, ...]
    unverified: tuple[str, ...]
    """What rests on general knowledge, a default or a figure entered by hand."""
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The id without its owner."""
        return self.id.rpartition("/")[2]

    @property
    def model_type(self) -> str:
        """The config's model_type: which architecture it is."""
        return str(self.config["model_type"])


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """One accelerator, and what a process can get of its memory."""

    id: str
    name: str
    aliases: tuple[str, ...]
    vendor: str
    device_class: str
    """consumer, workstation, datacentre, or unified: memory shared with the system."""
    advertised_gb: int
    total_mib: int
    """What the vendor's tool prints."""
    framework_total_bytes: int
    """What PyTorch sees."""
    usable_bytes: int
    """What a process can count on, before other programs and headroom are taken off."""
    usable_basis: str
    bandwidth_gb_s: float | None
    bf16_tflops: float | None
    fp16_tflops: float | None
    bf16_supported: bool
    fp8_supported: bool
    architecture: str
    interconnect: str | None
    devices_per_node: int
    launch_year: int
    tdp_w: int | None
    sources: tuple[str, ...]
    unverified: tuple[str, ...]
    """Which fields rest on a rule, a sibling or general knowledge."""
    notes: tuple[str, ...]
    usable_bytes_by_os: Mapping[str, int] | None = None
    """Apple: what Metal lets a process have, by macOS generation; `usable_bytes` is the smallest."""
    fp32_tflops: float | None = None

    @property
    def total_bytes(self) -> int:
        """What the vendor's tool prints, in bytes."""
        return self.total_mib * _MIB

    def usable_bytes_on_macos(self, major: int) -> int:
        """What a process can count on under that major version of macOS; elsewhere `usable_bytes`."""
        if self.usable_bytes_by_os is None:
            return self.usable_bytes
        return self.usable_bytes_by_os["macos_26_or_newer" if major >= 26 else "macos_15_or_older"]


def models() -> tuple[CatalogModel, ...]:
    """Every model, family by family."""
    return _model_index().entries


def devices() -> tuple[Device, ...]:
    """Every device, vendor by vendor."""
    return _device_index().entries


def model(name: str) -> CatalogModel:
    """The model of that id, alias or id without owner, in capitals or not.

    Raises:
        UnknownEntryError: there is none; the error suggests the closest.
    """
    return _model_index().get(name)


def device(name: str) -> Device:
    """The device of that id or alias (the name its driver reports, say), in capitals or not.

    Raises:
        UnknownEntryError: there is none; the error suggests the closest.
    """
    return _device_index().get(name)


def search_models(query: str) -> tuple[CatalogModel, ...]:
    """Models that match every word of the query, best first; all of them for an empty query."""
    return _model_index().search(query)


def search_devices(query: str) -> tuple[Device, ...]:
    """Devices that match every word of the query, best first; all of them for an empty query."""
    return _device_index().search(query)


@cache
def _model_index() -> CatalogIndex[CatalogModel]:
    return CatalogIndex(
        "model", _read("models.json", "models", _model), more_words=_model_words, short_names=_names_without_owner
    )


@cache
def _device_index() -> CatalogIndex[Device]:
    return CatalogIndex("device", _read("devices.json", "devices", _device), more_words=_device_words)


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
