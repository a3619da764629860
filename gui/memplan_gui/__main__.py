"""`python -m memplan_gui [--screenshot FILE [--size WxH] [--theme light|dark]] [PLAN]`: open the window."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path


def size(text: str) -> tuple[int, int]:
    """Read a window size, "1280x800"."""
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 1280x800.")
    return int(width), int(height)


def parser() -> argparse.ArgumentParser:
    """What the window's own command line takes."""
    result = argparse.ArgumentParser(prog="memplan_gui", description="Open memplan's window.")
    result.add_argument("file", metavar="PLAN", nargs="?", type=Path, help="a plan, or a model's config.json")
    result.add_argument("--screenshot", metavar="FILE", type=Path, help="write the window to a PNG file and end")
    result.add_argument("--size", type=size, metavar="WxH", help="the window's size, such as 1280x800")
    result.add_argument("--theme", choices=("light", "dark"), help="instead of the remembered one")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Open the window and wait until it is closed; return the exit status."""
    given = parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if given.screenshot and sys.platform.startswith("linux") and not has_display:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from memplan_gui.application import Options, start

    return start(Options(given.file, given.screenshot, given.size, given.theme))


if __name__ == "__main__":
    sys.exit(main())
