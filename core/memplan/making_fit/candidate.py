"""A set of levers for a scenario: the scenario that it makes, what that needs, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p

from memplan.levers import Lever
from memplan.plan.scenario import Scenario
from memplan.result import Need
from memplan.translation import translated


@dataclass(frozen=True, slots=True)
class Use:
    """A lever, and how often it is used: three times half the micro-batch."""

    lever: Lever
    times: int = 1

    def title_in(self, scenario: Scenario) -> str:
        """What it is called where a scenario has it: "Shorter sequence (1,024 tokens)"."""
        comes_to = self.lever.comes_to
        title = translated(self.lever.title)
        return title if comes_to is None else f"{title} ({comes_to(scenario)})"

    @property
    def caveat(self) -> float:
        """What it costs beside time, so that costs add up."""
        return self.times * log1p(self.lever.counts_as)

    def apply(self, scenario: Scenario) -> Scenario | None:
        """The scenario with it; None where it does not apply."""
        for _ in range(self.times):
            if self.lever.is_on(scenario) or self.lever.applies(scenario) is not None:
                return None
            scenario = self.lever.apply(scenario)
        return scenario

    def apply_as_often(self, scenario: Scenario) -> Scenario:
        """The scenario with it as often as it applies, up to `times`."""
        for _ in range(self.times):
            if self.lever.is_on(scenario) or self.lever.applies(scenario) is not None:
                break
            scenario = self.lever.apply(scenario)
        return scenario


@dataclass(frozen=True, slots=True)
class Candidate:
    """A set of levers, applied."""

    scenario: Scenario
    uses: tuple[Use, ...]
    allocated_bytes: int
    need: Need
    need_bytes: int
    """The one figure inside that band: the peak of the whole process."""
    slowdown: float
    """Device time for a token, over what it is now."""
    price: float
    """What it costs in all: ln(slowdown) + Σ ln(1 + what each lever counts as beside time). 0 for no lever at all."""
    usable_bytes: int

    @property
    def titles(self) -> tuple[str, ...]:
        """What its levers are called, and come to."""
        return tuple(use.title_in(self.scenario) for use in self.uses)

    @property
    def fits(self) -> bool:
        """Whether it surely fits."""
        return self.need.high <= self.usable_bytes
