"""Change one value of a plan: a new plan comes back, checked, and everything beside the change is the same objects.

Every level from the value up to the root is validated again, so no plan ever exists that a file could not hold.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from memplan.errors import PlanError
from memplan.plan.field_facts import FieldFacts, facts
from memplan.plan.paths import Part, format_path, parse_path
from memplan.plan.problems import invalid_plan

ModelT = TypeVar("ModelT", bound=BaseModel)


def value_at(root: BaseModel, path: str) -> Any:
    """Return the value at a path.

    Args:
        root: a plan, a scenario or a part of one.
        path: where, from the root: "training.lora.rank", "scenarios[0].model".

    Raises:
        PlanError: nothing stands there.
    """
    value: Any = root
    parts = parse_path(path)
    for depth, part in enumerate(parts):
        value = _child(value, part, parts[:depth])
    return value


def replaced(root: ModelT, path: str, value: Any) -> ModelT:
    """Return a copy of a plan or scenario with one value changed.

    Args:
        root: a plan, a scenario or a part of one.
        path: where, from the root: "training.lora.rank", "scenarios[0].model", "scenarios[1]".
        value: the new value, of the field's own type; objects and lists may be plain ones, as a file holds them.

    Raises:
        PlanError: nothing stands there, or the value cannot be taken: in the words that a file's error has.
    """
    changed: ModelT = _replaced(root, parse_path(path), 0, value)
    return changed


def field_at(model: type[BaseModel], path: str) -> FieldInfo:
    """Return pydantic's own description of the field at a path; positions are left out or any: "scenarios[0].name".

    Raises:
        PlanError: the model has no such field.
    """
    owner, name = _owner_of(model, path)
    return owner.model_fields[name]


def facts_at(model: type[BaseModel], path: str) -> FieldFacts:
    """Return title, description, kind, range, choices and unit of the field at a path, for a form.

    Raises:
        PlanError: the model has no such field.
    """
    return facts(*_owner_of(model, path))


def _owner_of(model: type[BaseModel], path: str) -> tuple[type[BaseModel], str]:
    names = [part for part in parse_path(path) if isinstance(part, str)]
    owner = model
    for depth, name in enumerate(names):
        if name not in owner.model_fields:
            break
        if depth == len(names) - 1:
            return owner, name
        section = facts(owner, name).section
        if section is None:
            break
        owner = section
    raise PlanError(f"{model.__name__} has no field at this path.", place=path)


def _replaced(node: Any, parts: Sequence[Part], depth: int, value: Any) -> Any:
    """The node with the value at parts[depth:] changed; parts[:depth] is where the node stands."""
    if depth == len(parts):
        return value
    part = parts[depth]
    if isinstance(node, BaseModel) and isinstance(part, str) and part in type(node).model_fields:
        new = _replaced(node.__dict__[part], parts, depth + 1, value)
        if isinstance(new, dict | list | tuple):
            new = _plain_taken(facts(type(node), part), new, parts[: depth + 1])
        return _validated(type(node), {**node.__dict__, part: new}, parts[:depth])
    old = _child(node, part, parts[:depth], creating=depth == len(parts) - 1)
    new = _replaced(old, parts, depth + 1, value)
    if isinstance(node, tuple) and isinstance(part, int):
        return (*node[:part], new, *node[part + 1 :])
    return {**node, part: new}


def _validated(model: type[ModelT], values: dict[str, Any], under: Sequence[Part]) -> ModelT:
    try:
        # Parts that are models already are taken as they are: this costs a few microseconds, whatever the plan's size.
        return model.__pydantic_validator__.validate_python(values, strict=True)  # type: ignore[no-any-return]
    except ValidationError as problem:
        raise invalid_plan(problem, model, under=under) from None


def _plain_taken(field: FieldFacts, value: Any, under: Sequence[Part]) -> Any:
    """Take lists for tuples, and objects for sections, as a plan's file has them."""
    if isinstance(value, list):
        value = tuple(value)
    if field.kind == "section" and field.section is not None and isinstance(value, dict):
        return _from_plain(field.section, value, under)
    if field.kind == "list" and field.section is not None and isinstance(value, tuple):
        return tuple(
            _from_plain(field.section, entry, [*under, position]) if isinstance(entry, dict) else entry
            for position, entry in enumerate(value)
        )
    return value


def _from_plain(section: type[BaseModel], value: dict[str, Any], under: Sequence[Part]) -> Any:
    try:
        return section.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as problem:
        raise invalid_plan(problem, section, under=under) from None
    except (TypeError, ValueError, RecursionError):
        return value  # It has no form in JSON; the level above says what is wrong with it.


def _child(node: Any, part: Part, under: Sequence[Part], *, creating: bool = False) -> Any:
    if isinstance(node, BaseModel) and isinstance(part, str) and part in type(node).model_fields:
        return node.__dict__[part]
    if isinstance(node, tuple) and isinstance(part, int):
        if part < len(node):
            return node[part]
        name = format_path(under)
        raise PlanError(f"there are {len(node)} {name}, counted from 0.", place=format_path([*under, part]))
    if isinstance(node, dict) and isinstance(part, str) and (part in node or creating):
        return node.get(part)
    raise PlanError("nothing stands at this path.", place=format_path([*under, part]))
