"""A broken bundle is found out by its own self-test: on the real one where `make installers` left it in build/."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.packaging_scripts import PACKAGING, ROOT, module

breakages = module("breakages")

BUNDLE = ROOT / "build" / "installers" / "dist" / "memplan"
WHAT_TESTS = (PACKAGING / "breakages.py", ROOT / "core/memplan/cli/self_test.py", ROOT / "gui/memplan_gui/self_test.py")


def is_of_these_sources() -> bool:
    """Whether there is a bundle with the self-test that stands here."""
    program = BUNDLE / "memplan"
    return program.exists() and program.stat().st_mtime > max(path.stat().st_mtime for path in WHAT_TESTS)


@pytest.mark.slow
@pytest.mark.skipif(
    not is_of_these_sources(), reason="no bundle of these sources in build/: `make installers` makes one"
)
@pytest.mark.parametrize("breakage", breakages.BREAKAGES, ids=lambda one: one.name)
def test_the_bundle_finds_out_that_it_is_broken_and_how(breakage: object) -> None:
    assert breakages.complaint(BUNDLE, breakage) == ""


def stand_in(folder: Path, script: str) -> Path:
    """A bundle whose program is a script of the shell, with one file to break."""
    bundle = folder / "memplan"
    (bundle / "_internal").mkdir(parents=True)
    (bundle / "_internal" / "data").write_text("abcdef", encoding="utf-8")
    program = bundle / "memplan"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return bundle


@pytest.mark.skipif(not Path("/bin/sh").exists(), reason="the stand-in's program is a script of the shell")
@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("exit 0", "was not noticed"),
        ("echo oh; exit 1", "is not named (data: gone): ended with 1, oh"),
        ('[ -e "$(dirname "$0")/_internal/data" ] || { echo "FAILED  data: gone"; exit 1; }', ""),
    ],
)
def test_what_goes_unnoticed_or_unnamed_is_said(tmp_path: Path, script: str, complaint: str) -> None:
    breakage = breakages.Breakage(breakages.gone, "data", "data: gone")
    assert breakages.complaint(stand_in(tmp_path, script), breakage).strip() == complaint


@pytest.mark.parametrize("do", [breakages.gone, breakages.cut_short])
def test_the_bundle_itself_stays_whole(tmp_path: Path, do: object) -> None:
    bundle = stand_in(tmp_path, "exit 1")
    breakage = breakages.Breakage(do, "data", "")
    copy = breakages.broken_copy(bundle, breakage, tmp_path / "copy")
    broken, whole = copy / "_internal" / "data", bundle / "_internal" / "data"
    assert not broken.exists() or broken.read_text(encoding="utf-8") == "ab"
    assert whole.read_text(encoding="utf-8") == "abcdef"
