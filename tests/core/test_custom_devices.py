"""Devices of a person's own. What is right: the file's words, and that one bad entry costs no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memplan import catalog
from memplan.catalog.own_devices import devices_file, read_custom_devices
from memplan.cli.ending import run
from memplan.errors import UnknownEntryError
from memplan.estimate import estimate
from memplan.fit import device_fits
from memplan.plan.scenario import Scenario
from memplan.units import MIB

CARD = {
    "id": "lab-card",
    "name": "Lab card 48 GB",
    "vendor": "NVIDIA",
    "device_class": "workstation",
    "total_mib": 49140,
}


@pytest.fixture
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "devices.json"
    monkeypatch.setenv("MEMPLAN_DEVICES", str(path))
    catalog.read_devices_again()
    yield path
    monkeypatch.undo()
    catalog.read_devices_again()


def write(path: Path, *devices: Any) -> None:
    path.write_text(json.dumps({"memplan_devices": 1, "devices": devices}), encoding="utf-8")
    catalog.read_devices_again()


def test_an_own_device_is_one_like_any_other(own_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reserve is that of the catalog's 48 GB cards: 664 MiB, the largest gap seen on them."""
    before = len(catalog.devices())
    write(own_file, CARD)
    device = catalog.device("lab-card")
    assert (device.origin, device.advertised_gb, device.usable_bytes) == ("custom", 48, (49140 - 664) * MIB)
    assert len(catalog.devices()) == before + 1
    assert catalog.search_devices("lab 48") == (device,)
    scenario = Scenario.model_validate(
        {"model": {"catalog": "meta-llama/Llama-3.2-1B"}, "hardware": {"device": "lab-card"}}
    )
    assert estimate(scenario).device_name == "Lab card 48 GB"
    assert [fit.device.id for fit in device_fits(scenario) if fit.device.origin == "custom"] == ["lab-card"]
    assert run(["fit", "meta-llama/Llama-3.2-1B", "--device", "lab-card"]) == 0
    assert "Lab card 48 GB" in capsys.readouterr().out


def test_what_is_given_counts(own_file: Path) -> None:
    write(own_file, {**CARD, "usable_mib": 40000, "architecture": "Hopper", "devices_per_node": 4})
    device = catalog.device("LAB-CARD")
    assert (device.usable_bytes, device.architecture, device.devices_per_node) == (40000 * MIB, "Hopper", 4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"total_mib": 0}, "devices[1].total_mib: found 0; allowed is a whole number from 256 to 4,194,304."),
        ({"total_mib": 10**9}, "devices[1].total_mib: found 1000000000; allowed is a whole number"),
        ({"total_mib": "48 GB"}, 'devices[1].total_mib: found "48 GB" (text); allowed is a whole number'),
        ({"total_mib": None}, "devices[1].total_mib: found null; allowed"),
        ({"device_class": "laptop"}, 'devices[1].device_class: found "laptop". Allowed: consumer, workstation'),
        ({"usable_mib": 49141}, "devices[1].usable_mib: is more than the whole memory, 49,140 MiB."),
        ({"id": "lab-card"}, 'devices[1].id: "lab-card" is the name of another device.'),
        ({"id": "RTX-4090"}, 'devices[1].id: "RTX-4090" is the name of another device.'),
        ({"id": "this-computer"}, 'devices[1].id: "this-computer" is the name of another device.'),
        ({"memory": 48}, "devices[1].memory: unknown field"),
    ],
)
def test_a_bad_entry_is_told_with_its_place_and_costs_no_other(
    own_file: Path, change: dict[str, Any], words: str
) -> None:
    write(own_file, CARD, {**CARD, "id": "other", **change}, {**CARD, "id": "third"})
    found = catalog.custom_devices()
    assert [device.id for device in found.devices] == ["lab-card", "third"]
    assert len(found.problems) == 1
    assert f"{own_file}: {words}" in str(found.problems[0])


@pytest.mark.parametrize("field", list(CARD))
def test_a_missing_field_is_named(own_file: Path, field: str) -> None:
    write(own_file, {key: value for key, value in CARD.items() if key != field})
    (problem,) = catalog.custom_devices().problems
    assert f"devices[0].{field}: is missing." in str(problem)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty."),
        ("{", "the file is truncated."),
        ("[]", "is no file of devices."),
        ('{"devices": []}', "memplan_devices: found null; this memplan reads 1."),
        ('{"memplan_devices": 2, "devices": []}', "memplan_devices: found 2; this memplan reads 1."),
        ('{"memplan_devices": 1, "devices": [3]}', "devices[0]: found 3; allowed is an object."),
    ],
)
def test_a_file_that_is_none_is_told_and_the_rest_works(own_file: Path, text: str, words: str) -> None:
    own_file.write_text(text, encoding="utf-8")
    catalog.read_devices_again()
    found = catalog.custom_devices()
    assert found.devices == ()
    assert words in str(found.problems[0])
    assert catalog.device("rtx-4090").vendor == "NVIDIA"


def test_no_file_is_no_problem(tmp_path: Path) -> None:
    found = read_custom_devices(tmp_path / "none.json")
    assert (found.devices, found.problems) == ((), ())


def test_a_plan_that_names_a_broken_entry_is_told_why(own_file: Path) -> None:
    write(own_file, {**CARD, "total_mib": 0})
    with pytest.raises(UnknownEntryError, match=r"no device .lab-card. .*devices\[0\]\.total_mib: found 0"):
        catalog.device("lab-card")


def test_problems_are_told_beside_the_answer(own_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(own_file, CARD, {**CARD, "id": "x", "total_mib": 0})
    assert run(["catalog", "devices", "lab"]) == 0
    told = capsys.readouterr()
    assert "lab-card" in told.out
    assert "devices[1].total_mib: found 0" in told.err


def test_a_file_that_changed_is_read_anew(own_file: Path) -> None:
    write(own_file, CARD)
    known = catalog.custom_devices()
    catalog.refresh_custom_devices()
    assert catalog.custom_devices() is known
    own_file.write_text(own_file.read_text(encoding="utf-8").replace("lab-card", "other-card"), encoding="utf-8")
    catalog.refresh_custom_devices()
    assert [device.id for device in catalog.devices() if device.origin == "custom"] == ["other-card"]
    own_file.unlink()
    catalog.refresh_custom_devices()
    assert [device for device in catalog.devices() if device.origin == "custom"] == []


def test_the_file_stands_among_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMPLAN_DEVICES", raising=False)
    assert devices_file().name == "devices.json"
    assert devices_file().parent.name == "memplan"
