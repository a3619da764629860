"""A window comes up in three strides, each painted before the next: shell, plan and answer, interactive chart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication

from memplan_gui.settings import Settings
from memplan_gui.timing_marks import exit_when_painted, mark
from memplan_gui.unread_imports import unread_imports
from memplan_gui.window import Window

if TYPE_CHECKING:
    from memplan_gui.first_plan import FirstPlan


class StartUp(QObject):
    """Brings one window up. What is in it loads after its shell is painted."""

    ready = Signal()

    def __init__(self, window: Window, settings: Settings, choose: Callable[[], FirstPlan]) -> None:
        """Prepare.

        Args:
            window: the window, not shown yet.
            settings: what is remembered.
            choose: which plan it opens with; asked when the shell is painted.
        """
        super().__init__(window)
        self._window, self._settings, self._choose = window, settings, choose
        self._is_closed = False
        window.closed.connect(self._end)
        window.painted.connect(self._shell_painted)

    def _end(self) -> None:
        """A window that is closed while it comes up takes no further stride."""
        self._is_closed = True

    def _shell_painted(self) -> None:
        mark("first_paint")
        QTimer.singleShot(0, self, self._load)

    def _load(self) -> None:
        if self._is_closed:
            return
        with unread_imports():
            self._fill()

    def _fill(self) -> None:
        from memplan_gui.document import PlanDocument

        window = self._window
        first = self._choose()
        window.fill(PlanDocument(first.plan, first.path, is_example=first.is_example))
        if first.problem:
            window.answer_panel.notice.say(first.problem, "error")
        elif first.is_example and not self._settings.knows_the_window:
            window.help.say_what_first(window.document)
        if first.path is not None:
            window.files.remember(first.path)
        window.answers.finish()
        if window.answer_panel.chart.chart is None:
            QTimer.singleShot(0, self, self._all_painted)  # no estimate, so there is no chart to wait for
        else:
            window.answer_panel.chart.first_painted.connect(self._all_painted)

    def _all_painted(self) -> None:
        mark("all_painted")
        if exit_when_painted():
            QTimer.singleShot(0, QApplication.quit)
            return
        QTimer.singleShot(0, self, self._load_chart)

    def _load_chart(self) -> None:
        if self._is_closed:
            return
        with unread_imports():
            self._window.load_chart()
        mark("chart_interactive")
        self.ready.emit()
