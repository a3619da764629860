"""A whole installation passes its own test; one that lacks a file or a module is found out, and says what."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memplan.cli import self_test as tested
from memplan.cli.ending import run

ROOT = Path(__file__).parents[2]


def test_a_whole_installation_passes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tested, "_window_steps", lambda: iter(()))  # its own test opens the window
    assert run(["--self-test"]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith("All is well.\n")
    assert printed.count("ok  ") == len(list(tested.core_steps()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "found"), [("catalog", "catalogs"), ("help", "help"), ("examples", "example plan")]
)
def test_a_broken_installation_is_found_out(tmp_path: Path, missing: str, found: str) -> None:
    shutil.copytree(ROOT / "core", tmp_path / "core", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "resources", tmp_path / "resources", ignore=shutil.ignore_patterns(missing))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "core")}
    done = subprocess.run(
        [sys.executable, "-m", "memplan", "--self-test"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"FAILED  {found}: MemplanError: " in done.stdout
    assert done.stdout.endswith("this installation is incomplete or damaged.\n")


def test_a_family_that_is_not_there_is_found_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memplan.architecture.families.MODULES", ("llama", "of_tomorrow"))
    monkeypatch.setattr(tested, "_window_steps", lambda: iter(()))
    assert tested.self_test() == 1
    assert "FAILED  model types: ModuleNotFoundError" in capsys.readouterr().out
