"""Start-up and its safety nets: shell, then plan and answer, then what makes the chart interactive; errors in words."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QEvent, QObject, QSize, QTimer, QtMsgType, Signal, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from memplan_gui.settings import Settings
from memplan_gui.theme import Theme, ThemeChoice
from memplan_gui.timing_marks import exit_when_painted, mark
from memplan_gui.window import Window

if TYPE_CHECKING:
    from PySide6.QtCore import QMessageLogContext

ExceptionHook = Callable[[type[BaseException], BaseException, TracebackType | None], None]


class Options(NamedTuple):
    """What the command line asked of the window."""

    file: Path | None = None
    screenshot: Path | None = None
    size: tuple[int, int] | None = None
    theme: ThemeChoice | None = None
    view: str | None = None


class Application(QApplication):
    """Takes files that the system hands over: a double click on macOS comes as an event, not as an argument."""

    file_wanted = Signal(Path)

    def event(self, event: QEvent) -> bool:
        """Open what is asked for."""
        if event.type() == QEvent.Type.FileOpen:
            self.file_wanted.emit(Path(event.file()))  # type: ignore[attr-defined]  # the type says what event it is
            return True
        return super().event(event)


class StartUp(QObject):
    """Brings the window up in three strides, each painted before the next: shell, answer, interactive chart."""

    ready = Signal()

    def __init__(self, app: QApplication, window: Window, settings: Settings, options: Options) -> None:
        super().__init__(app)
        self._window, self._settings = window, settings
        self._wanted = options.file
        self._recovers = options.screenshot is None
        window.painted.connect(self._shell_painted)

    def open_when_ready(self, path: Path) -> None:
        """Open a file now, or as soon as there is a document to put it into."""
        if self._window.is_filled:
            self._window.files.open_path(path)
        else:
            self._wanted = path

    def _shell_painted(self) -> None:
        mark("first_paint")
        QTimer.singleShot(0, self._fill)

    def _fill(self) -> None:
        from memplan_gui.document import PlanDocument
        from memplan_gui.first_plan import first_plan

        window = self._window
        first = first_plan(self._wanted, self._settings.recent)
        window.fill(PlanDocument(first.plan, first.path))
        if first.problem:
            window.answer_panel.notice.say(first.problem, "error")
        elif first.is_example and not self._settings.knows_the_window:
            window.say_what_first()
        if first.path is not None:
            window.files.remember(first.path)
        window.answers.finish()
        if window.answer_panel.chart.chart is None:
            QTimer.singleShot(0, self._all_painted)  # no estimate, so there is no chart to wait for
        else:
            window.answer_panel.chart.first_painted.connect(self._all_painted)

    def _all_painted(self) -> None:
        mark("all_painted")
        if exit_when_painted():
            QTimer.singleShot(0, QApplication.quit)
            return
        QTimer.singleShot(0, self._load_chart)

    def _load_chart(self) -> None:
        self._window.load_chart()
        mark("chart_interactive")
        self.ready.emit()
        if self._recovers:
            self._recover()

    def _recover(self) -> None:
        """Offer what was not saved last time, and keep from now on what is not saved."""
        from memplan_gui.recovery import Recovery, recovery_folder
        from memplan_gui.recovery_offer import offer_leftovers

        window, folder = self._window, recovery_folder()
        recovery = Recovery(window.document, folder, window)
        window.closed.connect(recovery.forget)
        offer_leftovers(window, folder, recovery)


def start(options: Options) -> int:
    """Open the window and wait until it is closed; return the exit status."""
    gc.disable()  # nearly all that the start makes stays; see `settle_memory`
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")  # there are none, and looking for them takes its time
    qInstallMessageHandler(tell_qt_message)
    app = Application(sys.argv[:1])
    app.setApplicationName("memplan")
    app.setDesktopFileName("memplan")
    settings = Settings(forgotten=options.screenshot is not None)
    theme = Theme(app, options.theme or settings.theme)
    window = Window(theme, settings)
    sys.excepthook = _hook_for(window, alone=options.screenshot is not None or exit_when_painted())
    if options.size:
        window.resize(QSize(*options.size))
    start_up = StartUp(app, window, settings, options)
    start_up.ready.connect(settle_memory)
    app.file_wanted.connect(start_up.open_when_ready)
    if options.screenshot:
        start_up.ready.connect(lambda: QTimer.singleShot(0, lambda: take_screenshot(window, options)))
    window.show()
    status = app.exec()
    qInstallMessageHandler(None)
    return status


def settle_memory() -> None:
    """Look through what the start made, once: it stays, and looking again and again would make edits stutter."""
    gc.enable()
    gc.collect()
    gc.freeze()


def take_screenshot(window: Window, options: Options) -> None:
    """Write the window as a picture, and end."""
    from memplan_gui.screenshot import save_screenshot

    assert options.screenshot is not None
    if options.view is not None:
        titles = window.answer_panel.views.titles
        title = next((title for title in titles if title.lower() == options.view.lower()), None)
        if title is None:
            sys.stderr.write(f"There is no view {options.view!r}; there are {', '.join(titles)}.\n")
            QApplication.exit(2)
            return
        window.answer_panel.views.show_view(title)
        view = window.answer_panel.views.view(title)
        if view is not None:
            QTimer.singleShot(0, view.finish)  # when it has been laid out
    path = options.screenshot
    QTimer.singleShot(0, lambda: QApplication.exit(save_screenshot(window, path)))


def tell_qt_message(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    """Qt's own messages go to standard error, where a person who looks for them finds them."""
    quiet = ("propagateSizeHints",)  # the offscreen platform has no window manager to tell
    if kind != QtMsgType.QtDebugMsg and not any(word in message for word in quiet) and sys.stderr is not None:
        sys.stderr.write(f"Qt: {message}\n")


def _hook_for(window: Window, *, alone: bool) -> ExceptionHook:
    """What happens to an error that nothing else took: it is told, and the window stays; `alone` nobody can answer."""
    told: set[str] = set()

    def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            QApplication.quit()
            return
        import traceback

        details = "".join(traceback.format_exception(kind, error, trace))
        if sys.stderr is not None:
            sys.stderr.write(details)
        if alone:
            QApplication.exit(1)
            return
        place = details.splitlines()[-3] if details.count("\n") > 2 else details
        if place in told:  # the same mistake at every paint must not bury the window under dialogs
            return
        told.add(place)
        from memplan_gui.dialogs import show_problem

        QTimer.singleShot(
            0,
            lambda: show_problem(
                window,
                "memplan made a mistake",
                "Save your plan under another name before going on, and report what the details say.",
                details,
            ),
        )

    return tell
