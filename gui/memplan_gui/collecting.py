"""When Python looks for cycles: never through what the start made, and through the rest while nobody edits."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

PAUSE_MS = 2000
"""After so long without an edit a pause of the program is not felt."""
_NEVER = 1_000_000
"""Of how many collections of the middle generation one goes through everything."""


def settle_memory() -> None:
    """Look through what was made or closed, once: it stays, and looking again and again would make edits stutter.

    From here on nothing looks through everything by itself: that took 5 to 25 ms of an edit in thirty.
    """
    gc.enable()
    gc.set_threshold(*gc.get_threshold()[:2], _NEVER)
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class PauseCollector(QObject):
    """Looks for cycles in what edits left behind, in the next pause."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timer = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._timer.timeout.connect(gc.collect)

    def later(self) -> None:
        """Something was edited: a pause begins anew."""
        self._timer.start()
