"""What is wrong in a plan, in words: where it stands, what was found, what is allowed.

pydantic finds the problems; the words come from the fields themselves, so that a file, a form and the command line
say the same thing about the same value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from memplan.errors import PlanError
from memplan.number_style import number
from memplan.plan.field_facts import FieldFacts, facts, joined
from memplan.plan.model_choice import ModelChoice
from memplan.plan.paths import Part, format_path
from memplan.plan.scenario import Plan
from memplan.printable import printable

MAX_LISTED = 20
_MODEL = "meta-llama/Llama-3.1-8B"
_LONGEST_VALUE = 40
_ENTRY = FieldFacts(title="", description="", kind="text")
"""One name in a list of names."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Args:
        path: where inside the plan, `scenarios[0].training.micro_batch`; empty for the whole.
        message: what was found and what is allowed, a sentence.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class InvalidPlanError(PlanError):
    """A plan, or a part of one, with values that cannot be taken; `problems` lists all of them."""

    def __init__(self, problems: Sequence[Problem], *, place: str = "") -> None:
        self.problems = tuple(problems)
        if len(problems) == 1:
            first = problems[0]
            super().__init__(first.message, place=": ".join(part for part in (place, first.path) if part))
            return
        listed = [f"  {problem}" for problem in problems[:MAX_LISTED]]
        if len(problems) > MAX_LISTED:
            listed.append(f"  and {number(len(problems) - MAX_LISTED)} more")
        super().__init__("\n".join([f"{number(len(problems))} problems", *listed]), place=place)


def invalid_plan(
    error: ValidationError, model: type[BaseModel], *, place: str = "", under: Sequence[Part] = ()
) -> InvalidPlanError:
    """Turn pydantic's findings about a model into an error in words.

    Args:
        error: what pydantic raised.
        model: the class that was validated.
        place: the file, if the plan came from one.
        under: where inside the plan the validated part stands.
    """
    found: dict[str, Problem] = {}
    for detail in error.errors(include_url=False):
        if _is_beside_the_point(detail):
            continue
        problem = _problem(detail, model, under)
        found.setdefault(problem.path, problem)
    return InvalidPlanError(list(found.values()), place=place)


def shown(value: Any) -> str:
    """Write a value that was found, shortened, with its kind where that is the point.

    >>> shown("8"), shown(True), shown([1, 2, 3]), shown(2.5)
    ('"8" (text)', 'true', 'a list of 3', '2.5')
    """
    if isinstance(value, str):
        return f"{quoted(value)} (text)"
    if isinstance(value, list | tuple):
        return f"a list of {number(len(value))}" if value else "an empty list"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, int) and abs(value) >= 10**30:
        return f"a number of about {number(int(value.bit_length() * 0.30103) + 1)} digits"
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return f"a {type(value).__name__}"


def quoted(text: str) -> str:
    """Write text in quotation marks, shortened, with control characters as escapes.

    >>> quoted("a" * 50) == '"' + "a" * 40 + '…"'
    True
    """
    short = text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
    return printable(json.dumps(short, ensure_ascii=False))


def _problem(detail: ErrorDetails, model: type[BaseModel], under: Sequence[Part]) -> Problem:
    parts, owner, field = _followed(model, detail["loc"])
    path = format_path([*under, *parts])
    kind = detail["type"]
    if kind == "extra_forbidden":
        return Problem(path, _unknown_field(str(parts[-1]), owner))
    if kind == "missing":
        return Problem(path, f"is missing. {field.description}" if field else "is missing.")
    if kind == "value_error":
        return Problem(path, f"{detail['ctx']['error']}.")
    if field is None:
        return Problem(path, f"found {shown(detail['input'])}; allowed is an object.")
    return Problem(path, _refused(detail["input"], field))


def _followed(
    model: type[BaseModel], location: Sequence[Part]
) -> tuple[list[Part], type[BaseModel], FieldFacts | None]:
    """Follow pydantic's location: the path, the class that its last name is looked up in, the field of that name."""
    parts: list[Part] = []
    owner: type[BaseModel] = model
    inside: type[BaseModel] | None = model
    field: FieldFacts | None = None
    for part in location:
        if isinstance(part, int):
            inside = field.section if field else None
            field = None if inside else _ENTRY
        elif inside is None:
            continue  # A union names its members in the location; they are no part of the path.
        else:
            owner = inside
            field = facts(owner, part) if part in owner.model_fields else None
            inside = field.section if field and field.kind == "section" else None
        parts.append(part)
    return parts, owner, field


def _is_beside_the_point(detail: ErrorDetails) -> bool:
    """Whether a finding only follows from another: a list is no word, and its bad entries leave it too short."""
    if detail["type"] == "too_short":
        return bool(len(detail["input"]) > detail["ctx"]["actual_length"])
    last = detail["loc"][-1] if detail["loc"] else ""
    return isinstance(last, str) and last.startswith("literal[") and isinstance(detail["input"], list | tuple)


def _refused(value: Any, field: FieldFacts) -> str:
    if isinstance(value, str) and field.choices:
        near = _close_matches(value.lower(), field.choices, most=1)
        hint = f"; did you mean {near[0]}?" if near else "."
        return f"found {quoted(value)}{hint} Allowed: {field.allowed}."
    if isinstance(value, str) and field.max_length is not None and len(value) > field.max_length:
        return f"found text of {number(len(value))} characters; allowed is {field.allowed}."
    if isinstance(value, str) and field.section is ModelChoice:
        return f"found {shown(value)}; allowed is {field.allowed}, such as {json.dumps({'catalog': _MODEL})}."
    return f"found {shown(value)}; allowed is {field.allowed}."


def _unknown_field(name: str, owner: type[BaseModel]) -> str:
    if homes := _homes(Plan, name, ()):
        return f"unknown field here; it belongs at {joined(homes)}."
    if near := _close_matches(name, owner.model_fields, most=3, cutoff=0.7):
        return f"unknown field; did you mean {joined(near)}?"
    return f"unknown field. Known here: {', '.join(owner.model_fields)}."


def _close_matches(word: str, known: Iterable[str], *, most: int, cutoff: float = 0.6) -> list[str]:
    from difflib import (
        get_close_matches,
    )  # a plan without mistakes needs none, and the window's start waits for imports

    return get_close_matches(word, list(known), n=most, cutoff=cutoff)


def _homes(model: type[BaseModel], name: str, under: tuple[Part, ...]) -> list[str]:
    """Every place in a plan that has a field of this name, for a field that someone put one level off."""
    found: list[str] = []
    for field_name in model.model_fields:
        field = facts(model, field_name)
        here = (*under, field_name)
        if field_name == name:
            found.append(format_path(part for part in here if part != "scenarios"))
        if field.section is not None:
            found.extend(_homes(field.section, name, here))
    return found
