"""Says what became of the plan's file on disk, and offers what can be done: never by itself, never in the way."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from memplan import tr
from memplan_gui.document import PlanDocument
from memplan_gui.file_commands import FileCommands
from memplan_gui.file_stamp import FileStamp
from memplan_gui.file_watch import FileNews, FileWatch
from memplan_gui.notice_bar import NoticeBar


class FileNotice(QObject):
    """Stands between the watch on a file and the bar that speaks of it."""

    def __init__(self, watch: FileWatch, document: PlanDocument, files: FileCommands, bar: NoticeBar) -> None:
        super().__init__(watch)
        self._document, self._files, self._bar = document, files, bar
        self._about: FileStamp | None = None
        watch.told.connect(self._tell)
        document.file_changed.connect(self._file_changed)

    def _tell(self, news: FileNews) -> None:
        document, bar = self._document, self._bar
        self._about = document.stamp
        document.set_file_gone(news.kind == "gone")
        name = document.path.name if document.path else ""
        if news.kind == "changed" and news.plan == document.plan and news.stamp is not None:
            document.take_file(document.plan, news.stamp)  # written in another form, or what was changed here as well
        elif news.kind == "changed":
            bar.say(changed_words(name, has_changes=document.modified), "file", self._choices(news))
        elif news.kind == "unreadable":
            words = tr(
                "“{name}” was changed on disk and is no plan that can be read now: {problem} This plan is as it was."
            )
            bar.say(words.format(name=name, problem=news.problem), "file")
        elif news.kind == "gone":
            words = tr(
                "“{name}” is no longer there: deleted, moved, or on a disk that went away. "
                "The plan is still here, unsaved."
            )
            choices = {tr("Save again"): self._files.save, tr("Save as…"): self._files.save_as}
            bar.say(words.format(name=name), "file", choices)
        else:
            bar.clear("file")

    def _choices(self, news: FileNews) -> dict[str, Callable[[], object]]:
        plan, stamp = news.plan, news.stamp
        assert plan is not None
        assert stamp is not None
        return {
            tr("Reload"): lambda: self._document.take_file(plan, stamp),
            tr("Keep mine"): lambda: self._document.keep_against(stamp),
        }

    def _file_changed(self) -> None:
        """Saved, or another plan: what was said of the file is no longer news."""
        if self._document.stamp is not self._about:
            self._about = self._document.stamp
            self._bar.clear("file")


def changed_words(name: str, *, has_changes: bool) -> str:
    """What is said of a file that somebody else wrote.

    >>> changed_words("run.memplan", has_changes=False)
    '“run.memplan” was changed by another window or program.'
    """
    words = tr("“{name}” was changed by another window or program.").format(name=name)
    more = tr("Reload sets your unsaved changes aside; Undo brings them back.")
    return f"{words} {more}" if has_changes else words
