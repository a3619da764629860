"""Prints how large the bundle is, by part, and fails where it is larger than was promised.

python sizes.py FOLDER ARCHIVE --disk MB --archive MB
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

PARTS = {
    "Qt": ("PySide6/Qt/",),
    "PySide6 and shiboken6": ("PySide6", "shiboken6"),
    "numpy": ("numpy",),
    "Python": ("libpython", "python3", "base_library.zip"),
    "pydantic": ("pydantic",),
    "pyqtgraph": ("pyqtgraph",),
    "memplan's data": ("resources",),
}
MB = 1_000_000


def part_of(path: str) -> str:
    """Which part a file belongs to.

    >>> part_of("PySide6/Qt/lib/libQt6Core.so.6"), part_of("resources/catalog/models.json"), part_of("memplan")
    ('Qt', "memplan's data", 'all else')
    """
    return next((part for part, starts in PARTS.items() if path.startswith(starts)), "all else")


def sizes(folder: Path) -> Counter[str]:
    """Bytes on disk by part."""
    found: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            found[part_of(path.relative_to(folder).as_posix().removeprefix("_internal/"))] += path.stat().st_size
    return found


def main() -> int:
    """Print the sizes; return 1 where one is too large."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("packed", type=Path)
    parser.add_argument("--disk", type=float, required=True, help="the most on disk, in MB")
    parser.add_argument("--archive", type=float, required=True, help="the most in the archive, in MB")
    given = parser.parse_args()
    by_part = sizes(given.folder)
    for part, num_bytes in by_part.most_common():
        print(f"{num_bytes / MB:7.1f} MB  {part}")
    whole, packed = sum(by_part.values()) / MB, given.packed.stat().st_size / MB
    print(f"{whole:7.1f} MB  on disk, of at most {given.disk:g}")
    print(f"{packed:7.1f} MB  {given.packed.name}, of at most {given.archive:g}")
    return int(whole > given.disk or packed > given.archive)


if __name__ == "__main__":
    sys.exit(main())
