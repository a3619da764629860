"""Reads which macOS each library of an application needs, and fails where one needs a newer than Info.plist says.

python minimum_system.py FOLDER      (needs macholib, which PyInstaller brings along on macOS)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from bundle_info import info_plist
from macholib.mach_o import LC_BUILD_VERSION, LC_VERSION_MIN_MACOSX
from macholib.MachO import MachO

MAGIC = {b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"}
"""How a 64-bit Mach-O file begins, and one for several processors."""

TAKEN_AT_THEIR_WHEELS_WORD = "abi3"
"""In the names of PySide6's own modules: in 6.11.3 they say macOS 15, their wheel and the Qt beside them say 13. The
loader holds a library to the functions it needs, not to what it says."""


def needed(file: Path) -> tuple[int, int]:
    """The macOS that the file says it needs, of the processor that needs the newest; (0, 0) where it says nothing.

    Versions are packed as xxxx.yy.zz into 32 bits: `man 5 Mach-O`, LC_BUILD_VERSION.
    """
    found = [(0, 0)]
    for header in MachO(str(file)).headers:
        for load, command, _ in header.commands:
            if load.cmd == LC_BUILD_VERSION:
                found.append((command.minos >> 16, command.minos >> 8 & 0xFF))
            elif load.cmd == LC_VERSION_MIN_MACOSX:
                found.append((command.version >> 16, command.version >> 8 & 0xFF))
    return max(found)


def programs(folder: Path) -> Iterator[Path]:
    """Every Mach-O file under the folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.suffix != ".a":
            with path.open("rb") as file:
                if file.read(4) in MAGIC:
                    yield path


def main(folder: Path) -> int:
    """Print what needs most; return 1 where that is more than Info.plist says, or where there is nothing to read."""
    major, minor = info_plist("0")["LSMinimumSystemVersion"].split(".")
    said = (int(major), int(minor))
    found = {path: needed(path) for path in programs(folder) if TAKEN_AT_THEIR_WHEELS_WORD not in path.name}
    if not found:
        print(f"{folder} holds no program for macOS.")
        return 1
    newest = max(found.values())
    print(f"{len(found)} programs and libraries need macOS {newest[0]}.{newest[1]}; Info.plist says {major}.{minor}")
    for path, version in found.items():
        if version > said:
            print(f"needs macOS {version[0]}.{version[1]}: {path.relative_to(folder)}")
    return int(newest > said)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
