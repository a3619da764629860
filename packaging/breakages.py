"""Breaks a bundle in the ways that a bundle can be broken, and sees that its self-test finds each out and names it.

python breakages.py BUNDLE      (BUNDLE stays whole: each breakage is done to a copy)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

INSIDE = "_internal"
PLUGINS = "PySide6/Qt/plugins"


def gone(path: Path) -> None:
    """Take the file or folder away."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def cut_short(path: Path) -> None:
    """Leave a third of the file, as a copy does that was broken off."""
    content = path.read_bytes()
    path.unlink()  # the copy's files are links to the bundle's own
    path.write_bytes(content[: len(content) // 3])


@dataclass(frozen=True)
class Breakage:
    """What is done to which file, and the words that must be printed of it, whatever else is."""

    do: Callable[[Path], None]
    path: str
    words: str

    @property
    def name(self) -> str:
        """Of both, for a person."""
        return f"{self.path} {self.do.__name__.replace('_', ' ')}"


BREAKAGES = (
    Breakage(gone, "resources/catalog/models.json", "FAILED  catalogs: "),
    Breakage(cut_short, "resources/catalog/models.json", "FAILED  catalogs: "),
    Breakage(cut_short, "resources/catalog/devices.json", "FAILED  catalogs: "),
    Breakage(gone, "resources/evidence/traced.json", "FAILED  evidence: "),
    Breakage(gone, "resources/help/method.md", "FAILED  help: "),
    Breakage(cut_short, "resources/exchange/keys.json", "FAILED  example of a trainer's recipe: "),
    Breakage(gone, "resources/probe", "FAILED  script that measures a run: "),
    Breakage(cut_short, "resources/examples/llama-3.1-8b.memplan", "FAILED  example plan: "),
    Breakage(gone, "resources/examples/inference-or-training.memplan", "FAILED  examples: "),
    Breakage(gone, "resources/icons/verdict-tight.svg", "verdict-tight.svg"),
    Breakage(cut_short, "resources/icons/check-dark.svg", "FAILED  icons: RuntimeError: check-dark.svg"),
    Breakage(gone, f"{PLUGINS}/platforms/libqxcb.so", "FAILED  Qt's plug-ins: "),
    Breakage(gone, f"{PLUGINS}/platforms/libqoffscreen.so", "FAILED  Qt's plug-ins: "),
    Breakage(gone, f"{PLUGINS}/platforms", "FAILED  Qt's plug-ins: "),
    Breakage(gone, f"{PLUGINS}/imageformats/libqsvg.so", "FAILED  Qt's plug-ins: "),
    Breakage(cut_short, f"{PLUGINS}/iconengines/libqsvgicon.so", "FAILED  Qt's plug-ins: "),
    Breakage(gone, "PySide6/Qt/lib/libQt6XcbQpa.so.6", "libQt6XcbQpa.so.6"),
    Breakage(gone, "PySide6/Qt/lib/libQt6Svg.so.6", "libQt6Svg.so.6"),
    Breakage(gone, "PySide6", "PySide6"),
    Breakage(gone, "PySide6/QtPrintSupport.abi3.so", "QtPrintSupport"),
    Breakage(gone, "numpy", "numpy"),
    Breakage(gone, "pydantic_core", "pydantic_core"),
    Breakage(gone, "libpython*.so*", "libpython"),
    Breakage(cut_short, "base_library.zip", "encodings"),
)


def broken_copy(bundle: Path, breakage: Breakage, folder: Path) -> Path:
    """A copy of the bundle in the folder, broken; its files are links to the bundle's own as long as they are whole."""
    copy = Path(shutil.copytree(bundle, folder / "memplan", copy_function=os.link, symlinks=True))
    (found,) = (copy / INSIDE).glob(breakage.path)
    breakage.do(found)
    return copy


def self_test_of(bundle: Path) -> tuple[int, str]:
    """The exit status of its self-test and what it printed."""
    command = [str(bundle / "memplan"), "--self-test"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr


def complaint(bundle: Path, breakage: Breakage) -> str:
    """What is wrong with how a broken copy's self-test ends; nothing where it finds the breakage out."""
    with tempfile.TemporaryDirectory(dir=bundle.parent) as folder:
        status, printed = self_test_of(broken_copy(bundle, breakage, Path(folder)))
    if status == 0:
        return "was not noticed"
    if breakage.words not in printed:
        return f"is not named ({breakage.words}): ended with {status}, {printed[-400:]}"
    return ""


def main(bundle: Path) -> int:
    """Try all of them; return 1 where one goes unnoticed or unnamed."""
    failed = 0
    for breakage in BREAKAGES:
        problem = complaint(bundle, breakage)
        failed += bool(problem)
        print(f"{'FAILED ' if problem else 'noticed'} {breakage.name} {problem}".rstrip())
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
