"""The windows that are open: each with a plan, a history and a kept copy of unsaved work of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QTimer, Signal
from PySide6.QtWidgets import QApplication

from memplan_gui.settings import Settings
from memplan_gui.start_up import StartUp
from memplan_gui.theme import Theme
from memplan_gui.window import Window

if TYPE_CHECKING:
    from memplan_gui.first_plan import FirstPlan
    from memplan_gui.recovery import Leftover, Recovery

STEP = QPoint(28, 28)
"""How far a window stands from the one that it was opened from."""


class Windows(QObject):
    """Opens windows, finds the one that has a file, and asks each once before all are closed."""

    ready = Signal(object)
    """A `Window` can be worked with."""
    closed = Signal()
    """A window was closed, and is gone."""

    def __init__(self, theme: Theme, settings: Settings, *, keeps: bool = True) -> None:
        """Prepare.

        Args:
            theme: the look of all windows.
            settings: what is remembered.
            keeps: whether unsaved work is kept beside, and offered again; not for pictures.
        """
        super().__init__()
        self._theme, self._settings, self._keeps = theme, settings, keeps
        self._open: dict[Window, Recovery | None] = {}
        self._closing: list[Window] = []
        self._waiting: list[Path] = []

    @property
    def windows(self) -> tuple[Window, ...]:
        """All that are open, the oldest first."""
        return tuple(self._open)

    @property
    def front(self) -> Window | None:
        """The one that is worked with, or was opened last."""
        active = QApplication.activeWindow()
        return active if isinstance(active, Window) and active in self._open else next(reversed(self._open), None)

    def open_first(self, path: Path | None) -> StartUp:
        """Open the first window: on a file, on the plan of last time, or on the example."""

        def choose() -> FirstPlan:
            from memplan_gui.first_plan import first_plan

            wanted = self._waiting.pop() if self._waiting else path
            return first_plan(wanted, self._settings.recent)

        start_up = self._window(choose)
        start_up.ready.connect(self._offer_leftovers)
        return start_up

    def open_new(self) -> StartUp:
        """Open a window on a new plan, whose title is to be typed."""

        def choose() -> FirstPlan:
            from memplan_gui.document import new_plan
            from memplan_gui.first_plan import FirstPlan

            return FirstPlan(new_plan(), is_example=False)

        start_up = self._window(choose)
        window = self.windows[-1]
        start_up.ready.connect(lambda: window.plan_panel.choose_title())
        window.show()
        return start_up

    def open_file(self, path: Path) -> None:
        """Open what the system hands over: where it is open, in a window that holds nothing yet, or in a new one."""
        from memplan_gui.window_of_file import raise_window_of

        if raise_window_of(path):
            return
        if self._open and not any(window.is_filled for window in self._open):
            self._waiting.append(path)  # the first window is not that far
            return
        free = next((window for window in self._open if _is_untouched(window)), None)
        if free is not None:
            free.files.open_path(path)
        else:
            self._window(lambda: _plan_of(path))
            self.windows[-1].show()

    def keep(self) -> bool:
        """Keep what is not saved in any window; says whether all of it is kept."""
        kept = [_is_saved(window) if recovery is None else recovery.keep() for window, recovery in self._open.items()]
        return all(kept)

    def private_words(self) -> Iterator[str]:
        """What persons wrote into the open plans, and how their files are called."""
        for window in self._open:
            if window.is_filled:
                document = window.document
                yield from (document.plan.title, document.plan.notes, *document.plan.notes.splitlines())
                yield from (scenario.name for scenario in document.plan.scenarios)
                yield from (scenario.model.name for scenario in document.plan.scenarios if scenario.model.name)
                yield from (document.path.name, document.path.stem) if document.path else ()

    def quit(self) -> None:
        """Ask about each window with changes that are not saved, once; close all where none of them stays."""
        for window in self.windows:
            if window.is_filled and window.document.modified:
                window.raise_()
                window.activateWindow()
                if not window.files.may_go_on():
                    return
        for window in self.windows:
            window.close_unasked()
        QApplication.quit()  # where the program would go on without a window

    def _window(self, choose: Callable[[], FirstPlan]) -> StartUp:
        window = Window(self._theme, self._settings)
        before = self.front
        if before is not None:
            window.resize(before.size())
            window.move(before.pos() + STEP)
        self._open[window] = None
        window.closed.connect(lambda: self._forget(window))
        window.quit_wanted.connect(self.quit)
        window.new_wanted.connect(self.open_new)
        start_up = StartUp(window, self._settings, choose)
        start_up.ready.connect(lambda: self._ready(window))
        return start_up

    def _ready(self, window: Window) -> None:
        if self._keeps:
            self._guard(window)
        for path in self._waiting:
            self.open_file(path)
        self._waiting.clear()
        self.ready.emit(window)

    def _guard(self, window: Window) -> None:
        """Keep from now on what is not saved, and notice who else writes the plan's file."""
        from memplan_gui.file_notice import FileNotice
        from memplan_gui.file_watch import FileWatch
        from memplan_gui.recovery import Recovery, recovery_folder

        recovery = self._open[window] = Recovery(window.document, recovery_folder(), window)
        window.closed.connect(recovery.forget)
        watch = FileWatch(window.document, window)
        FileNotice(watch, window.document, window.files, window.answer_panel.file_notice)

    def _offer_leftovers(self) -> None:
        """Offer what was not saved last time."""
        if self._keeps:
            from memplan_gui.recovery import recovery_folder
            from memplan_gui.recovery_offer import offer_leftovers

            offer_leftovers(self.windows[0], recovery_folder(), self._open_leftover)

    def _open_leftover(self, leftover: Leftover) -> None:
        """In the window that shows its file, in the first where nothing was begun, or in one of its own."""
        same = (window for window in self.windows if _is_saved(window) and _shows(window, leftover.path))
        free = next(chain(same, filter(_is_untouched, self.windows)), None)
        if free is not None:
            self._take(leftover, free)
            return
        start_up = self.open_new()
        window = self.windows[-1]
        start_up.ready.connect(lambda: self._take(leftover, window))

    def _take(self, leftover: Leftover, window: Window) -> None:
        window.document.begin(leftover.plan, leftover.path, is_recovered=True)
        recovery = self._open.get(window)
        if recovery is not None:
            recovery.keep()  # before the old file goes: there is no moment without one
        leftover.forget()

    def _forget(self, window: Window) -> None:
        """Let go of a window that was closed, though not before Qt is done with closing it."""
        from PySide6.QtCore import Qt  # which takes long to load: nothing before the first paint needs it

        window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        del self._open[window]
        self._closing.append(window)
        QTimer.singleShot(0, self, self._let_go)

    def _let_go(self) -> None:
        self._closing.clear()
        self.closed.emit()


def _is_saved(window: Window) -> bool:
    return not window.is_filled or not window.document.modified


def _shows(window: Window, path: Path | None) -> bool:
    return window.is_filled and path is not None and window.document.path == path


def _is_untouched(window: Window) -> bool:
    """Whether nothing is lost when another plan takes this one's place."""
    return window.is_filled and window.document.path is None and not window.document.modified


def _plan_of(path: Path) -> FirstPlan:
    """The plan of a file; a new one under the reason why the file has none."""
    from memplan import MemplanError
    from memplan_gui.document import new_plan
    from memplan_gui.first_plan import FirstPlan, read_any

    try:
        return read_any(path)
    except MemplanError as problem:
        return FirstPlan(new_plan(), None, str(problem))
