"""The way from the command line to the window, which is another package and may not be installed."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec

from memplan.errors import MemplanError

_NEEDED = ("PySide6", "pyqtgraph", "memplan_gui")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


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
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MemplanError(
            f"the window needs {' and '.join(missing)}, which this installation lacks.",
            remedy='Install it: pip install "memplan[gui]". All commands work without it; see memplan --help.',
        )
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in _DISPLAYS):
        # Qt would end the process with a crash.
        raise MemplanError(
            "there is no display here to open a window on.",
            remedy="`memplan estimate PLAN` answers without one; see memplan --help.",
        )
    # By name and late: the core knows the window's door and nothing behind it.
    gui = import_module("memplan_gui.__main__")
    return int(gui.main([file] if file is not None else []))
