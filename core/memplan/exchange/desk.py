"""What is known while several files' words are put together: the person's, then files', then trainers' defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memplan.exchange.notes import ImportNote, Stated


@dataclass
class Desk:
    """What is known so far, by the scenario's paths."""

    stated: dict[str, Stated]
    defaults: dict[str, tuple[Any, str]]
    answers: Mapping[str, Any]
    values: dict[str, Any] = field(default_factory=dict)
    notes: list[ImportNote] = field(default_factory=list)

    def get(self, path: str) -> Any:
        """The value that counts: the person's, a file's, the trainer's default; None where nobody says."""
        if path in self.answers:
            return self.answers[path]
        if path in self.stated:
            return self.stated[path].value
        return self.defaults[path][0] if path in self.defaults else None

    def assume(self, path: str, value: Any, why: str) -> None:
        """Take a value that follows, unless the person says otherwise."""
        if path not in self.answers:
            self.stated.pop(path, None)
            self.defaults[path] = (value, why)
