"""What a command is asked about: a plan file, a model's config.json (or its folder), or standard input."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from memplan.disk import read_file
from memplan.errors import MemplanError, PlanError
from memplan.json_text import read_loose_json
from memplan.model_file import parse_config, read_config
from memplan.plan.file import MAX_PLAN_BYTES, parse_plan
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Plan, Scenario
from memplan.version import PLAN_SUFFIX

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """The plan that was read, and what to tell about how it came about; empty for a plan that was a plan."""

    plan: Plan
    note: str = ""


def read_source(argument: str) -> Source:
    """Read a plan, or make one of a model's config.json with every default.

    Args:
        argument: a file, the folder of a model, or "-" for standard input.

    Raises:
        MemplanError: it is neither, and why.
    """
    if argument == STANDARD_INPUT:
        data = sys.stdin.buffer.read(MAX_PLAN_BYTES + 1)
        if len(data) > MAX_PLAN_BYTES:
            raise PlanError(f"holds more than {MAX_PLAN_BYTES / 1e6:.0f} MB.", place="standard input")
        return _from_bytes(data, "standard input", Path())
    path = Path(argument)
    if path.is_dir():
        return _from_config(read_config(path), path / "config.json")
    data = read_file(path, limit_bytes=MAX_PLAN_BYTES, what="a plan", error=PlanError)
    return _from_bytes(data, argument, path)


def _from_bytes(data: bytes, place: str, path: Path) -> Source:
    if path.suffix == PLAN_SUFFIX or not _looks_like_config(data):
        return Source(parse_plan(data, place))
    return _from_config(parse_config(data, place), path)


def _looks_like_config(data: bytes) -> bool:
    """Whether the bytes are an object that is no plan; what is no object at all, the plan's reader words best."""
    try:
        content = read_loose_json(data, place="", error=MemplanError)
    except MemplanError:
        return False
    return isinstance(content, dict) and "scenarios" not in content and "memplan" not in content


def _from_config(config: dict[str, object], path: Path) -> Source:
    name = config.get("_name_or_path") or path.absolute().parent.name
    scenario = Scenario(model=ModelChoice(config=config, name=str(name)[:200]))
    note = (
        "This is a model's configuration, not a plan: estimated with every default (see below). "
        "`memplan` opens a window to change them in."
    )
    return Source(Plan(title=str(name)[:500], scenarios=(scenario,)), note)
