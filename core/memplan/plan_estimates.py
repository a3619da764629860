"""Estimates of a whole plan, scenario by scenario."""

from __future__ import annotations

from memplan.errors import MemplanError, ScenarioError
from memplan.estimate import estimate
from memplan.plan.paths import format_path
from memplan.plan.scenario import Plan
from memplan.result import Estimate


def estimate_plan(plan: Plan) -> tuple[Estimate, ...]:
    """Estimate every scenario of a plan.

    Raises:
        ScenarioError: one cannot be estimated; the error names which.
    """
    answers = []
    for position, scenario in enumerate(plan.scenarios):
        try:
            answers.append(estimate(scenario))
        except MemplanError as problem:
            which = f"{format_path(('scenarios', position))} ({scenario.name})"
            raise ScenarioError(which, problem) from problem
    return tuple(answers)
