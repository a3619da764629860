"""Every device in the catalog: complete, consistent, and never promising memory that a process cannot have."""

from __future__ import annotations

import dataclasses
import json

import pytest

from memplan.catalog import Device, device, devices
from memplan.resources import resource

GIB, MIB = 2**30, 2**20

every_device = pytest.mark.parametrize("entry", devices(), ids=lambda entry: entry.id)
apple = pytest.mark.parametrize(
    "entry", [entry for entry in devices() if entry.vendor == "Apple"], ids=lambda entry: entry.id
)
FIELDS = {field.name for field in dataclasses.fields(Device)}


def test_the_catalog_is_as_large_as_promised() -> None:
    assert len(devices()) >= 160


def test_names_are_unique() -> None:
    names = [name.casefold() for entry in devices() for name in (entry.id, *entry.aliases)]
    assert len(names) == len(set(names))


def test_the_file_holds_one_entry_a_line() -> None:
    lines = resource("catalog", "devices.json").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line.removesuffix(",")) for line in lines if line.startswith('{"id"')]
    assert [entry["id"] for entry in entries] == [entry.id for entry in devices()]


@every_device
def test_an_entry_says_where_it_comes_from_and_what_is_not_verified(entry: Device) -> None:
    assert entry.name
    assert entry.vendor
    assert entry.architecture
    assert entry.device_class in {"consumer", "workstation", "datacentre", "unified"}
    assert entry.sources
    assert entry.usable_basis.endswith(".")
    assert all(text.strip() for text in (*entry.sources, *entry.unverified, *entry.notes))


def named(entry: Device) -> set[str]:
    """The fields that `unverified` names."""
    fields = {name for text in entry.unverified for name in text.partition(":")[0].split(", ")}
    return {name.partition(".")[0] for name in fields}


@every_device
def test_what_is_not_verified_is_a_field(entry: Device) -> None:
    assert named(entry) <= FIELDS


@every_device
def test_what_is_missing_is_named(entry: Device) -> None:
    for field in ("bandwidth_gb_s", "interconnect", "tdp_w"):
        assert getattr(entry, field) is not None or field in named(entry), field
    if entry.bf16_supported and entry.bf16_tflops is None:
        assert "bf16_tflops" in named(entry)


@every_device
def test_a_process_never_gets_more_than_there_is(entry: Device) -> None:
    assert 0 < entry.usable_bytes <= entry.framework_total_bytes <= entry.total_bytes
    assert entry.usable_bytes < entry.total_bytes
    assert 0.93 < entry.total_bytes / (entry.advertised_gb * GIB) < 1.03


@every_device
def test_the_driver_keeps_a_little(entry: Device) -> None:
    """Under Linux 0.25 to 0.9 GiB on current NVIDIA cards; memory shared with a system is another matter."""
    kept = entry.total_bytes - entry.usable_bytes
    if entry.vendor == "NVIDIA" and entry.device_class != "unified":
        assert kept <= 922 * MIB
        # Drivers of the first years kept less, or printed their total already net.
        assert kept >= 240 * MIB or entry.id in {"v100-16gb", "gtx-1080"}
    elif entry.device_class == "unified":
        assert entry.usable_bytes / entry.total_bytes <= 0.8
    elif entry.vendor != "AMD":
        assert kept / entry.total_bytes < 0.057


@every_device
def test_rates_are_sane(entry: Device) -> None:
    assert entry.bandwidth_gb_s is None or 50 < entry.bandwidth_gb_s < 10_000
    for rate in (entry.bf16_tflops, entry.fp16_tflops, entry.fp32_tflops):
        assert rate is None or 1 < rate < 3000
    assert entry.bf16_tflops is None or entry.bf16_supported
    assert 2015 < entry.launch_year < 2030
    assert entry.tdp_w is None or 10 <= entry.tdp_w <= 1500
    assert entry.devices_per_node in {1, 2, 4, 8}


@pytest.mark.parametrize(
    ("name", "usable_gib"),
    [
        # PyTorch's total_memory, as out-of-memory messages print it under Linux.
        ("a100-80gb-sxm", 79.10),
        ("a100-40gb-sxm", 39.43),
        ("t4", 14.56),
        ("l4", 22.05),
        ("v100-32gb", 31.74),
        ("h200-sxm", 139.72),
        ("b200", 178.35),
        ("mi300x", 191.69),
        ("rtx-3090", 23.68),
        # Free right after boot, of 121.69 GiB that PyTorch sees.
        ("dgx-spark-gb10", 101.0),
        # Linux lets the GPU have half of the memory unless told otherwise.
        ("strix-halo-128gb", 62.47),
    ],
)
def test_what_a_process_can_get(name: str, usable_gib: float) -> None:
    assert device(name).usable_bytes / GIB == pytest.approx(usable_gib, abs=0.001)


def test_the_one_total_that_is_known_to_the_byte() -> None:
    assert device("rtx-6000-ada").framework_total_bytes == 50_865_307_648


@pytest.mark.parametrize(
    ("name", "macos", "mib"),
    [
        # What Metal prints as recommendedMaxWorkingSetSize.
        ("apple-m1-16gb", 15, 10922.67),
        ("apple-m1-max-32gb", 15, 21845.34),
        ("apple-m3-max-64gb", 14, 49152),
        ("apple-m3-16gb", 26, 11.84 * 1024),
        ("apple-m4-32gb", 26, 25557),
        ("apple-m4-pro-48gb", 26, 38338),
        ("apple-m1-max-64gb", 27, 53084),
        ("apple-m4-max-128gb", 26, 107.52 * 1024),
    ],
)
def test_what_metal_lets_a_process_have(name: str, macos: int, mib: float) -> None:
    assert device(name).usable_bytes_on_macos(macos) / MIB == pytest.approx(mib, abs=3)


@apple
def test_apple_promises_the_smaller_of_its_two_limits(entry: Device) -> None:
    assert entry.usable_bytes_by_os is not None
    assert set(entry.usable_bytes_by_os) == {"macos_15_or_older", "macos_26_or_newer"}
    assert entry.usable_bytes == min(entry.usable_bytes_by_os.values())
    older, newer = entry.usable_bytes_on_macos(15), entry.usable_bytes_on_macos(26)
    assert older == int(entry.advertised_gb * GIB * (2 / 3 if entry.advertised_gb <= 32 else 3 / 4))
    assert newer >= older
    # 8, 96, 192, 256 and 512 GB were not observed under macOS 26.
    unseen = entry.advertised_gb in {8, 96, 192, 256, 512}
    assert (newer == older) == unseen
    assert unseen == any(text.startswith("usable_bytes_by_os.macos_26_or_newer") for text in entry.unverified)


def test_only_apple_depends_on_the_operating_system() -> None:
    assert {entry.vendor for entry in devices() if entry.usable_bytes_by_os is not None} == {"Apple"}
    assert device("rtx-4090").usable_bytes_on_macos(26) == device("rtx-4090").usable_bytes
