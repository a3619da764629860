"""A whole installation passes its own test; one that lacks a file or a module is found out, and says what."""

from __future__ import annotations

import re
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


OF_THE_MENU = {"inference-or-training.memplan"}


def is_the_windows(path: Path) -> bool:
    """Whether only the window shows it: its part of the test looks at those."""
    return path.parent.name in {"icons", "help"} or path.name in OF_THE_MENU or "translations" in path.parts


RESOURCES = sorted(
    path.relative_to(ROOT / "resources").as_posix()
    for path in (ROOT / "resources").rglob("*")
    if path.is_file() and not is_the_windows(path)
)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation of the core alone."""
    folder = tmp_path_factory.mktemp("core")
    shutil.copytree(ROOT / "core", folder / "core", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "resources", folder / "resources")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("missing", RESOURCES)
def test_whichever_file_is_missing_is_named(copied: Path, missing: str) -> None:
    file, aside = copied / "resources" / missing, copied / "aside"
    file.rename(aside)
    try:
        done = self_test_in(copied)
    finally:
        aside.rename(file)
    assert done.returncode == 1
    assert re.search(rf"FAILED .*{re.escape(file.name)}", done.stdout)
    assert done.stdout.endswith("this installation is incomplete or damaged.\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cut", "found"),
    [
        ("catalog/models.json", "catalogs"),
        ("evidence/measured.json", "evidence"),
        ("exchange/keys.json", "example of a"),
    ],
)
def test_a_file_that_is_cut_short_is_found_out(copied: Path, cut: str, found: str) -> None:
    file = copied / "resources" / cut
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 3])
    try:
        done = self_test_in(copied)
    finally:
        file.write_bytes(whole)
    assert done.returncode == 1
    assert f"FAILED  {found}" in done.stdout


def self_test_in(folder: Path) -> subprocess.CompletedProcess[str]:
    """The self-test of the installation in the folder."""
    code = f"import sys; sys.path.insert(0, {str(folder / 'core')!r}); sys.argv[1:] = ['--self-test']\n"
    code += "sys.modules['PySide6'] = None  # the window tests itself elsewhere\nfrom memplan.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)


def test_a_family_that_is_not_there_is_found_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memplan.architecture.families.MODULES", ("llama", "of_tomorrow"))
    monkeypatch.setattr(tested, "_window_steps", lambda: iter(()))
    assert tested.self_test() == 1
    assert "FAILED  model types: ModuleNotFoundError" in capsys.readouterr().out
