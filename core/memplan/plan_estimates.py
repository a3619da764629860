"""Estimates of a whole plan, scenario by scenario."""

from __future__ import annotations

from memplan.errors import MemplanError
from memplan.estimate import estimate
from memplan.plan.paths import format_path
from memplan.plan.scenario import Plan
from memplan.result import Estimate


def estimate_plan(plan: Plan) -> tuple[Estimate, ...]:
    """Estimate every scenario of a plan.

    Raises:
        MemplanError: one cannot be estimated; the error names which.
    """
    answers = []
    for position, scenario in enumerate(plan.scenarios):
        try:
            answers.append(estimate(scenario))
        except MemplanError as problem:
            place = f"{format_path(('scenarios', position))} ({scenario.name})"
            if problem.place:
                place = f"{place}: {problem.place}"
            raise MemplanError(problem.message, place=place, remedy=problem.remedy) from problem
    return tuple(answers)
