"""The one door through which a plan changes: checked, undoable, told to whoever listens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QElapsedTimer, QObject, Signal
from PySide6.QtGui import QUndoStack

from memplan import (
    MemplanError,
    ModelChoice,
    Plan,
    Scenario,
    facts_at,
    read_config,
    replaced,
    save_plan,
    tr,
    translated,
    value_at,
)
from memplan_gui.edit_command import EditCommand, PlanState, changed_paths
from memplan_gui.file_stamp import FileStamp, stamp_of
from memplan_gui.presenters.automatic_names import scenario_name, with_names_following, without_examples_notes
from memplan_gui.presenters.example_ways import with_ways_following
from memplan_gui.presenters.words import step_name

NEW_PLAN_MODEL = "meta-llama/Llama-3.1-8B"
PAUSE_MS = 1500
"""Edits of one field that follow each other faster than this are one gesture, hence one step of undo."""


def new_plan() -> Plan:
    """What File > New starts from."""
    bare = Scenario(model=ModelChoice(catalog=NEW_PLAN_MODEL))
    return Plan(scenarios=(replaced(bare, "name", scenario_name(bare)),))


def model_of_config(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """A model's configuration as a scenario names it: what it calls itself, else its folder, or a file's own name."""
    given = config.get("_name_or_path")
    folder = path if path.is_dir() else path.parent
    own = folder.name if path.is_dir() or path.name == "config.json" else path.stem
    name = given if isinstance(given, str) and given else own or path.stem
    return {"config": config, "name": name[:200]}


class PlanDocument(QObject):
    """The plan that the window shows, its history and its file."""

    changed = Signal(frozenset)
    """Paths of what is different now: `scenarios[0].training.micro_batch`."""
    rejected = Signal(str, str)
    """Path and message of an edit that could not be taken; the plan is as it was."""
    current_changed = Signal(int)
    """Another scenario is looked at."""
    replaced_whole = Signal()
    """Another plan was opened or begun."""
    file_changed = Signal()
    """File name or modified mark are different now."""

    def __init__(self, plan: Plan | None = None, path: Path | None = None, *, is_example: bool = False) -> None:
        super().__init__()
        self._state = PlanState(plan or new_plan(), 0)
        self.path = path
        self._stamp = stamp_of(path)
        self._is_file_gone = self._is_recovered = False
        self._example = plan if is_example else None
        self.undo_stack = QUndoStack(self)
        # Signal to signal: the stack speaks while it dies, and Qt alone knows that its listener is gone by then.
        self.undo_stack.cleanChanged.connect(self.file_changed)
        self._config_files: list[tuple[dict[str, Any], Path]] = []
        self._gesture = 0
        self._gesture_path = ""
        self._since_edit = QElapsedTimer()

    @property
    def plan(self) -> Plan:
        """The plan as it stands."""
        return self._state.plan

    @property
    def current(self) -> int:
        """The position of the scenario that is looked at."""
        return self._state.current

    @property
    def scenario(self) -> Scenario:
        """The scenario that is looked at."""
        return self.plan.scenarios[self.current]

    @property
    def modified(self) -> bool:
        """Whether the plan differs from its file."""
        return self._is_file_gone or not self.undo_stack.isClean()

    @property
    def is_example(self) -> bool:
        """Whether this is an example still: its models, and no file of the person's own."""
        return self._example is not None and self.plan.notes == self._example.notes

    @property
    def config_file(self) -> Path | None:
        """Where the model's configuration was read from; a plan holds the configuration itself, not its place."""
        config = self.scenario.model.config
        return next((path for known, path in reversed(self._config_files) if config and known == config), None)

    @property
    def stamp(self) -> FileStamp | None:
        """What the plan's file held when it was read or saved here; another object each time."""
        return self._stamp

    @property
    def file_differs(self) -> bool:
        """Whether somebody else wrote the plan's file since it was read or saved here."""
        return self._stamp is not None and self._stamp.differs

    @property
    def name(self) -> str:
        """What to call the plan: what it is about, otherwise its file."""
        return self.plan.title or (self.path.stem if self.path else tr("Untitled"))

    @property
    def title(self) -> str:
        """What the title bar shows: the file, as everywhere else, and what a plan without one is about.

        Work that was not saved is told from an older state of the same file.
        """
        name = self.path.name if self.path else self.name
        return tr("{name} (recovered)").format(name=name) if self._is_recovered else name

    def full_path(self, path: str) -> str:
        """The path, from the plan's root, of a field of the scenario that is looked at."""
        return f"scenarios[{self.current}].{path}"

    def edit(self, path: str, value: Any, *, text: str = "") -> bool:
        """Change one value; says whether the plan could take it.

        Args:
            path: where, from the plan's root.
            value: the new value.
            text: what undo calls the step; the field's title when empty.
        """
        return self.edit_together({path: value}, text=text)

    def edit_together(self, values: Mapping[str, Any], *, text: str = "") -> bool:
        """Change several values as one step, all or none."""
        plan, path = self.plan, next(iter(values))
        try:
            for path, value in values.items():
                plan = replaced(plan, path, value)
        except MemplanError as problem:
            self.rejected.emit(path, problem.message)
            return False
        if plan != self.plan:
            self._push(PlanState(plan, self.current), text or self._title(path), self._gesture_of(path))
        return True

    def take_back(self, path: str, value: Any) -> None:
        """Undo what was typed into a field, to its value from before; by an edit where the last steps lead elsewhere.

        Args:
            path: where, from the plan's root.
            value: the value from before the typing.
        """
        at = self.undo_stack.index()
        while at and value_at(self.plan, path) != value:
            step = self.undo_stack.command(at - 1)
            if not isinstance(step, EditCommand) or step.path != path:
                break
            at -= 1
            if value_at(step.before.plan, path) == value:
                self.undo_stack.setIndex(at)
        self.end_gesture()
        self.edit(path, value)
        self.end_gesture()

    def end_gesture(self) -> None:
        """What follows is a step of its own: the mouse was let go, another field has the keyboard."""
        self._gesture_path = ""

    def show_scenario(self, position: int) -> None:
        """Look at another scenario; that is no edit."""
        position = min(max(position, 0), len(self.plan.scenarios) - 1)
        if position != self.current:
            self.end_gesture()
            self._state = PlanState(self.plan, position)
            self.current_changed.emit(position)

    def set_scenarios(self, scenarios: tuple[Scenario, ...], current: int, text: str) -> bool:
        """Add, remove or move scenarios, as one step."""
        self.end_gesture()
        try:
            plan = replaced(self.plan, "scenarios", scenarios)
        except MemplanError as problem:
            self.rejected.emit("scenarios", problem.message)
            return False
        if plan != self.plan:
            self._push(PlanState(plan, current), text, self._gesture_of("scenarios"))
            self.end_gesture()
        return True

    def begin(
        self,
        plan: Plan,
        path: Path | None = None,
        *,
        is_saved: bool = True,
        is_recovered: bool = False,
        is_example: bool = False,
    ) -> None:
        """Show another plan, with no history.

        Args:
            plan: which.
            path: its file, if it has one.
            is_saved: whether nothing is lost when it is closed: its file holds the same, or nobody made it yet.
            is_recovered: whether it is what a memplan that was killed left, which no file holds.
            is_example: whether it comes with memplan.
        """
        self._example = plan if is_example else None
        self.end_gesture()
        self.undo_stack.clear()
        self._state, self.path = PlanState(plan, 0), path
        if not is_saved or is_recovered:
            self.undo_stack.resetClean()
        self._stamp, self._is_file_gone, self._is_recovered = stamp_of(path), False, is_recovered
        self.replaced_whole.emit()
        self.file_changed.emit()

    def take_config(self, path: Path) -> None:
        """Make a model's config.json the model of the scenario that is looked at, as one step.

        Raises:
            MemplanError: why not.
        """
        where = self.full_path("model")
        config = read_config(path)
        plan = replaced(self.plan, where, model_of_config(config, path))
        self._config_files.append((config, path))
        self.end_gesture()
        self._push(
            PlanState(plan, self.current), tr("Model from {file}").format(file=path.name), self._gesture_of(where)
        )
        self.end_gesture()

    def save(self, path: Path | None = None) -> None:
        """Save the plan, to its own file when none is given.

        Raises:
            MemplanError: why not; what stood there before still stands.
        """
        target = path or self.path
        if target is None:
            raise MemplanError("the plan has no file yet.", remedy="Save it as a file first.")
        example, notes = self._example, self.plan.notes
        if example is not None and notes == example.notes:
            notes = ""  # what is saved is the person's own, and the example's notes are not about it
        save_plan(replaced(self.plan, "notes", notes), target)
        self._example = None
        self.edit("notes", notes, text=tr("Notes of the example removed"))
        self.path = target
        self._stamp, self._is_file_gone, self._is_recovered = stamp_of(target), False, False
        self.end_gesture()
        self.undo_stack.setClean()
        self.file_changed.emit()

    def take_file(self, plan: Plan, stamp: FileStamp) -> None:
        """Show what somebody else wrote into the plan's file, as one step that can be undone."""
        self.end_gesture()
        if plan != self.plan:
            current = min(self.current, len(plan.scenarios) - 1)
            self._push_as_it_is(
                PlanState(plan, current), tr("Reload {file}").format(file=stamp.path.name), self._gesture_of("file")
            )
        self.end_gesture()
        self._stamp, self._is_file_gone, self._is_recovered = stamp, False, False
        self.undo_stack.setClean()
        self.file_changed.emit()

    def keep_against(self, stamp: FileStamp) -> None:
        """Stay with this plan although its file holds another: it is unsaved, and saving asks no more."""
        self._stamp = stamp
        self.undo_stack.resetClean()
        self.file_changed.emit()

    def set_file_gone(self, is_gone: bool) -> None:
        """Whether the plan's file is no longer there, so that the plan is unsaved."""
        if is_gone != self._is_file_gone:
            self._is_file_gone = is_gone
            self.file_changed.emit()

    def take(self, state: PlanState) -> None:
        """Show a state; only the history calls this."""
        before, self._state = self._state, state
        paths = changed_paths(before.plan, state.plan)
        if paths:
            self._show_where_it_changed(paths)
        if self.current != before.current or "scenarios" in paths:
            self.current_changed.emit(self.current)
        if paths:
            self.changed.emit(paths)

    def _show_where_it_changed(self, paths: frozenset[str]) -> None:
        """An undone edit of another scenario brings that scenario back into view."""
        positions = {int(path[10 : path.index("]")]) for path in paths if path.startswith("scenarios[")}
        if positions and self.current not in positions:
            self._state = PlanState(self.plan, min(positions))

    def _push(self, after: PlanState, text: str, gesture: int) -> None:
        plan, example = after.plan, self._example
        if example is not None:
            plan = with_ways_following(example, self.plan, plan)
        plan = with_names_following(self.plan, plan)
        if example is not None:
            plan = without_examples_notes(example, plan)
        after = PlanState(plan, after.current)
        self._push_as_it_is(after, text, gesture)

    def _push_as_it_is(self, after: PlanState, text: str, gesture: int) -> None:
        step = EditCommand(self, self._state, after, step_name(text), gesture=gesture, path=self._gesture_path)
        self.undo_stack.push(step)
        self._since_edit.start()

    def _gesture_of(self, path: str) -> int:
        fast = self._since_edit.isValid() and self._since_edit.elapsed() < PAUSE_MS
        if path != self._gesture_path or not fast:
            self._gesture += 1
            self._gesture_path = path
        return self._gesture

    def _title(self, path: str) -> str:
        try:
            return translated(facts_at(Plan, path).title)
        except MemplanError:
            return tr("Edit")
