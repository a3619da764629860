"""The program as a whole: its windows, what the system hands over, what becomes of errors, pictures."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QEvent, QLocale, QSize, QTimer, Signal
from PySide6.QtWidgets import QApplication

from memplan import set_screen_numbers
from memplan_gui.collecting import PauseCollector, settle_memory
from memplan_gui.language import speak
from memplan_gui.mistakes import Mistakes
from memplan_gui.number_locale import numbers_of
from memplan_gui.settings import Settings
from memplan_gui.theme import Theme, ThemeChoice
from memplan_gui.timing_marks import exit_when_painted
from memplan_gui.window import Window
from memplan_gui.windows import Windows


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
    activated = Signal()
    """The person turned to memplan; on macOS also where it has no window."""

    def event(self, event: QEvent) -> bool:
        """Open what is asked for."""
        if event.type() == QEvent.Type.FileOpen:
            self.file_wanted.emit(Path(event.file()))  # type: ignore[attr-defined]  # the type says what event it is
            return True
        if event.type() == QEvent.Type.ApplicationActivate:
            self.activated.emit()
        return super().event(event)


def start(options: Options) -> int:
    """Open the window and wait until the last one is closed; return the exit status."""
    gc.disable()  # nearly all that the start makes stays; see `settle_memory`
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")  # there are none, and looking for them takes its time
    from PySide6.QtCore import qInstallMessageHandler

    for_picture = options.screenshot is not None
    app = Application(sys.argv[:1])
    app.setApplicationName("memplan")
    app.setDesktopFileName("memplan")
    speak(app)
    set_screen_numbers(numbers_of(QLocale.system()))
    settings = Settings(forgotten=for_picture)
    windows = Windows(Theme(app, options.theme or settings.theme), settings, keeps=not for_picture)
    mistakes = Mistakes(
        windows.keep, lambda: windows.front, windows.private_words, alone=for_picture or exit_when_painted()
    )
    mistakes.listen()
    start_up = windows.open_first(options.file)
    window = windows.windows[0]
    if options.size:
        window.resize(QSize(*options.size))
    collector = PauseCollector(app)
    windows.ready.connect(lambda _: settle_memory())
    windows.ready.connect(lambda ready: ready.document.changed.connect(collector.later))
    windows.closed.connect(settle_memory)
    app.file_wanted.connect(windows.open_file)
    if for_picture:
        start_up.ready.connect(lambda: QTimer.singleShot(0, lambda: take_screenshot(window, options)))
        app.aboutToQuit.connect(window.hide)  # nobody closes it: what follows from being hidden needs it whole
    if stays_without_windows(sys.platform):
        _stay_without_windows(app, windows)
    window.show()
    status = app.exec()
    qInstallMessageHandler(None)
    return status


def stays_without_windows(platform: str) -> bool:
    """Whether a program goes on when its last window is closed.

    >>> stays_without_windows("darwin"), stays_without_windows("linux")
    (True, False)
    """
    return platform == "darwin"


def _stay_without_windows(app: Application, windows: Windows) -> None:
    """As on macOS: a menu bar of its own while there is no window, and a new window when one turns to the program."""
    from memplan_gui.windowless_menu import windowless_menu

    app.setQuitOnLastWindowClosed(False)
    menu = windowless_menu(windows)
    app.aboutToQuit.connect(menu.deleteLater)

    def open_where_none_is() -> None:
        if not windows.windows:
            windows.open_new()

    app.activated.connect(open_where_none_is)


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

    def save() -> None:
        QApplication.processEvents()  # scroll bars go once what they scroll has its size
        QApplication.exit(save_screenshot(window, path))

    QTimer.singleShot(0, save)
