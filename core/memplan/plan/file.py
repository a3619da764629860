"""The plan's file: `NAME.memplan`, JSON in UTF-8.

Every field is written, defaults too, so that a file says what was planned without knowing this version's defaults,
keeps its meaning when a default changes, and differs between two plans only where the plans differ. A model's
unused ways of naming it (all but one of catalog, config and parameters) are left out, and so is what was not measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memplan.disk import read_file, write_file
from memplan.errors import PlanError
from memplan.json_text import read_json
from memplan.plan.problems import InvalidPlanError, Problem, invalid_plan, shown
from memplan.plan.scenario import PLAN_VERSION, Plan

MAX_PLAN_BYTES = 20_000_000

Migration = Callable[[dict[str, Any]], dict[str, Any]]
MIGRATIONS: Mapping[int, Migration] = {}
"""For each older version of the file: what turns its content into the next version's."""


def load_plan(path: str | Path) -> Plan:
    """Open a plan. Nothing in the file is ever run.

    Args:
        path: the file.

    Raises:
        PlanError: why it cannot be opened: the file, the path inside, what was found, what is allowed.
    """
    data = read_file(Path(path), limit_bytes=MAX_PLAN_BYTES, what="a plan", error=PlanError)
    return parse_plan(data, str(path))


def save_plan(plan: Plan, path: str | Path) -> None:
    """Save a plan, whole or not at all: what stood there before stands until the new file is complete.

    Args:
        plan: the plan.
        path: the file; a link is followed, an existing file keeps its permissions.

    Raises:
        PlanError: why it cannot be saved, and what to do.
    """
    write_file(Path(path), plan_bytes(plan), error=PlanError)


def parse_plan(data: bytes, place: str = "") -> Plan:
    """Read a plan from bytes.

    Args:
        data: what the file holds.
        place: what to call the file in messages.

    Raises:
        PlanError: as load_plan.
    """
    content = migrated(_object(read_json(data, place=place, error=PlanError), place), place)
    try:
        # JSON's own types decide here: "8" is text, true is no number, and a list is how a tuple is written.
        return Plan.model_validate_json(json.dumps(content), strict=True)
    except ValidationError as problem:
        if problem.errors()[0]["type"] == "json_invalid":
            raise PlanError("holds text that is not valid Unicode.", place=place) from None
        raise invalid_plan(problem, Plan, place=place) from None


def plan_bytes(plan: Plan) -> bytes:
    """Write a plan as bytes: the same plan, the same bytes.

    Raises:
        PlanError: a model's configuration holds a value that JSON has no form for.
    """
    content = plan.model_dump()
    for scenario in content["scenarios"]:
        if all(value is None for value in scenario["measured"].values()):
            del scenario["measured"]
        scenario["model"] = {name: value for name, value in scenario["model"].items() if value is not None}
    try:
        return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except (TypeError, ValueError, RecursionError) as problem:
        message = f"holds a value that cannot be written as JSON ({str(problem)[:100]})."
        raise PlanError(message, place="scenarios.model.config") from problem


def migrated(
    content: dict[str, Any],
    place: str = "",
    *,
    migrations: Mapping[int, Migration] = MIGRATIONS,
    newest: int = PLAN_VERSION,
) -> dict[str, Any]:
    """Bring an older version's content to the newest version, one version at a time.

    Args:
        content: the file's object.
        place: what to call the file in messages.
        migrations: for each older version, the step to the next.
        newest: the version that this memplan writes.

    Raises:
        PlanError: no version, or one that this memplan does not know.
    """
    version = content.get("memplan", newest)
    if type(version) is not int or version < 1:
        allowed = f"found {shown(version)}; allowed is {'1' if newest == 1 else f'a whole number from 1 to {newest}'}."
        raise InvalidPlanError([Problem("memplan", allowed)], place=place)
    if version > newest:
        raise PlanError(
            f"is a plan of file version {version}; this memplan reads versions up to {newest}.",
            place=place,
            remedy=f"Open it with a memplan that reads file version {version}: pip install --upgrade memplan.",
        )
    for older in range(version, newest):
        content = {**migrations[older](content), "memplan": older + 1}
    return content


def _object(content: Any, place: str) -> dict[str, Any]:
    """The file's outermost object, or what the file is instead of a plan."""
    if not isinstance(content, dict):
        raise PlanError(f"a plan is an object with scenarios; this file holds {shown(content)}.", place=place)
    if "scenarios" not in content and ("model_type" in content or "architectures" in content):
        raise PlanError(
            "is a model's config.json, not a plan.",
            place=place,
            remedy="Open it as the model of a scenario.",
        )
    return content
