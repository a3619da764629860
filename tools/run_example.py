"""Opens memplan's window on a plan; where there is no display, shows the same answer without one.

    python tools/run_example.py PLAN

Without a display it prints the estimate and writes the window, drawn into memory, to build/window.png.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PICTURE = Path("build") / "window.png"
PICTURE_SIZE = "1440x900"
SOME_DO_NOT_FIT = 3  # `memplan estimate` says so by its exit status; it is an answer, not a failure

PLATFORMS_WITHOUT_A_SCREEN = ("offscreen", "minimal")

# Qt ends the process when no display answers, so the question is asked in another one.
_OPEN_A_DISPLAY = "from PySide6.QtGui import QGuiApplication; QGuiApplication(['memplan'])"


def has_display() -> bool:
    """Whether Qt can reach a display: asked of Qt itself, since a set DISPLAY may lead nowhere."""
    if os.environ.get("QT_QPA_PLATFORM") in PLATFORMS_WITHOUT_A_SCREEN:
        return False
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    probe = subprocess.run([sys.executable, "-c", _OPEN_A_DISPLAY], capture_output=True, check=False)
    return probe.returncode == 0


def memplan_command() -> str:
    """The `memplan` command that belongs to this Python."""
    command = shutil.which("memplan", path=str(Path(sys.executable).parent))
    if command is None:
        sys.exit("memplan is not installed in this environment: pip install -c constraints.txt -e '.[gui]'")
    return command


def open_window(plan: Path) -> int:
    """Opens the window, as a double click on the plan does, and waits until it is closed."""
    return subprocess.run([memplan_command(), str(plan)], check=False).returncode


def show_without_display(plan: Path) -> int:
    """Prints the estimate and writes a picture of the window."""
    print("No display here, so no window opens. The estimate of the example plan:\n", flush=True)
    estimate = subprocess.run([memplan_command(), "estimate", str(plan)], check=False)
    if estimate.returncode not in (0, SOME_DO_NOT_FIT):
        return estimate.returncode
    PICTURE.parent.mkdir(exist_ok=True)
    draw = [sys.executable, "-m", "memplan_gui", "--screenshot", str(PICTURE), "--size", PICTURE_SIZE, str(plan)]
    picture = subprocess.run(draw, check=False)
    if picture.returncode == 0:
        print(f"\nThe window as it would look: {PICTURE}")
    return picture.returncode


def main(arguments: list[str]) -> int:
    """Runs with the command line's arguments; returns the exit status."""
    if len(arguments) != 1:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    plan = Path(arguments[0])
    return open_window(plan) if has_display() else show_without_display(plan)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
