"""Open the window.

`python -m memplan_gui [--screenshot FILE [--size WxH] [--theme light|dark] [--view NAME]] [PLAN]`
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def size(text: str) -> tuple[int, int]:
    """Read a window size, "1280x800"."""
    import argparse

    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 1280x800.")
    return int(width), int(height)


def parser() -> argparse.ArgumentParser:
    """What the window's own command line takes."""
    import argparse

    result = argparse.ArgumentParser(prog="memplan_gui", description="Open memplan's window.")
    result.add_argument("file", metavar="PLAN", nargs="?", type=Path, help="a plan, or a model's config.json")
    result.add_argument("--screenshot", metavar="FILE", type=Path, help="write the window to a PNG file and end")
    result.add_argument("--size", type=size, metavar="WxH", help="the window's size, such as 1280x800")
    result.add_argument("--theme", choices=("light", "dark"), help="instead of the remembered one")
    result.add_argument("--view", metavar="NAME", help="the view to show in the screenshot, such as memory")
    return result


def options(arguments: Sequence[str]) -> argparse.Namespace | None:
    """What the arguments ask for; None for at most a file, which is read without loading what reads options."""
    if not any(argument.startswith("-") for argument in arguments) and len(arguments) < 2:
        return None
    return parser().parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Open the window and wait until it is closed; return the exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    given = options(words)
    has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if given and given.screenshot and sys.platform.startswith("linux") and not has_display:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ.setdefault("QT_HASH_SEED", "0")  # otherwise a PDF lists its fonts in an order that changes by run
    from memplan_gui.application import Options, start

    if given is None:
        return start(Options(Path(words[0]) if words else None))
    return start(Options(given.file, given.screenshot, given.size, given.theme, given.view))


if __name__ == "__main__":
    sys.exit(main())
