"""What is not saved yet is kept beside, so that a crash or a power cut costs two seconds of work at most."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from PySide6.QtCore import QLockFile, QObject, QStandardPaths, QTimer

from memplan import MemplanError, Plan, parse_plan, plan_bytes, read_file, tr, write_file
from memplan_gui.document import PlanDocument

KEPT_WITHIN_MS = 1000
"""How long after the first change that is not kept yet it is: writing at every keystroke would be felt."""
FORMAT = 1
MOST_BYTES = 200_000_000


def recovery_folder() -> Path:
    """Where unsaved work is kept: among the application's own data, not beside the person's plans."""
    return Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.AppLocalDataLocation)) / "recovery"


@dataclass(frozen=True, slots=True)
class Leftover:
    """Unsaved work of a memplan that ended without being closed."""

    plan: Plan
    path: Path | None
    """The plan's own file, which holds an older state; None where there is none."""
    file: Path
    lock: QLockFile
    """Held while the person decides, so that a second memplan does not ask about the same."""

    @property
    def name(self) -> str:
        """What to call it."""
        return self.plan.title or (self.path.stem if self.path else tr("Untitled"))

    def forget(self) -> None:
        """It was opened, or is not wanted."""
        self.file.unlink(missing_ok=True)
        self.lock.unlock()


class Recovery(QObject):
    """Keeps the document's unsaved state in a file of its own until it is saved, or given up."""

    def __init__(self, document: PlanDocument, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document, self._folder = document, folder
        self._file: Path | None = None
        self._lock: QLockFile | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(KEPT_WITHIN_MS)
        self._soon.timeout.connect(self.keep)
        document.changed.connect(self._changed)
        document.file_changed.connect(self._changed)
        document.replaced_whole.connect(self._changed)

    def keep(self) -> bool:
        """Write the document's state, whole or not at all; says whether nothing would be lost now.

        A disk that takes nothing is no news while one works.
        """
        document = self._document
        if not document.modified:
            return True
        content = {
            "recovery": FORMAT,
            "path": str(document.path) if document.path else None,
            "plan": plan_bytes(document.plan).decode(),
        }
        try:
            write_file(self._own_file(), json.dumps(content).encode())
        except (MemplanError, OSError):
            return False
        return True

    def forget(self) -> None:
        """Nothing is unsaved any more, or what is was given up."""
        self._soon.stop()
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.unlock()
        self._file = self._lock = None

    def _changed(self, *_: object) -> None:
        if not self._document.modified:
            self.forget()
        elif not self._soon.isActive():  # not begun anew by each change: typing without a pause must not put it off
            self._soon.start()

    def _own_file(self) -> Path:
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = self._folder / f"{uuid4().hex}.json"
            self._lock = lock_of(self._file)
            self._lock.tryLock(0)
        return self._file


def lock_of(file: Path) -> QLockFile:
    """The lock that a running memplan holds on its file; the system tells when its process is gone."""
    lock = QLockFile(f"{file}.lock")
    lock.setStaleLockTime(0)  # however old: a plan may stay open for weeks
    return lock


def leftovers(folder: Path) -> Iterator[Leftover]:
    """What memplans that are gone did not save, newest first.

    What is not understood is passed over and stays: a newer memplan, or another one's next start, may know what it is.
    """
    for file in _files_in(folder):
        lock = lock_of(file)
        if not lock.tryLock(0):
            continue
        try:
            plan, path = _read(file)
        except (MemplanError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            lock.unlock()
            continue
        yield Leftover(plan, path, file, lock)


def _files_in(folder: Path) -> list[Path]:
    """What may be unsaved work, newest first: a pipe would never end, a link may lead anywhere or nowhere."""
    found: list[tuple[float, Path]] = []
    for file in folder.glob("*.json"):
        with suppress(OSError):
            about = file.lstat()
            if stat.S_ISREG(about.st_mode):
                found.append((about.st_mtime, file))
    return [file for _, file in sorted(found, reverse=True)]


def _read(file: Path) -> tuple[Plan, Path | None]:
    """The plan that was kept, and its own file."""
    content = json.loads(read_file(file, limit_bytes=MOST_BYTES, what="unsaved work"))
    if content["recovery"] != FORMAT:
        raise ValueError(content["recovery"])
    return parse_plan(content["plan"].encode()), _path_of(content["path"])


def _path_of(name: str | None) -> Path | None:
    """The file that is called so; None where no file can be, which is no reason to lose the work."""
    if not name or "\0" in name:
        return None
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return None
    return Path(name)
