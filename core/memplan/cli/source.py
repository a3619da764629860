"""What a command is asked about: a plan, a model's config.json (or its folder), a model of the catalog, or a stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memplan.catalog import model as catalog_model
from memplan.disk import is_folder, is_missing, read_file
from memplan.errors import MemplanError, PlanError, ScenarioError, UnknownEntryError
from memplan.json_text import read_loose_json
from memplan.model_file import parse_config, read_config
from memplan.plan.file import MAX_PLAN_BYTES, parse_plan
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Plan, Scenario
from memplan.units import MB
from memplan.version import PLAN_SUFFIX

STANDARD_INPUT = "-"
_MOST_LISTED = 10


@dataclass(frozen=True, slots=True)
class Source:
    """The plan that was read, where it came from, and what to tell about how it came about."""

    plan: Plan
    place: str
    """What to call it in messages: the file, or the model's id."""
    model_kind: str = ""
    """What was given instead of a plan: "a model's configuration"; empty for a plan."""

    @property
    def note(self) -> str:
        """What to tell before the answer; empty for a plan."""
        if not self.model_kind:
            return ""
        return (
            f"This is {self.model_kind}, not a plan: estimated with every default that no option changes (see below). "
            "`memplan` opens a window to change them in."
        )

    @contextmanager
    def naming_it(self) -> Iterator[None]:
        """Let errors name what the person gave: the file, and of a plan the scenario too."""
        try:
            yield
        except ScenarioError as error:
            found = error.problem if self.model_kind else error
            inside = found.place.removeprefix("config.") if self.model_kind else found.place
            place = ": ".join(part for part in (self.place, inside) if part)
            raise MemplanError(found.message, place=place, remedy=found.remedy) from error


def read_source(argument: str) -> Source:
    """Read a plan, or make one of a model with every default.

    Args:
        argument: a file, the folder of a model, the id of a catalog's model, or "-" for standard input.

    Raises:
        MemplanError: it is none of them, and why.
    """
    if argument == STANDARD_INPUT:
        return _from_bytes(_standard_input(), "standard input", Path())
    path = Path(argument)
    if is_folder(path):
        return _from_config(read_config(path), path / "config.json", str(path / "config.json"))
    if is_missing(path) and (found := _from_catalog(argument)):
        return found
    data = read_file(path, limit_bytes=MAX_PLAN_BYTES, what="a plan", error=PlanError)
    return _from_bytes(data, argument, path)


def scenario_position(plan: Plan, wanted: str) -> int:
    """Where the scenario stands that `--scenario` names: by its name, else by its number, from 1.

    Raises:
        PlanError: the plan has none of that name or number.
    """
    names = [one.name for one in plan.scenarios]
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    raise PlanError(f"the plan has no scenario {wanted!r}; there are {listed_scenarios(plan)}.", place="--scenario")


def listed_scenarios(plan: Plan) -> str:
    """The numbers and names that `--scenario` takes: "1 'one', 2 'other'"."""
    known = [f"{number} {one.name!r}" for number, one in enumerate(plan.scenarios, start=1)]
    more = len(known) - _MOST_LISTED
    return ", ".join([*known[:_MOST_LISTED], *([f"and {more:,} more"] if more > 0 else [])])


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise PlanError("standard input is closed, so there is nothing to read.", remedy="Give a file.")
    data = sys.stdin.buffer.read(MAX_PLAN_BYTES + 1)
    if len(data) > MAX_PLAN_BYTES:
        raise PlanError(f"holds more than {MAX_PLAN_BYTES / MB:.0f} MB.", place="standard input")
    return data


def _from_catalog(name: str) -> Source | None:
    """The catalog's model of that name; None for what is rather a file's name."""
    if name.endswith((PLAN_SUFFIX, ".json")):
        return None
    try:
        entry = catalog_model(name)
    except UnknownEntryError as error:
        raise PlanError(
            "there is no such file, and no model of that name in the catalog.", place=name, remedy=error.remedy
        ) from None
    scenario = Scenario(model=ModelChoice(catalog=entry.id))
    return Source(Plan(title=entry.id, scenarios=(scenario,)), entry.id, "a model of the catalog")


def _from_bytes(data: bytes, place: str, path: Path) -> Source:
    if path.suffix == PLAN_SUFFIX or not _looks_like_config(data):
        return Source(parse_plan(data, place), place)
    return _from_config(parse_config(data, place), path, place)


def _looks_like_config(data: bytes) -> bool:
    """Whether the bytes are an object that is no plan; what is no object at all, the plan's reader words best."""
    try:
        content = read_loose_json(data, place="", error=MemplanError)
    except MemplanError:
        return False
    return isinstance(content, dict) and "scenarios" not in content and "memplan" not in content


def _from_config(config: dict[str, object], path: Path, place: str) -> Source:
    name = config.get("_name_or_path") or path.absolute().parent.name
    scenario = Scenario(model=ModelChoice(config=config, name=str(name)[:200]))
    return Source(Plan(title=str(name)[:500], scenarios=(scenario,)), place, "a model's configuration")
