"""The window as a picture, for the documentation and for a look without a display."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtWidgets import QWidget

from memplan import MemplanError, write_file


def save_screenshot(window: QWidget, path: Path) -> int:
    """Write the window to a PNG file; return the exit status."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    window.grab().toImage().save(buffer, "PNG")  # type: ignore[call-overload]  # the stub knows only bytes for the format
    try:
        write_file(path, bytes(buffer.data().data()))
    except MemplanError as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    return 0
