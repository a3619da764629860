"""Start-up and its safety nets: shell first, estimator after the first paint, chart last; errors told in words."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import (
    QEvent,
    QMessageLogContext,
    QObject,
    QSize,
    QTimer,
    QtMsgType,
    Signal,
    qInstallMessageHandler,
)
from PySide6.QtGui import QFileOpenEvent, QIcon
from PySide6.QtWidgets import QApplication

from memplan_gui.icons import icon_file
from memplan_gui.settings import Settings
from memplan_gui.theme import Theme, ThemeChoice
from memplan_gui.timing_marks import exit_when_painted, mark
from memplan_gui.window import Window

ExceptionHook = Callable[[type[BaseException], BaseException, TracebackType | None], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked of the window."""

    file: Path | None = None
    screenshot: Path | None = None
    size: tuple[int, int] | None = None
    theme: ThemeChoice | None = None


class Application(QApplication):
    """Takes files that the system hands over: a double click on macOS comes as an event, not as an argument."""

    file_wanted = Signal(Path)

    def event(self, event: QEvent) -> bool:
        """Open what is asked for."""
        if isinstance(event, QFileOpenEvent):
            self.file_wanted.emit(Path(event.file()))
            return True
        return super().event(event)


class StartUp(QObject):
    """Brings the window up in three strides, each painted before the next: shell, plan and answer, chart."""

    ready = Signal()

    def __init__(self, app: QApplication, window: Window, settings: Settings, options: Options) -> None:
        super().__init__(app)
        self._window, self._settings, self._options = window, settings, options
        self._wanted = options.file
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

        window = self._window
        problem = ""
        document = PlanDocument()
        window.fill(document)
        first = self._wanted or self._file_of_last_time()
        if first is None or not window.files.open_path(first):
            problem = window.answer_panel.notice.text
            window.files.open_example()
        if problem and self._wanted is not None:
            window.answer_panel.notice.say(problem, "error")
        elif not self._settings.knows_the_window and document.path is None:
            window.say_what_first()
        self._wanted = None
        window.answers.finish()
        mark("answer_ready")
        QTimer.singleShot(0, self._load_chart)

    def _file_of_last_time(self) -> Path | None:
        recent = self._settings.recent
        return recent[0] if recent and recent[0].exists() else None

    def _load_chart(self) -> None:
        self._window.load_chart()
        plot = self._window.answer_panel.chart.plot
        assert plot is not None
        if plot.chart is None:
            QTimer.singleShot(0, self._all_painted)  # no estimate, so there is no chart to wait for
        else:
            plot.first_painted.connect(self._all_painted)

    def _all_painted(self) -> None:
        mark("all_painted")
        self.ready.emit()
        if exit_when_painted():
            QTimer.singleShot(0, QApplication.quit)


def start(options: Options) -> int:
    """Open the window and wait until it is closed; return the exit status."""
    qInstallMessageHandler(tell_qt_message)
    app = Application(sys.argv[:1])
    app.setApplicationName("memplan")
    app.setDesktopFileName("memplan")
    app.setWindowIcon(QIcon(str(icon_file("memplan"))))
    settings = Settings(Path()) if options.screenshot else Settings()
    theme = Theme(app, options.theme or settings.theme)
    window = Window(theme, settings)
    sys.excepthook = _hook_for(window)
    if options.size:
        window.resize(QSize(*options.size))
    start_up = StartUp(app, window, settings, options)
    app.file_wanted.connect(start_up.open_when_ready)
    if options.screenshot:
        start_up.ready.connect(lambda: QTimer.singleShot(0, lambda: take_screenshot(window, options)))
    window.show()
    status = app.exec()
    qInstallMessageHandler(None)
    return status


def take_screenshot(window: Window, options: Options) -> None:
    """Write the window as a picture, and end."""
    from memplan_gui.screenshot import save_screenshot

    assert options.screenshot is not None
    QApplication.exit(save_screenshot(window, options.screenshot))


def tell_qt_message(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    """Qt's own messages go to standard error, where a person who looks for them finds them."""
    quiet = ("propagateSizeHints",)  # the offscreen platform has no window manager to tell
    if kind != QtMsgType.QtDebugMsg and not any(word in message for word in quiet) and sys.stderr is not None:
        sys.stderr.write(f"Qt: {message}\n")


def _hook_for(window: Window) -> ExceptionHook:
    """What happens to an error that nothing else took: it is told, and the window stays."""
    told: set[str] = set()

    def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            QApplication.quit()
            return
        details = "".join(traceback.format_exception(kind, error, trace))
        if sys.stderr is not None:
            sys.stderr.write(details)
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
                "Your plan is as it was. Save it, and report what the details say.",
                details,
            ),
        )

    return tell
