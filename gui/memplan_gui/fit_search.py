"""The search for what makes a scenario fit, in slices of time between which the window has its turn."""

from __future__ import annotations

from collections.abc import Generator

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

from memplan import MemplanError, Preferences, Proposal, Scenario, making_fit

QUIET_MS = 120
"""A search begins when nothing has been edited for so long."""
SLICE_MS = 5


class FitSearch(QObject):
    """One search at a time, the latest that was asked for. No thread: a search that is stopped is gone."""

    progressed = Signal(float)
    """How much of the work is done, from 0 to 1."""
    found = Signal(object)
    """The `Proposal`."""
    failed = Signal(str)
    """Why there is none, in words."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._steps: Generator[float, None, Proposal] | None = None
        self._clock = QElapsedTimer()
        self._turn = QTimer(self)
        self._turn.setSingleShot(True)
        self._turn.timeout.connect(self._go_on)

    @property
    def is_running(self) -> bool:
        """Whether there is something left to search."""
        return self._steps is not None

    def start(self, scenario: Scenario, preferences: Preferences) -> None:
        """Search for this instead of what was asked before, once nothing has been asked a while."""
        self.stop()
        self._steps = making_fit(scenario, preferences)
        self._turn.start(QUIET_MS)

    def stop(self) -> None:
        """Search no further."""
        self._turn.stop()
        if self._steps is not None:
            self._steps.close()
            self._steps = None

    def finish(self) -> None:
        """Search on to the end, at once."""
        while self._steps is not None:
            self._go_on()

    def _go_on(self) -> None:
        steps, done = self._steps, 0.0
        if steps is None:
            return
        self._clock.start()
        try:
            while self._clock.elapsed() < SLICE_MS:
                done = next(steps)
        except StopIteration as end:
            self._steps = None
            self._turn.stop()
            self.found.emit(end.value)
            return
        except MemplanError as problem:
            self._steps = None
            self.failed.emit(str(problem))
            return
        self.progressed.emit(done)
        if self._steps is steps:
            self._turn.start(0)
