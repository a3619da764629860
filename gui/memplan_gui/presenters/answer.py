"""The answer to one scenario: an estimate, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from memplan import Estimate


@dataclass(frozen=True, slots=True)
class Answer:
    """What the window shows for one scenario. Exactly one of the two is given."""

    estimate: Estimate | None
    problem: str = ""
    """Why there is no estimate: place, message and remedy."""
