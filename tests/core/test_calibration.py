"""Measured peaks beside the estimate: what narrows the band, what the difference is made of, the probe's files, the commands."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from memplan.calibration import AGREES, measured_words
from memplan.cli.ending import run
from memplan.errors import MemplanError
from memplan.estimate import estimate
from memplan.fit import device_fits
from memplan.plan.edit import replaced
from memplan.plan.file import load_plan, parse_plan, plan_bytes, save_plan
from memplan.plan.measured import Measured
from memplan.plan.scenario import Plan, Scenario
from memplan.probe_file import parse_probe, probe_script, read_probes
from memplan.resources import resource
from memplan.result import Estimate
from memplan.units import GIB, MIB

RUN = Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.1-8B"}})
PLAIN = estimate(RUN)
TENSORS = PLAIN.process.allocated


def measured(allocated: float | None = None, reserved: float | None = None, process: float | None = None) -> Estimate:
    """The estimate of the run, with peaks as parts of what its tensors are estimated to take."""
    sizes = (None if share is None else round(share * TENSORS) for share in (allocated, reserved, process))
    names = ("allocated_bytes", "reserved_bytes", "process_bytes")
    return estimate(replaced(RUN, "measured", dict(zip(names, sizes, strict=True))))


def test_without_a_measurement_nothing_changes() -> None:
    assert PLAIN.measured is None
    assert measured_words(PLAIN) == ""


@pytest.mark.parametrize("share", [1 - AGREES / 2, 1.0, 1 + AGREES / 2])
def test_the_band_narrows_inside_the_old_one_and_keeps_the_need(share: float) -> None:
    found = measured(share, share * 1.01, share * 1.02)
    assert PLAIN.need.low <= found.need.low <= found.need_bytes <= found.need.high <= PLAIN.need.high
    assert found.need.high - found.need.low < 0.5 * (PLAIN.need.high - PLAIN.need.low)
    assert found.measured is not None
    assert found.measured.narrows
    assert found.need_bytes == PLAIN.need_bytes


def test_a_measured_run_may_settle_what_was_tight() -> None:
    """Tensors as estimated, little reserved beside them: on a card with a GiB to spare the run fits."""
    shares = {
        "allocated_bytes": TENSORS,
        "reserved_bytes": round(1.002 * TENSORS),
        "process_bytes": round(1.007 * TENSORS),
    }
    need = estimate(replaced(RUN, "measured", shares)).need
    assert need.high < PLAIN.need.high
    without_headroom = replaced(RUN, "hardware.headroom", 0)
    others = estimate(without_headroom).usable_bytes - (need.high + MIB)
    roomy = replaced(without_headroom, "hardware.used_by_others_bytes", others)
    assert estimate(roomy).verdict == "tight"
    assert estimate(replaced(roomy, "measured", shares)).verdict == "fits"


@pytest.mark.parametrize("share", [0.8, 1 - 1.1 * AGREES, 1 + 1.1 * AGREES, 1.5])
def test_another_run_narrows_nothing(share: float) -> None:
    found = measured(share, share * 1.01)
    assert found.need == PLAIN.need
    assert found.measured is not None
    assert not found.measured.narrows


def test_reserved_or_monitor_alone_narrow_nothing() -> None:
    assert measured(None, 1.0, 1.01).need == PLAIN.need


def test_fit_says_the_same_of_the_same_device() -> None:
    scenario = replaced(RUN, "measured", {"allocated_bytes": TENSORS, "reserved_bytes": round(1.01 * TENSORS)})
    answer = estimate(scenario)
    own = next(fit for fit in device_fits(scenario) if fit.device.id == answer.device_id)
    assert (own.need, own.verdict) == (answer.need, answer.verdict)


def test_words_for_each_kind_of_difference() -> None:
    assert "agree with the estimate's" in measured_words(measured(1.005))
    assert "within what estimates of known set-ups are off" in measured_words(measured(1.021))
    assert "not as planned" in measured_words(measured(1.31))
    words = measured_words(measured(1.0, 1.05, 1.06))
    assert "The allocator kept" in words
    assert "Context and libraries took" in words


def test_a_difference_of_the_size_of_a_term_is_named() -> None:
    """A fused optimizer where foreach was planned: the run lacks its copy of the second moments."""
    copy = PLAIN.peak.bytes_by_term["temporary buffers"]
    words = measured_words(measured((TENSORS - copy) / TENSORS))
    assert (
        "is about the gradients" in words or "is about the temporary buffers" in words or "about the weights" in words
    )


def test_the_plans_file_holds_it_and_leaves_out_what_was_not_measured() -> None:
    plain = plan_bytes(Plan(scenarios=(RUN,)))
    assert b"measured" not in plain
    plan = Plan(scenarios=(replaced(RUN, "measured.allocated_bytes", 5 * GIB),))
    again = parse_plan(plan_bytes(plan))
    assert again == plan
    assert again.scenarios[0].measured == Measured(allocated_bytes=5 * GIB)
    with pytest.raises(MemplanError, match=r"measured\.allocated_bytes"):
        parse_plan(plan_bytes(plan).replace(str(5 * GIB).encode(), b"-1"))


def probe(**content: Any) -> bytes:
    return json.dumps({"memplan_probe": 1, "allocated_bytes": 7, "reserved_bytes": 9, **content}).encode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{}", "no file of memplan's probe"),
        (b"[1]", "no file of memplan's probe"),
        (b"nonsense", "JSON"),
        (probe(memplan_probe=2), "version 2"),
        (probe(ran_out=True), "ran out of memory"),
        (probe(allocated_bytes=None), "does not say what tensors held"),
        (probe(allocated_bytes=10), "less was reserved than allocated"),
        (probe(process_bytes="7"), "process_bytes"),
        (probe(process_bytes=True), "process_bytes"),
    ],
)  # fmt: skip
def test_files_that_are_none_of_the_probes(data: bytes, words: str) -> None:
    with pytest.raises(MemplanError, match=words):
        parse_probe(data, "probe.json")


def test_of_several_ranks_the_fullest_counts(tmp_path: Path) -> None:
    for rank, allocated in enumerate((5, 8, 6)):
        (tmp_path / f"{rank}.json").write_bytes(probe(allocated_bytes=allocated))
    assert read_probes(sorted(tmp_path.iterdir())) == Measured(allocated_bytes=8, reserved_bytes=9)


def test_the_probes_script_writes_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script runs here on a stand-in for PyTorch, which no machine of the tests needs to have."""
    cuda = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        current_device=lambda: 0,
        memory_stats=lambda device: {"num_ooms": 0},
        get_device_name=lambda device: "a card",
        get_device_properties=lambda device: SimpleNamespace(total_memory=80 * GIB),
        max_memory_allocated=lambda device: 60 * GIB,
        max_memory_reserved=lambda device: 62 * GIB,
    )
    torch = ModuleType("torch")
    torch.cuda, torch.__version__ = cuda, "2.13.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setenv("RANK", "3")
    monkeypatch.chdir(tmp_path)
    left: list[Any] = []
    monkeypatch.setattr("atexit.register", left.append)
    script = runpy.run_path(str(resource("probe", "memplan_probe.txt")))
    assert left == [script["_write"]]
    monkeypatch.setitem(left[0].__globals__, "_of_this_process", lambda: 62 * GIB + 500 * MIB)
    left[0]()
    (written,) = tmp_path.iterdir()
    assert written.name == "memplan-probe-rank3.json"
    found = parse_probe(written.read_bytes())
    assert found == Measured(allocated_bytes=60 * GIB, reserved_bytes=62 * GIB, process_bytes=62 * GIB + 500 * MIB)


