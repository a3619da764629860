"""What this computer has. Tools are scripts that the test writes: they print what the real ones print, or nonsense."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memplan import catalog
from memplan.catalog import computer
from memplan.catalog.computer import Reading, look
from memplan.catalog.computer_devices import WDDM_NOTE, devices_of
from memplan.cli.ending import run
from memplan.memory.process import usable_bytes
from memplan.plan.hardware import Hardware
from memplan.units import GIB, MIB

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="tools are shell scripts here")

A100 = "NVIDIA A100-SXM4-80GB, 81920, 1200, [N/A]"
ROCM = """{"card0": {"Card Series": "AMD Instinct MI300X", "VRAM Total Memory (B)": "206141652992",
 "VRAM Total Used Memory (B)": "297000000"}, "system": {"Driver version": "6.8"}}"""
MAC = "hw.memsize: 34359738368\nmachdep.cpu.brand_string: Apple M1 Max\niogpu.wired_limit_mb: 0\n"


def tool(folder: Path, name: str, prints: str = "", *, then: str = "") -> str:
    """Write a tool; its folder is where tools are looked for."""
    (folder / f"{name}.txt").write_text(prints, encoding="utf-8")
    script = folder / name
    script.write_text(f"#!/bin/sh\n/bin/cat '{folder / f'{name}.txt'}'\n{then}\n", encoding="utf-8")
    script.chmod(0o755)
    return str(folder)


@pytest.fixture
def known() -> Iterator[None]:
    catalog.read_devices_again()
    yield
    catalog.read_devices_again()


def test_nvidia_s_tool_is_asked(tmp_path: Path) -> None:
    path = tool(tmp_path, "nvidia-smi", f"{A100}\n{A100}\nNVIDIA GeForce RTX 4090, 24564, 12, WDDM\n")
    found = look(path, "linux")
    assert found.problems == ()
    assert found.readings == (
        Reading("NVIDIA", "NVIDIA A100-SXM4-80GB", 81920 * MIB, 1200 * MIB, count=2),
        Reading("NVIDIA", "NVIDIA GeForce RTX 4090", 24564 * MIB, 12 * MIB, is_wddm=True),
    )


def test_a_known_card_has_the_catalog_s_figures_less_what_is_in_use(tmp_path: Path, known: None) -> None:
    found = devices_of(look(tool(tmp_path, "nvidia-smi", A100), "linux"), catalog._known_device)
    (device,) = found.devices
    entry = catalog.device("a100-80gb-sxm")
    assert (device.id, device.name) == ("this-computer", f"This computer: {entry.name}")
    assert (device.usable_bytes, device.in_use_bytes, device.origin) == (entry.usable_bytes, 1200 * MIB, "computer")
    assert usable_bytes(device, Hardware(headroom=0)) == entry.usable_bytes - 1200 * MIB
    more = Hardware(headroom=0, used_by_others_bytes=2 * GIB)
    assert usable_bytes(device, more) == entry.usable_bytes - 2 * GIB


def test_windows_shows_nearly_all_and_spills(tmp_path: Path, known: None) -> None:
    """memory facts: an RTX 4090 under WDDM shows PyTorch 23.99 of 23.99 GiB."""
    path = tool(tmp_path, "nvidia-smi", "NVIDIA GeForce RTX 4090, 24564, 1500, WDDM")
    (device,) = devices_of(look(path, "win32"), catalog._known_device).devices
    assert device.usable_bytes == 24564 * MIB
    assert WDDM_NOTE in device.notes


def test_a_card_that_the_catalog_lacks_has_what_its_driver_says_less_its_reserve(tmp_path: Path, known: None) -> None:
    path = tool(tmp_path, "nvidia-smi", "NVIDIA Quadro Q1, 16384, 0, [N/A]")
    (device,) = devices_of(look(path, "linux"), catalog._known_device).devices
    assert (device.name, device.usable_bytes) == ("This computer: NVIDIA Quadro Q1", (16384 - 480) * MIB)


def test_shared_memory_that_the_tool_does_not_print_is_the_catalog_s(tmp_path: Path, known: None) -> None:
    path = tool(tmp_path, "nvidia-smi", "NVIDIA GB10, [N/A], [N/A], [N/A]")
    (device,) = devices_of(look(path, "linux"), catalog._known_device).devices
    assert device.usable_bytes == catalog.device("dgx-spark-gb10").usable_bytes
    path = tool(tmp_path, "nvidia-smi", "NVIDIA Something, [N/A], [N/A], [N/A]")
    found = devices_of(look(path, "linux"), catalog._known_device)
    assert found.devices == ()
    assert found.problems == ("NVIDIA Something: its driver does not say how much memory it has.",)


def test_amd_s_tool_is_asked(tmp_path: Path, known: None) -> None:
    (device,) = devices_of(look(tool(tmp_path, "rocm-smi", ROCM), "linux"), catalog._known_device).devices
    assert device.usable_bytes == catalog.device("mi300x").usable_bytes
    assert device.in_use_bytes == 297_000_000


def test_amd_s_shared_memory_is_what_the_gpu_may_take_of_the_system_s(tmp_path: Path, known: None) -> None:
    """memory facts: half of 128 GB by default, 62.47 GiB seen by PyTorch; a card with memory of its own has that."""
    card = {"VRAM Total Memory (B)": str(512 * MIB), "GTT Total Memory (B)": str(64 * GIB)}
    text = json.dumps({"card0": {"Card Series": "AMD Radeon 8060S", **card}})
    (device,) = devices_of(look(tool(tmp_path, "rocm-smi", text), "linux"), catalog._known_device).devices
    assert device.usable_bytes == 64 * GIB
    card["VRAM Total Memory (B)"] = "206141652992"
    text = json.dumps({"card0": {"Card Series": "AMD Instinct MI300X", **card}})
    (device,) = devices_of(look(tool(tmp_path, "rocm-smi", text), "linux"), catalog._known_device).devices
    assert device.usable_bytes == catalog.device("mi300x").usable_bytes


@pytest.mark.parametrize(
    ("macos", "wired", "usable_mib"),
    [("15.3", 0, 21845), ("26.1", 0, 25559), ("26.1", 28000, 28000), ("14.0", 28000, 28000)],
)
def test_a_mac_is_asked_what_its_gpu_may_have(
    tmp_path: Path, known: None, macos: str, wired: int, usable_mib: int
) -> None:
    """memory facts: 21845.34 MiB on 32 GB under macOS 15, 0.78 of it under 26, and exactly N where the limit is set."""
    path = tool(tmp_path, "sysctl", MAC.replace("wired_limit_mb: 0", f"wired_limit_mb: {wired}"))
    (device,) = devices_of(look(path, "darwin", macos), catalog._known_device).devices
    assert device.usable_bytes // MIB == usable_mib
    assert device.name == "This computer: Apple M1 Max 32 GB"


def test_an_old_mac_has_no_such_limit(tmp_path: Path) -> None:
    path = tool(tmp_path, "sysctl", MAC.rpartition("iogpu")[0], then="exit 1")
    assert look(path, "darwin", "13.0").readings == (Reading("Apple", "Apple M1 Max", 32 * GIB, macos=13),)


@pytest.mark.parametrize(
    ("prints", "then", "words"),
    [
        ("hello world\n", "", "nvidia-smi printed what is no list of devices: “hello world”."),
        ("", "", "nvidia-smi printed what is no list of devices: nothing."),
        ("\x1b[31mred, 1, 2, 3\n", "", "nvidia-smi printed what is no list of devices: “\\x1b[31mred, 1, 2, 3”."),
        ("Card, 0, 0, [N/A]\n", "", "nvidia-smi printed what is no list of devices: “Card, 0, 0, [N/A]”."),
        ("Card, 99999999999999, 0, [N/A]\n", "", "nvidia-smi printed what is no list of devices"),
        ("Card, 12e3, 0, [N/A]\n", "", "nvidia-smi printed what is no list of devices"),
        ("NVIDIA-SMI has failed\n", "exit 9", "nvidia-smi failed with status 9: “NVIDIA-SMI has failed”."),
    ],
)
def test_nonsense_is_told(tmp_path: Path, prints: str, then: str, words: str) -> None:
    found = look(tool(tmp_path, "nvidia-smi", prints, then=then), "linux")
    assert found.readings == ()
    assert words in found.problems[0]


@pytest.mark.parametrize("prints", ["{", "[]", "{}", '{"card0": {}}', '{"card0": {"Card Series": "x"}}', "null"])
def test_nonsense_of_amd_s_tool_is_told(tmp_path: Path, prints: str) -> None:
    found = look(tool(tmp_path, "rocm-smi", prints), "linux")
    assert found.readings == ()
    assert found.problems[0].startswith("rocm-smi printed what is no list of devices")


def test_a_tool_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computer, "TIME_LIMIT_SECONDS", 0.3)
    late = tmp_path / "late"
    path = tool(tmp_path, "nvidia-smi", A100, then=f"( /bin/sleep 2; /usr/bin/touch '{late}' ) & /bin/sleep 60")
    began = time.monotonic()
    found = look(path, "linux")
    assert time.monotonic() - began < 30  # it waits for no pipe that the child holds
    assert found.readings == ()
    assert found.problems[0].startswith("nvidia-smi gave no answer within")
    time.sleep(2.5)
    assert not late.exists()


def test_a_tool_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    script = tmp_path / "nvidia-smi"
    script.write_bytes(b"\x00\x01 not a program")
    script.chmod(0o755)
    found = look(str(tmp_path), "linux")
    assert found.problems[0].startswith("nvidia-smi could not be started")


def test_one_tool_that_fails_costs_not_the_other(tmp_path: Path) -> None:
    tool(tmp_path, "nvidia-smi", "nonsense")
    found = look(tool(tmp_path, "rocm-smi", ROCM), "linux")
    assert [one.name for one in found.readings] == ["AMD Instinct MI300X"]
    assert len(found.problems) == 1


def test_where_there_is_none_a_word_says_so(tmp_path: Path) -> None:
    assert look(str(tmp_path), "linux").problems == ("no GPU was found: neither nvidia-smi nor rocm-smi is installed.",)
    assert look(str(tmp_path), "darwin", "15.0").problems == ("sysctl is not installed.",)


def test_the_command_takes_it_by_its_id_and_lists_it(
    tmp_path: Path, known: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", tool(tmp_path, "nvidia-smi", A100))
    assert run(["estimate", "meta-llama/Llama-3.2-1B", "--device", "this-computer"]) == 0
    assert run(["fit", "meta-llama/Llama-3.2-1B"]) == 0
    assert " this-computer " in capsys.readouterr().out
    assert run(["catalog", "devices", "this", "computer"]) == 0
    assert re.search(r"this-computer +This computer: A100 SXM4 80 GB +79\.1 GiB", capsys.readouterr().out)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    catalog.read_devices_again()
    assert run(["fit", "meta-llama/Llama-3.2-1B", "--device", "this-computer"]) == 2
    assert run(["catalog", "devices", "this-computer"]) == 2
    assert capsys.readouterr().err.count("this computer: no GPU was found") == 2
    assert run(["fit", "meta-llama/Llama-3.2-1B"]) == 0
    assert "This computer: no GPU was found" in capsys.readouterr().out
