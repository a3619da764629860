"""Looks for what memplan cannot bring along itself, and says how to get it.

    python setup_check.py python     is this Python new enough, and can it make a virtual environment?
    python setup_check.py offscreen  can Qt draw into memory?
    python setup_check.py window     can Qt open a window on this desktop?

Exit status 0: nothing is missing. Run as root on Debian or Ubuntu, it installs what is missing. It uses the standard
library alone and syntax that old Pythons read, since it runs before anything else is certain.
"""

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from typing import Any, Callable, List, Optional, Sequence, Tuple

Pair = Tuple[str, str]

OLDEST_PYTHON = (3, 11)

# The library that Qt loads, and the Debian package that brings it. Found by adding one package at a time to a bare
# Debian 12 until Qt started.
OFFSCREEN_LIBRARIES = (
    ("libglib-2.0.so.0", "libglib2.0-0"),
    ("libEGL.so.1", "libegl1"),
    ("libGL.so.1", "libgl1"),
    ("libxkbcommon.so.0", "libxkbcommon0"),
    ("libdbus-1.so.3", "libdbus-1-3"),
    ("libfontconfig.so.1", "libfontconfig1"),
)
WINDOW_LIBRARIES = OFFSCREEN_LIBRARIES + (
    ("libxcb-cursor.so.0", "libxcb-cursor0"),
    ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
    ("libxcb-icccm.so.4", "libxcb-icccm4"),
    ("libxcb-keysyms.so.1", "libxcb-keysyms1"),
    ("libxcb-shape.so.0", "libxcb-shape0"),
)
# Debian 13 and Ubuntu 24.04 renamed this one.
NEWER_NAMES = {"libglib2.0-0": "libglib2.0-0t64"}


def python_problem(version: Sequence[Any], executable: str) -> Optional[str]:
    """What is wrong with this Python's version, in words; None when it will do."""
    if tuple(version[:2]) >= OLDEST_PYTHON:
        return None
    wanted = ".".join(str(part) for part in OLDEST_PYTHON)
    found = ".".join(str(part) for part in version[:3])
    return (
        "memplan needs Python {wanted} or newer; {executable} is Python {found}.\n"
        "Install a newer one and name it: make run PYTHON=python{wanted}"
    ).format(wanted=wanted, executable=executable, found=found)


def can_make_environments() -> bool:
    """Whether this Python can make a virtual environment with pip in it (Debian packs that apart)."""
    return all(importlib.util.find_spec(module) for module in ("venv", "ensurepip"))


def missing_libraries(libraries: Sequence[Pair], load: Callable[[str], Any] = ctypes.CDLL) -> List[Pair]:
    """Those of the (library, package) pairs whose library cannot be loaded."""
    missing = []
    for library, package in libraries:
        try:
            load(library)
        except OSError:
            missing.append((library, package))
    return missing


def current_name(package: str) -> str:
    """The package's name on this release of Debian or Ubuntu."""
    newer = NEWER_NAMES.get(package)
    if newer is None:
        return package
    known = subprocess.call(["apt-cache", "show", newer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return newer if known == 0 else package


def install(packages: List[str]) -> bool:
    """Installs Debian packages; True when apt-get succeeded."""
    print("Installing " + " ".join(packages), flush=True)
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"] + packages
    # The first try may fail on a machine whose package lists are old or absent; its errors would only confuse.
    if subprocess.call(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
        return True
    subprocess.call(["apt-get", "update", "-qq"], env=environment)
    return subprocess.call(command, env=environment, stdout=subprocess.DEVNULL) == 0


def is_root() -> bool:
    """Whether this process may install packages."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def how_to_install(missing: Sequence[Pair], which: Callable[[str], Optional[str]] = shutil.which) -> str:
    """The command that brings the missing libraries on this kind of system."""
    if which("apt-get"):
        packages = [current_name(package) for _, package in missing]
        return "sudo apt-get install --no-install-recommends " + " ".join(packages)
    # Package names differ from one RPM distribution to the next; the libraries they provide are named alike.
    provides = " ".join("'{0}()(64bit)'".format(library) for library, _ in missing)
    if which("dnf"):
        return "sudo dnf install " + provides
    if which("zypper"):
        return "sudo zypper install " + provides
    return "install the packages that bring: " + ", ".join(library for library, _ in missing)


def check_python() -> int:
    """Checks the Python that will make the virtual environment."""
    problem = python_problem(sys.version_info, sys.executable)
    if problem:
        print(problem, file=sys.stderr)
        return 1
    if can_make_environments():
        return 0
    package = "python{0}.{1}-venv".format(*sys.version_info[:2])
    if shutil.which("apt-get") and is_root() and install([package]):
        return 0
    print(
        "{0} cannot make virtual environments. On Debian or Ubuntu: sudo apt-get install {1}".format(
            sys.executable, package
        ),
        file=sys.stderr,
    )
    return 1


def check_qt(libraries: Sequence[Pair]) -> int:
    """Checks what Qt needs from the system. Only Linux leaves that to its packages."""
    if sys.platform.startswith("linux"):
        missing = missing_libraries(libraries)
        if missing and is_root() and shutil.which("apt-get"):
            install([current_name(package) for _, package in missing])
            missing = missing_libraries(libraries)
        if missing:
            names = ", ".join(library for library, _ in missing)
            print("Qt needs system libraries that are missing here: " + names, file=sys.stderr)
            print("To get them: " + how_to_install(missing), file=sys.stderr)
            return 1
    return check_import()


def check_offscreen() -> int:
    """Checks what Qt needs to draw into memory."""
    return check_qt(OFFSCREEN_LIBRARIES)


def check_window() -> int:
    """Checks what Qt needs to open a window. Without an X display (none, or Wayland alone) it loads none of X's."""
    return check_qt(WINDOW_LIBRARIES if os.environ.get("DISPLAY") else OFFSCREEN_LIBRARIES)


def check_import() -> int:
    """Checks that Qt's Python packages load; in a process of their own, since a bad library can end it."""
    probe = subprocess.Popen(
        [sys.executable, "-c", "import PySide6.QtWidgets, PySide6.QtSvg"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    errors = probe.communicate()[1]
    if probe.returncode == 0:
        return 0
    reason = errors.strip().splitlines()[-1] if errors.strip() else "exit status {0}".format(probe.returncode)
    print("Qt's Python packages do not load: " + reason, file=sys.stderr)
    print("To get them: {0} -m pip install -c constraints.txt -e '.[gui]'".format(sys.executable), file=sys.stderr)
    return 1


def main(arguments: List[str]) -> int:
    """Runs the named check."""
    checks = {
        "python": check_python,
        "offscreen": check_offscreen,
        "window": check_window,
    }
    if len(arguments) != 1 or arguments[0] not in checks:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    return checks[arguments[0]]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
