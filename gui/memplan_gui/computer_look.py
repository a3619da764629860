"""Asks this computer what it has, while the window goes on."""

from __future__ import annotations

import threading

from PySide6.QtCore import QObject, QTimer, Signal

from memplan import catalog

LOOK_MS = 50


class ComputerLook(QObject):
    """Asks this computer what it has, beside the window: its tools may take two seconds."""

    found = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._thread: threading.Thread | None = None
        self._poll = QTimer(self)
        self._poll.setInterval(LOOK_MS)
        self._poll.timeout.connect(self._look)

    def start(self) -> None:
        """Ask, where that has not been done."""
        if catalog.known_computer() is None and not self._poll.isActive():
            self._thread = threading.Thread(target=catalog.this_computer, name="this computer", daemon=True)
            self._thread.start()
            self._poll.start()

    def _look(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        self._poll.stop()
        if catalog.known_computer() is not None:
            self.found.emit()
