"""Notices that the plan's file was written, replaced or removed by somebody else while it is open."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QFileSystemWatcher, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication

from memplan import MemplanError, Plan, parse_plan
from memplan_gui.background import Background
from memplan_gui.document import PlanDocument
from memplan_gui.file_stamp import FileStamp, content_of, stamp_of_bytes

SETTLED_MS = 300
"""How long after the first sign a file is read: who writes it may not be done."""
GONE_MS = 1000
"""How long a file must be away to be called gone: some editors remove the old one before they put the new one there."""


@dataclass(frozen=True, slots=True)
class FileNews:
    """What the plan's file is now, against what was read or saved here."""

    kind: Literal["same", "changed", "unreadable", "gone"]
    stamp: FileStamp | None = None
    plan: Plan | None = None
    problem: str = ""
    """Why it cannot be read as a plan."""


class FileWatch(QObject):
    """Looks at the file when the system says that it changed, and when one comes back to memplan.

    Not every share tells of changes, so the second is needed as well. The file is read beside the window: a share that
    went away may answer late, or never.
    """

    told = Signal(object)
    """`FileNews` that were not told yet."""

    def __init__(self, document: PlanDocument, parent: QObject) -> None:
        super().__init__(parent)
        self._document = document
        self._background = Background(self)
        self._last = FileNews("same")
        self._is_missing = False
        self._stamp: FileStamp | None = None
        self._watcher = QFileSystemWatcher(self)
        self._watcher.fileChanged.connect(self._hear)
        self._watcher.directoryChanged.connect(self._hear)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self.look)
        document.file_changed.connect(self._follow)
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        app.applicationStateChanged.connect(self._state_changed)
        self._follow()

    def look(self) -> None:
        """Look at the file now; what is news is told when it was read."""
        path, stamp = self._document.path, self._document.stamp
        if path is not None and stamp is not None:
            self._background.ask(partial(news_of, path, stamp), partial(self._seen, stamp))

    def finish(self) -> None:
        """Wait for what is being looked at."""
        self._background.finish()

    def _hear(self, _: str) -> None:
        if not self._soon.isActive():
            self._soon.start(SETTLED_MS)

    def _state_changed(self, state: Qt.ApplicationState) -> None:
        if state == Qt.ApplicationState.ApplicationActive:
            self._hear("")

    def _seen(self, stamp: FileStamp, news: object) -> None:
        if stamp is not self._document.stamp:  # it was saved here in the meantime, or is another file
            self._hear("")
        elif isinstance(news, FileNews):
            was_missing, self._is_missing = self._is_missing, news.kind == "gone"
            if self._is_missing and not was_missing:
                self._soon.start(GONE_MS)
            elif news != self._last:
                self._last = news
                self.told.emit(news)
        self._watch()  # what was replaced by another file is watched no more

    def _follow(self) -> None:
        """The document has another file, or its file another state."""
        if self._stamp is not self._document.stamp:
            self._stamp = self._document.stamp
            self._last, self._is_missing = FileNews("same"), False
            self._watch()

    def _watch(self) -> None:
        path = self._document.path
        wanted = {str(path), str(path.parent)} if path is not None else set()
        watched = {*self._watcher.files(), *self._watcher.directories()}
        if watched - wanted:
            self._watcher.removePaths(sorted(watched - wanted))
        if there := [name for name in sorted(wanted - watched) if Path(name).exists()]:
            self._watcher.addPaths(there)


def news_of(path: Path, stamp: FileStamp) -> FileNews:
    """Hold a file against what was read or saved here. Knows nothing of Qt, and may wait for a share."""
    data = content_of(path)
    if data is None:
        return FileNews("gone")
    now = stamp_of_bytes(path, data)
    if now == stamp:
        return FileNews("same")
    try:
        return FileNews("changed", now, parse_plan(data))
    except MemplanError as problem:
        return FileNews("unreadable", now, None, problem.message)