def test_probe_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe"]) == 0
    printed = capsys.readouterr().out
    assert printed == probe_script()
    compile(printed, "memplan_probe.py", "exec")


def test_calibrate_tells_and_saves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_plan(Plan(scenarios=(RUN,)), tmp_path / "run.memplan")
    (tmp_path / "rank0.json").write_bytes(probe(allocated_bytes=TENSORS, reserved_bytes=round(1.01 * TENSORS)))
    arguments = [str(tmp_path / "run.memplan"), str(tmp_path / "rank0.json")]
    assert run(["calibrate", *arguments]) == 0
    assert load_plan(tmp_path / "run.memplan").scenarios[0].measured.is_empty
    assert "Tensors agree with the estimate's" in " ".join(capsys.readouterr().out.split())
    assert run(["calibrate", *arguments, "-o", str(tmp_path / "run.memplan")]) == 0
    assert load_plan(tmp_path / "run.memplan").scenarios[0].measured.allocated_bytes == TENSORS
    capsys.readouterr()
    assert run(["estimate", str(tmp_path / "run.memplan")]) in (0, 3)
    assert "Measured" in capsys.readouterr().out
    assert run(["calibrate", *arguments, "--scenario", "other"]) == 2


def test_the_json_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_plan(Plan(scenarios=(replaced(RUN, "measured.allocated_bytes", TENSORS),)), tmp_path / "run.memplan")
    run(["estimate", str(tmp_path / "run.memplan"), "--json"])
    (scenario,) = json.loads(capsys.readouterr().out)["scenarios"]
    assert scenario["measured"]["allocated_bytes"] == scenario["measured"]["estimated_bytes"] == TENSORS
