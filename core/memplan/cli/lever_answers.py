"""What `memplan levers` answers: for each scenario what every lever would do, and what makes it fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from memplan.catalog import Device
from memplan.levers import LeverOffer, lever_offers
from memplan.making_fit import Candidate, Fall, Preferences, Proposal, cheapest_on_each, make_fit, waterfall
from memplan.plan.scenario import Plan, Scenario
from memplan.plan_estimates import estimate_plan
from memplan.result import Estimate
from memplan.units import Unit


@dataclass(frozen=True, slots=True)
class LeversAnswer:
    """One scenario: what each lever would do, and what makes it fit."""

    scenario: Scenario
    estimate: Estimate
    offers: tuple[LeverOffer, ...]
    proposal: Proposal
    falls: tuple[Fall, ...]
    """From the need now to that of the set that is proposed, or of the one that needs least."""
    each: tuple[tuple[Device, Candidate | None], ...] = ()
    """The least costly set on each device of the catalog, cheapest first, where that was asked; None: none fits."""


def lever_answers(
    plan: Plan, preferences: Preferences, unit: Unit, positions: Sequence[int], *, every_device: bool = False
) -> tuple[LeversAnswer, ...]:
    """Answer for the scenarios at these positions of a plan; of every device, where that is asked.

    Raises:
        MemplanError: a scenario cannot be estimated; the error names which.
    """
    answers = []
    estimates = estimate_plan(plan)
    for scenario, found in ((plan.scenarios[at], estimates[at]) for at in positions):
        proposal = make_fit(scenario, preferences)
        falls = waterfall(scenario, proposal.best or proposal.smallest)
        offers, each = lever_offers(scenario, found, unit), _on_each(scenario, preferences) if every_device else ()
        answers.append(LeversAnswer(scenario, found, offers, proposal, falls, each))
    return tuple(answers)


def _on_each(scenario: Scenario, preferences: Preferences) -> tuple[tuple[Device, Candidate | None], ...]:
    steps = cheapest_on_each(scenario, preferences=preferences)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return tuple(sorted(done.value, key=lambda one: one[1].price if one[1] else inf))
