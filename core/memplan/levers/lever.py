"""What a lever is: a change that a person can make, when it can be made, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memplan.plan.edit import replaced, value_at
from memplan.plan.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Lever:
    """One change that a person can make.

    Args:
        id: what programs call it.
        title: what a person reads on the toggle.
        price: what it costs, a sentence.
        source: where the price is known from.
        on: path inside the scenario → value, for everything that it sets.
        off: path → value, for taking it away again.
        is_on: says whether a scenario uses it already.
        why_not: says why it cannot be used with a scenario; None where it can.
    """

    id: str
    title: str
    price: str
    source: str
    on: Callable[[Scenario], Mapping[str, Any]]
    off: Mapping[str, Any]
    is_on: Callable[[Scenario], bool]
    why_not: Callable[[Scenario], str | None]

    def applies(self, scenario: Scenario) -> str | None:
        """Why the scenario cannot use it, in words; None where it can."""
        if scenario.training.method == "inference":
            return "inference trains nothing"
        return None if self.is_on(scenario) else self.why_not(scenario)

    def changes(self, scenario: Scenario) -> dict[str, Any]:
        """What toggling it sets: path inside the scenario → value."""
        return dict(self.off if self.is_on(scenario) else self.on(scenario))

    def apply(self, scenario: Scenario) -> Scenario:
        """The scenario with the lever on."""
        return scenario if self.is_on(scenario) else changed(scenario, self.on(scenario))

    def remove(self, scenario: Scenario) -> Scenario:
        """The scenario without the lever; what it had set goes to what is usual without it."""
        return changed(scenario, self.off) if self.is_on(scenario) else scenario


def changed(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """The scenario with several values changed."""
    for path, value in changes.items():
        scenario = replaced(scenario, path, value)
    return scenario


def setting(
    lever_id: str,
    title: str,
    price: str,
    source: str,
    *,
    on: Mapping[str, Any],
    off: Mapping[str, Any],
    why_not: Callable[[Scenario], str | None] = lambda scenario: None,
    is_on: Callable[[Scenario], bool] | None = None,
) -> Lever:
    """A lever that sets fixed values, and is on when they are set."""

    def all_set(scenario: Scenario) -> bool:
        return all(value_at(scenario, path) == value for path, value in on.items())

    return Lever(lever_id, title, price, source, lambda scenario: on, off, is_on or all_set, why_not)
