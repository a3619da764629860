"""Whether a file still is what was read or written: another window, or another program, may have saved it since."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What a file held at some moment."""

    path: Path
    digest: str

    @property
    def differs(self) -> bool:
        """Whether the file holds something else now. One that is gone holds nothing that could be lost."""
        now = stamp_of(self.path)
        return now is not None and now != self


def stamp_of_bytes(path: Path, data: bytes) -> FileStamp:
    """The stamp of a file that holds this."""
    return FileStamp(path, hashlib.sha256(data).hexdigest())


def stamp_of(path: Path | None) -> FileStamp | None:
    """What a file holds now; None where there is no file that can be read."""
    data = content_of(path) if path is not None else None
    return stamp_of_bytes(path, data) if path is not None and data is not None else None


def content_of(path: Path) -> bytes | None:
    """What a file holds; None where there is none, it may not be read, or what stands there is no file with an end."""
    try:
        return path.read_bytes() if path.is_file() else None
    except (OSError, ValueError):
        return None
