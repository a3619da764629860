"""Recent files: those that are not there are marked, and can be taken out of the list; a share may come back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from memplan import tr
from memplan_gui.background import Background
from memplan_gui.file_commands import FileCommands
from memplan_gui.notice_bar import NoticeBar
from memplan_gui.settings import Settings


class RecentMenu(QObject):
    """The submenu of the plans opened or saved lately."""

    def __init__(self, menu: QMenu, files: FileCommands, settings: Settings, notice: NoticeBar) -> None:
        super().__init__(menu)
        self._menu, self._files, self._settings, self._notice = menu, files, settings, notice
        self._entries: dict[Path, QAction] = {}
        self._background = Background(self)
        files.recent_changed.connect(self.refresh)
        files.missing.connect(self._say_missing)
        menu.aboutToShow.connect(self._look)
        self.refresh()

    def refresh(self) -> None:
        """List the files, each with where it lies, and the way to empty the list."""
        self._menu.clear()
        self._entries.clear()
        for path in self._settings.recent:
            action = self._entries[path] = self._menu.addAction(_words(path))
            action.triggered.connect(lambda _=False, path=path: self._files.open_path(path))
        self._menu.setEnabled(bool(self._entries))
        if self._entries:
            self._menu.addSeparator()
            self._menu.addAction(tr("&Clear this list")).triggered.connect(lambda: self._forget(None))

    def finish(self) -> None:
        """Wait until it is known which files are there."""
        self._background.finish()

    def _look(self) -> None:
        """See which files are there, beside the window: a share that went away answers late or never."""
        self.refresh()  # another window may have opened files
        paths = tuple(self._entries)
        self._background.ask(lambda: _missing(paths), self._mark)

    def _mark(self, missing: object) -> None:
        if isinstance(missing, frozenset):
            for path, action in self._entries.items():
                words = _words(path)
                action.setText(tr("{file} (not found)").format(file=words) if path in missing else words)

    def _say_missing(self, text: str, path: Path) -> None:
        self._notice.say(text, "error", {tr("Remove from recent files"): lambda: self._forget(path)})

    def _forget(self, path: Path | None) -> None:
        self._settings.forget_recent(path)
        self.refresh()


def _words(path: Path) -> str:
    return f"{path.name}  —  {path.parent}".replace("&", "&&")


def _missing(paths: Sequence[Path]) -> frozenset[Path]:
    return frozenset(path for path in paths if not path.exists())
