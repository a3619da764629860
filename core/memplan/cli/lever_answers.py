"""What `memplan levers` answers: for each scenario what every lever would do, and what makes it fit."""

from __future__ import annotations

from dataclasses import dataclass

from memplan.levers import LeverOffer, lever_offers
from memplan.making_fit import Fall, Preferences, Proposal, make_fit, waterfall
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


def lever_answers(plan: Plan, preferences: Preferences, unit: Unit) -> tuple[LeversAnswer, ...]:
    """Answer for every scenario of a plan.

    Raises:
        MemplanError: a scenario cannot be estimated; the error names which.
    """
    answers = []
    for scenario, found in zip(plan.scenarios, estimate_plan(plan), strict=True):
        proposal = make_fit(scenario, preferences)
        falls = waterfall(scenario, proposal.best or proposal.smallest)
        answers.append(LeversAnswer(scenario, found, lever_offers(scenario, found, unit), proposal, falls))
    return tuple(answers)
