"""`memplan diagnose`: files, standard input, a plan, JSON, and what it ends with."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from memplan.cli.ending import run
from memplan.plan.file import save_plan
from memplan.plan.scenario import Plan
from tests.core.diagnose.oom_cases import PLANNED, RECORDS

CASE = next(case for case in PLANNED if case.id == "oom-036")


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "train.log"
    path.write_text(f"step 1\n[rank5]: {RECORDS['oom-036']['text']}\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def plan(tmp_path: Path) -> str:
    save_plan(Plan(scenarios=(CASE.scenario,)), tmp_path / "run.memplan")
    return str(tmp_path / "run.memplan")


def test_a_log_with_its_plan(log: str, plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", log, "--plan", plan]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "Card 5 (rank 5) ran out of memory at the optimizer step: 3.14 GiB asked for, 1.95 GiB free." in words
    assert "the optimizer step's temporary (all trained weights, one of 8 parts)" in words
    assert re.search(r"Would help \w.*: saves [\d.]+ GiB, enough alone", words)


def test_json_has_null_for_what_is_not_stated(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", log, "--json"]) == 0
    (message,) = json.loads(capsys.readouterr().out)["messages"]
    assert (message["kind"], message["device"], message["rank"], message["line"]) == ("cuda", 5, 5, 2)
    assert message["asked"]["text"] == "3.14 GiB"
    assert message["process"] is None
    assert message["tensors"] == []


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO(RECORDS["oom-107"]["text"].encode())
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=data, isatty=lambda: False))
    assert run(["diagnose"]) == 0
    assert "Card 6 ran out of memory" in capsys.readouterr().out


def test_nothing_found_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "quiet.log").write_text("all went well\n", encoding="utf-8")
    assert run(["diagnose", str(tmp_path / "quiet.log")]) == 2
    assert "No out-of-memory message was found" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["missing.log"], ["--scenario", "x"]])
def test_bad_input_ends_with_2_and_words(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", *arguments]) == 2
    assert capsys.readouterr().err.startswith("memplan: ")


def test_a_scenario_by_its_name(log: str, plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", log, "--plan", plan, "--scenario", "other"]) == 2
    assert "there are 1 'baseline'" in capsys.readouterr().err
    assert run(["diagnose", log, "--plan", plan, "--scenario", "baseline"]) == 0


def test_what_a_file_holds_stays_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "\x1b[2JCUDA out of memory. Tried to allocate \x1b[31m2.50 GiB\x1b[0m (GPU 0; \x07 8.00 GiB total capacity)"
    (tmp_path / "odd.log").write_text(text, encoding="utf-8")
    assert run(["diagnose", str(tmp_path / "odd.log")]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "2.50 GiB asked for" in printed
