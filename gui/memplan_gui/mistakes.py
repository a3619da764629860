"""Where errors end that nothing else took: kept work first, then the log, then a dialog that never comes in a row."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, QtMsgType, Signal
from PySide6.QtWidgets import QApplication, QWidget

if TYPE_CHECKING:
    from PySide6.QtCore import QMessageLogContext

MOST_DIALOGS = 3
"""After so many in one run a dialog more says nothing new; the log goes on."""
QUIET = ("This plugin does not support",)  # the offscreen platform has no window manager to tell
_LEVELS = {QtMsgType.QtWarningMsg: 30, QtMsgType.QtCriticalMsg: 40, QtMsgType.QtFatalMsg: 50}


class Mistakes(QObject):
    """Hears of every unexpected error, in the window's thread and beside it, and of Qt's own messages."""

    _heard = Signal(object)

    def __init__(
        self,
        keep: Callable[[], bool],
        parent_of_dialog: Callable[[], QWidget | None],
        private: Callable[[], Iterable[str]],
        *,
        alone: bool = False,
    ) -> None:
        """Wire.

        Args:
            keep: keeps what is not saved, and says whether nothing can be lost now.
            parent_of_dialog: the window to tell.
            private: words of the open plans, which no report holds.
            alone: whether nobody is there to answer, so that an error ends the program.
        """
        super().__init__()
        self._keep, self._parent_of_dialog, self._private = keep, parent_of_dialog, private
        self._alone = alone
        self._told: set[str] = set()
        self._num_dialogs = 0
        self._is_telling = False
        self._heard.connect(self._tell)  # from another thread, Qt brings it over

    def listen(self) -> None:
        """Take the place of what Python and Qt would do with errors and messages."""
        from PySide6.QtCore import qInstallMessageHandler

        sys.excepthook = self.take
        threading.excepthook = lambda found: self.take(found.exc_type, found.exc_value, found.exc_traceback)
        qInstallMessageHandler(self.take_qt_message)

    def take(
        self, kind: type[BaseException], mistake: BaseException | None, trace: TracebackType | None = None
    ) -> None:
        """Take an error, from any thread."""
        if issubclass(kind, KeyboardInterrupt):
            QApplication.quit()
        elif mistake is not None and not issubclass(kind, SystemExit):
            _say(mistake)
            self._heard.emit(mistake)

    def take_qt_message(self, kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
        """Take a message of Qt. After a fatal one Qt ends the process: what is not saved is kept first."""
        tell_qt_message(kind, context, message)
        if kind in _LEVELS and not self._alone and not any(word in message for word in QUIET):
            _note(_LEVELS[kind], f"Qt: {message}")
        if kind == QtMsgType.QtFatalMsg:
            self._kept()

    def _tell(self, mistake: BaseException) -> None:
        if self._alone:
            QApplication.exit(1)
            return
        from memplan_gui.presenters.mistake import mistake_place

        place = mistake_place(mistake)
        if place in self._told:  # at every paint, say: neither log nor window is to be buried under it
            return
        self._told.add(place)
        is_kept, report = self._kept(), self._report(mistake)
        _note(40, report)
        if not self._is_telling and self._num_dialogs < MOST_DIALOGS:
            self._is_telling = True
            self._num_dialogs += 1
            QTimer.singleShot(0, self, lambda: self._show(report, is_kept))

    def _report(self, mistake: BaseException) -> str:
        from memplan_gui.presenters.mistake import mistake_report

        try:
            private = tuple(self._private())
        except Exception:
            private = ()
        return mistake_report(mistake, versions(), private)

    def _kept(self) -> bool:
        try:
            return self._keep()
        except Exception:
            return False

    def _show(self, report: str, is_kept: bool) -> None:
        from memplan_gui.mistake_dialog import MistakeDialog

        try:
            dialog = MistakeDialog(self._parent_of_dialog(), report, is_kept=is_kept)
            dialog.finished.connect(self._told_it)
            dialog.open()
        except Exception as mistake:  # a mistake in telling of one must not be told
            _say(mistake)
            self._is_telling = False

    def _told_it(self) -> None:
        self._is_telling = False


@lru_cache(maxsize=100)
def _note_once(places: str) -> None:
    _note(40, places)


def note_handled(mistake: BaseException) -> None:
    """Note a mistake that is told in the place of an answer: in the log once, however often it happens."""
    from memplan_gui.presenters.mistake import mistake_places

    _say(mistake)
    _note_once(mistake_places(mistake))


def versions() -> str:
    """What is running, in a line."""
    import PySide6
    from PySide6.QtCore import qVersion

    from memplan_gui.presenters.mistake import running_versions

    return running_versions(f"PySide6 {PySide6.__version__}, Qt {qVersion()} on {QApplication.platformName()}")


def tell_qt_message(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    """Qt's own messages go to standard error, where a person who looks for them finds them."""
    if kind != QtMsgType.QtDebugMsg and not any(word in message for word in QUIET) and sys.stderr is not None:
        sys.stderr.write(f"Qt: {message}\n")


def _say(mistake: BaseException) -> None:
    """To standard error, where there is one."""
    import traceback

    if sys.stderr is not None:
        traceback.print_exception(mistake, file=sys.stderr)


def _note(level: int, text: str) -> None:
    from memplan_gui.log_file import log

    log().log(level, "%s", text)
