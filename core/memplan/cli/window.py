"""The way from the command line to the window, which is another package and may not be installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from memplan.errors import MemplanError

if TYPE_CHECKING:
    from memplan.plan.scenario import Plan
    from memplan.units import Unit

_NEEDED = ("PySide6", "pyqtgraph", "memplan_gui")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


PICTURE_SUFFIXES = (".pdf", ".png", ".svg")
"""Endings of files that only the window's package can draw."""


def run_window(file: str | None = None) -> int:
    """Open the window; return the exit status, after saying in words why it cannot be opened."""
    try:
        return open_on(file)
    except MemplanError as problem:
        sys.stderr.write(f"memplan: {problem}\n")
        return 2


def open_on(file: str | None) -> int:
    """Open the window, on a file where one is given, and wait until it is closed.

    Raises:
        MemplanError: what the window needs is not installed, or there is no display.
    """
    _need_qt("the window", "All commands work without it; see memplan --help.")
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in _DISPLAYS):
        # Qt would end the process with a crash.
        raise MemplanError(
            "there is no display here to open a window on.",
            remedy="`memplan estimate PLAN` answers without one; see memplan --help.",
        )
    # By name and late: the core knows the window's door and nothing behind it.
    gui = import_module("memplan_gui.__main__")
    return int(gui.main([file] if file is not None else []))


def draw_sheets(path: Path, plan: Plan, positions: Sequence[int], unit: Unit) -> None:
    """Draw the design-review sheets of scenarios into a file: all of them into a PDF, the first into a picture.

    Raises:
        MemplanError: what draws is not installed, a scenario cannot be estimated, or the file cannot be written.
    """
    _need_qt(f"a report in {path.suffix}", "Reports in .md, .html and .csv work without it.")
    os.environ.setdefault("QT_HASH_SEED", "0")  # read once, by Qt: otherwise the order of a PDF's fonts changes by run
    import_module("memplan_gui.sheet_files").write_sheets(path, plan, positions, unit)


def _need_qt(what: str, otherwise: str) -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MemplanError(
            f"{what} needs {' and '.join(missing)}, which this installation lacks.",
            remedy=f'Install it: pip install "memplan[gui]". {otherwise}',
        )
