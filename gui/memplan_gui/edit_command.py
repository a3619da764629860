"""One undoable step: the plan before and the plan after. Untouched parts are the same objects, so it costs little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel
from PySide6.QtGui import QUndoCommand

from memplan import Plan

if TYPE_CHECKING:
    from memplan_gui.document import PlanDocument

MERGEABLE = 1


@dataclass(frozen=True, slots=True)
class PlanState:
    """A plan, and which of its scenarios is looked at."""

    plan: Plan
    current: int


class EditCommand(QUndoCommand):
    """Swaps two states of the document. Edits of one gesture merge into one step."""

    def __init__(
        self, document: PlanDocument, before: PlanState, after: PlanState, text: str, *, gesture: int, path: str
    ) -> None:
        super().__init__(text)
        self._document = document
        self.before = before
        self._after = after
        self._gesture = gesture
        self.path = path
        """Where its gesture edits."""

    def id(self) -> int:
        """Commands of the same id are offered to each other for merging."""
        return MERGEABLE

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Take a later edit of the same gesture in; one that leads back to the start leaves no step."""
        if not isinstance(other, EditCommand) or other._gesture != self._gesture:
            return False
        self._after = other._after
        self.setText(other.text())
        self.setObsolete(self._after.plan == self.before.plan)
        return True

    def redo(self) -> None:
        """Show the state after."""
        self._document.take(self._after)

    def undo(self) -> None:
        """Show the state before."""
        self._document.take(self.before)


def changed_paths(before: BaseModel, after: BaseModel, under: str = "") -> frozenset[str]:
    """The paths of the fields whose values differ; for lists of different lengths, the list's own path."""
    if before is after:
        return frozenset()
    found: set[str] = set()
    for name, old in before.__dict__.items():
        new, path = after.__dict__[name], f"{under}.{name}" if under else name
        if old is new:
            continue
        if isinstance(old, BaseModel) and isinstance(new, BaseModel):
            found |= changed_paths(old, new, path)
        elif _are_lists_of_parts(old, new):
            for position, (old_part, new_part) in enumerate(zip(old, new, strict=True)):
                found |= changed_paths(old_part, new_part, f"{path}[{position}]")
        elif old != new:
            found.add(path)
    return frozenset(found)


def _are_lists_of_parts(old: object, new: object) -> bool:
    return (
        isinstance(old, tuple)
        and isinstance(new, tuple)
        and len(old) == len(new)
        and all(isinstance(part, BaseModel) for part in (*old, *new))
    )
