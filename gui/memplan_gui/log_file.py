"""A small log that rotates, for reports of what went wrong. Nothing personal is in it, and no failure of it is told."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from functools import lru_cache
from logging.handlers import RotatingFileHandler
from pathlib import Path

from PySide6.QtCore import QStandardPaths

from memplan_gui.presenters.mistake import without_personal

MOST_BYTES = 200_000
NUM_OLDER = 1
NAME = "memplan.log"


def log_path() -> Path:
    """Where the log is: in the folder that the platform has for such."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Logs" / "memplan" / NAME
    place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.StateLocation)
    return Path(place) / NAME


@lru_cache
def log() -> logging.Logger:
    """The log; one that takes everything and keeps nothing where no file can be written."""
    return open_log(log_path())


def open_log(path: Path) -> logging.Logger:
    """A log in a file, which is made when something is first said."""
    result = logging.Logger("memplan", logging.INFO)  # of its own: what a library logs does not come here
    handler: logging.Handler
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = QuietHandler(path, maxBytes=MOST_BYTES, backupCount=NUM_OLDER, encoding="utf-8", delay=True)
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(Impersonal("%(asctime)s %(levelname)s %(message)s"))
    result.addHandler(handler)
    return result


class Impersonal(logging.Formatter):
    """Takes out what is personal, whoever wrote the line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without what is personal."""
        return without_personal(super().format(record))


class QuietHandler(RotatingFileHandler):
    """A full disk, or a folder that went away, is no reason to stop or to complain."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's own name
        """Go on."""

    def close(self) -> None:
        """Close the file; what it still holds may find no room."""
        with suppress(OSError):
            super().close()
