"""The one kind of error that memplan raises for bad input: it names the place and the remedy."""

from __future__ import annotations

from memplan.printable import printable

_ENDS = (".", "!", "?", "…")
"""What a sentence may end with."""


class MemplanError(ValueError):
    """Bad input, told to a person.

    Args:
        message: what was found and what is allowed, one sentence; its full stop is added where it has none.
        place: the file or the path inside a plan where it stands (`scenarios[0].training.micro_batch`); may be empty.
        remedy: what to do about it; may be empty.
    """

    def __init__(self, message: str, *, place: str = "", remedy: str = "") -> None:
        self.message = message if message.endswith(_ENDS) else f"{message}."
        self.place, self.remedy = place, remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        text = f"{printable(self.place)}: {self.message}" if self.place else self.message
        return f"{text} {self.remedy}" if self.remedy else text


class PlanError(MemplanError):
    """A plan file, or a value in a plan, that cannot be taken."""


class ConfigError(MemplanError):
    """A model configuration from which no architecture follows."""


class UnknownEntryError(MemplanError):
    """A name that no catalog entry has."""


class ScenarioError(MemplanError):
    """One scenario of a plan that cannot be estimated.

    Args:
        scenario: which one, `scenarios[0] (baseline)`.
        problem: what is wrong with it, as it was raised.
    """

    def __init__(self, scenario: str, problem: MemplanError) -> None:
        self.problem = problem
        place = f"{scenario}: {problem.place}" if problem.place else scenario
        super().__init__(problem.message, place=place, remedy=problem.remedy)
