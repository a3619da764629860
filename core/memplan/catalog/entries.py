"""What the catalog holds: models and devices, each with its sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from memplan.units import MIB


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
    launch_year: int | None
    tdp_w: int | None
    sources: tuple[str, ...]
    unverified: tuple[str, ...]
    """Which fields rest on a rule, a sibling or general knowledge."""
    notes: tuple[str, ...]
    usable_bytes_by_os: Mapping[str, int] | None = None
    """Apple: what Metal lets a process have, by macOS generation; `usable_bytes` is the smallest."""
    fp32_tflops: float | None = None
    in_use_bytes: int = 0
    """This computer: what other programs held of it when it was looked at."""
    origin: Literal["catalog", "custom", "computer"] = "catalog"
    """Whether it stands in the catalog, in the person's own file, or is what this computer has."""

    @property
    def total_bytes(self) -> int:
        """What the vendor's tool prints, in bytes."""
        return self.total_mib * MIB

    @property
    def joins_others(self) -> bool:
        """Whether a run can be divided over several of them.

        Not over Apple's: PyTorch has no communication between their GPUs (Hugging Face Accelerate, documentation of
        mps). Not over laptops, nor systems of one shared memory, NVIDIA's apart: these are made to be linked.
        """
        if self.vendor == "Apple" or "laptop" in self.name.casefold():
            return False
        return self.device_class != "unified" or self.vendor == "NVIDIA"

    def usable_bytes_on_macos(self, major: int) -> int:
        """What a process can count on under that major version of macOS; elsewhere `usable_bytes`."""
        if self.usable_bytes_by_os is None:
            return self.usable_bytes
        return self.usable_bytes_by_os["macos_26_or_newer" if major >= 26 else "macos_15_or_older"]
