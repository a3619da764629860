"""Which plan the window opens with: the file that is asked for, that of last time, or the example."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memplan import PLAN_SUFFIX, ConfigError, MemplanError, Plan, PlanError, load_plan, read_config, replaced, resource
from memplan_gui.document import model_of_config, new_plan
from memplan_gui.presenters.automatic_names import plan_title

EXAMPLE = "llama-3.1-8b.memplan"
EXAMPLES = (EXAMPLE, "inference-or-training.memplan")
"""Plans that come with memplan, in the order of the menu; the first is the one that the window opens with."""


@dataclass(frozen=True, slots=True)
class FirstPlan:
    """A plan, its file if it has one, and why it is not the one that was asked for."""

    plan: Plan
    path: Path | None = None
    problem: str = ""
    is_example: bool = False
    """Whether it is the example; that has no file, so that saving asks for one."""


def first_plan(wanted: Path | None, recent: Sequence[Path]) -> FirstPlan:
    """Open what is asked for, else the latest file that still opens, else the example."""
    problem = ""
    if wanted is not None:
        try:
            return read_any(wanted)
        except MemplanError as found:
            problem = str(found)
    else:
        for path in recent[:1]:
            try:
                return FirstPlan(load_plan(path), path)
            except MemplanError:
                break  # it was moved, or is on a disk that is not there: no news to a person who just starts
    return FirstPlan(example_plan(), None, problem, is_example=True)


def example_plan() -> Plan:
    """The plan that comes with memplan; a bare one where even that is missing."""
    try:
        return load_plan(resource("examples", EXAMPLE))
    except MemplanError:
        return new_plan()


def example_plans() -> tuple[Plan, ...]:
    """The plans that come with memplan; fewer where the installation is damaged."""
    found = []
    for name in EXAMPLES:
        with suppress(MemplanError):
            found.append(load_plan(resource("examples", name)))
    return tuple(found)


def read_any(path: Path) -> FirstPlan:
    """Read a plan, or a model's config.json as a plan around that model: the file itself says which it is.

    Raises:
        MemplanError: it is neither.
    """
    if path.suffix == PLAN_SUFFIX:
        return FirstPlan(load_plan(path), path)
    try:
        config = read_config(path)
    except ConfigError as not_a_config:
        try:
            return FirstPlan(load_plan(path), path)
        except PlanError:
            raise not_a_config from None
    choice = model_of_config(config, path)
    plan = replaced(new_plan(), "scenarios[0].model", choice)
    return FirstPlan(replaced(plan, "title", plan_title(plan)))
