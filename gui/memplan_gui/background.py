"""One piece of work at a time beside the window: the latest that was asked for, what is out of date is dropped."""

from __future__ import annotations

import threading
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

LOOK_MS = 5


class Background(QObject):
    """Runs a call in a thread of its own and hands its result over in the window's."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._thread: threading.Thread | None = None
        self._found: list[object] = []
        self._waiting: tuple[Callable[[], object], Callable[[object], object]] | None = None
        self._taker: Callable[[object], object] | None = None
        self._look = QTimer(self)
        self._look.setInterval(LOOK_MS)
        self._look.timeout.connect(self._take)

    @property
    def is_busy(self) -> bool:
        """Whether something is being worked out, or waits for its turn."""
        return self._taker is not None or self._waiting is not None

    def ask(self, call: Callable[[], object], taker: Callable[[object], object]) -> None:
        """Work something out, and give it to `taker`; what was asked for before is no longer wanted.

        Args:
            call: pure, and knows nothing of Qt; an exception that it raises is its result.
            taker: called in the window's thread.
        """
        self._waiting = call, taker
        self._taker = None
        self._begin()

    def finish(self) -> None:
        """Wait for what was asked for last."""
        while self.is_busy:
            if self._thread is not None:
                self._thread.join()
            self._take()

    def _begin(self) -> None:
        if self._thread is not None or self._waiting is None:
            return
        (call, self._taker), self._waiting = self._waiting, None
        found = self._found = []
        self._thread = threading.Thread(target=_run, args=(call, found), name="memplan background", daemon=True)
        self._thread.start()
        self._look.start()

    def _take(self) -> None:
        if not self._found:
            return
        self._look.stop()
        taker, self._taker, self._thread = self._taker, None, None
        result = self._found.pop()
        self._begin()
        if taker is not None:
            taker(result)


def _run(call: Callable[[], object], found: list[object]) -> None:
    try:
        found.append(call())
    except Exception as problem:
        found.append(problem)
