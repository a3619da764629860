"""What the File menu does: plans and configurations opened, saved and exported, with every failure in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QStandardPaths, Signal
from PySide6.QtWidgets import QMenu, QWidget

from memplan import (
    PLAN_SUFFIX,
    ConfigError,
    MemplanError,
    Plan,
    PlanError,
    load_plan,
    resource,
    tr,
    tr_later,
    translated,
)
from memplan_gui import dialogs
from memplan_gui.document import PlanDocument, new_plan
from memplan_gui.first_plan import example_plans
from memplan_gui.presenters.labels import file_stem
from memplan_gui.settings import Settings
from memplan_gui.window_of_file import raise_window_of, window_of

IN_ANOTHER_WINDOW = tr_later("“{name}” is open in another window. Close it there first, or save under another name.")


class FileCommands(QObject):
    """Commands about files. The open document is untouched when one fails."""

    failed = Signal(str)
    """What went wrong, for the line in the window."""
    done = Signal()
    """A file was read or written: an older failure is no longer news."""
    written = Signal(str)
    """A short word on what was written, for the line beside the tabs."""
    begun = Signal()
    """A new plan stands there, and has no title of its own yet."""
    missing = Signal(str, Path)
    """A file that is not there was to be opened: what to say, and which it is."""
    recent_changed = Signal()

    def __init__(self, window: QWidget, document: PlanDocument, settings: Settings) -> None:
        super().__init__(window)
        self._window, self._document, self._settings = window, document, settings

    def slots(self) -> dict[str, Callable[[], object]]:
        """Each command's slot, by its id."""
        return {
            "new": self.new,
            "open": self.open,
            "open_config": self.open_config,
            "save": self.save,
            "save_as": self.save_as,
        }

    def new(self) -> None:
        """Begin another plan."""
        if self.may_go_on():
            self._document.begin(new_plan())
            self.done.emit()
            self.begun.emit()

    def open(self) -> None:
        """Ask for a file and open it."""
        path = dialogs.ask_open(self._window, tr("Open"), dialogs.OPEN_KINDS, self._folder())
        if path is not None:
            self.open_path(path)

    def open_config(self) -> None:
        """Ask for a config.json and make it the scenario's model."""
        path = dialogs.ask_open(self._window, tr("Open config.json as model"), dialogs.CONFIG_KINDS, self._folder())
        if path is not None:
            self.attempt(lambda: self._document.take_config(path))

    def list_examples(self, menu: QMenu) -> None:
        """Fill a menu with the examples by their titles."""
        for plan in example_plans():
            action = menu.addAction(plan.title.replace("&", "&&"))
            action.setToolTip(plan.notes)
            action.triggered.connect(lambda _=False, plan=plan: self.open_example(plan))

    def open_example(self, plan: Plan) -> None:
        """Show an example; it has no file, so that saving asks for one."""
        if self.may_go_on():
            self._document.begin(plan, is_example=True)
            self.done.emit()

    def open_path(self, path: Path) -> bool:
        """Open a plan, or take a config.json as the scenario's model: the file itself says which it is.

        A plan that another window shows is not opened again: that window is brought to the front.
        """
        if raise_window_of(path, but=self._window):
            return True
        if path.suffix == PLAN_SUFFIX:
            return self._open_plan(path)
        return self.attempt(lambda: self._open_either(path))

    def save(self) -> bool:
        """Save the plan; where it has no file, ask for one; where somebody else wrote its file, ask what to do."""
        path = self._document.path
        if path is None:
            return self.save_as()
        if self._document.file_differs:
            wish = dialogs.ask_about_other_version(self._window, path)
            if wish != "overwrite":
                return wish == "save_as" and self.save_as()
        return self._save(path)

    def save_as(self) -> bool:
        """Ask for a file and save the plan there."""
        own = self._document.path
        name = own.name if own else file_stem(self._document.name) + PLAN_SUFFIX
        path = dialogs.ask_save(self._window, tr("Save as"), dialogs.PLAN_KINDS, str(self.folder_to_write() / name))
        if path is not None and window_of(path, but=self._window) is not None:
            dialogs.show_problem(
                self._window, tr("The plan was not saved"), translated(IN_ANOTHER_WINDOW).format(name=path.name)
            )
            return False
        return path is not None and self._save(path)

    def may_go_on(self) -> bool:
        """Whether the open document may be left: saved, unchanged, or given up."""
        if not self._document.modified:
            return True
        wish = dialogs.ask_about_changes(self._window, self._document.title)
        return self.save() if wish == "save" else wish == "discard"

    def attempt(self, action: Callable[[], None]) -> bool:
        """Do something with a file; what goes wrong is told in the window. Says whether it went well."""
        try:
            action()
        except MemplanError as problem:
            self.failed.emit(str(problem))
            return False
        self.done.emit()
        return True

    def remember(self, path: Path) -> None:
        """Put a plan's file on top of the recent ones."""
        self._settings.add_recent(path)
        self.recent_changed.emit()

    def folder_to_write(self) -> Path:
        """Beside the plan's file, or among the person's documents: never beside what comes with memplan."""
        own = self._document.path
        if own is not None and not own.absolute().is_relative_to(resource("examples").absolute()):
            return own.parent
        return Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation) or Path.home())

    def _open_plan(self, path: Path) -> bool:
        """Open a plan file. It is read first: what cannot be read asks nothing of the open document."""
        try:
            plan = load_plan(path)
        except MemplanError as problem:
            self._cannot_open(path, str(problem))
            return False
        return self.attempt(lambda: self._begin(plan, path))

    def _open_either(self, path: Path) -> None:
        try:
            self._document.take_config(path)
        except ConfigError as not_a_config:
            try:
                plan = load_plan(path)
            except PlanError:
                raise not_a_config from None
            self._begin(plan, path)

    def _cannot_open(self, path: Path, words: str) -> None:
        if not path.exists() and path.absolute() in self._settings.recent:
            self.missing.emit(words, path.absolute())
        else:
            self.failed.emit(words)

    def _begin(self, plan: Plan, path: Path) -> None:
        if self.may_go_on():
            self._document.begin(plan, path)
            self.remember(path)

    def _save(self, path: Path) -> bool:
        try:
            self._document.save(path)
        except MemplanError as problem:
            dialogs.show_problem(self._window, tr("The plan was not saved"), str(problem))
            return False
        self.remember(path)
        self.done.emit()
        self.written.emit(tr("Saved {name}").format(name=path.name))
        return True

    def _folder(self) -> str:
        if self._document.path is not None:
            return str(self._document.path.parent)
        recent = self._settings.recent
        return str(recent[0].parent) if recent else str(Path.home())
