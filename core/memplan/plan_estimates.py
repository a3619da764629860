"""Estimates of a whole plan, scenario by scenario."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memplan.errors import MemplanError, ScenarioError
from memplan.estimate import estimate
from memplan.plan.paths import format_path
from memplan.plan.scenario import Plan, Scenario
from memplan.result import Estimate


def estimate_plan(plan: Plan) -> tuple[Estimate, ...]:
    """Estimate every scenario of a plan.

    Raises:
        ScenarioError: one cannot be estimated; the error names which.
    """
    answers = []
    for position, scenario in enumerate(plan.scenarios):
        with naming_scenario(scenario, position):
            answers.append(estimate(scenario))
    return tuple(answers)


@contextmanager
def naming_scenario(scenario: Scenario, position: int) -> Iterator[None]:
    """Let errors name the scenario that they are about.

    Raises:
        ScenarioError: whatever was wrong with it.
    """
    try:
        yield
    except MemplanError as problem:
        raise ScenarioError(f"{format_path(('scenarios', position))} ({scenario.name})", problem) from problem
