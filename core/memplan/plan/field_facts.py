"""What a field of the plan may hold, taken from the field itself: kind, range, choices, unit.

Forms, error messages and the documentation all ask here, so that a range is written down once, on the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from memplan.number_style import number

Kind = Literal["whole number", "number", "switch", "choice", "text", "names", "object", "section", "list"]


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """Title, description and what is allowed; `choices` beside kind `names` are words that stand for a whole list."""

    title: str
    description: str
    kind: Kind
    unit: str = ""
    choices: tuple[str, ...] = ()
    optional: bool = False
    """Whether null is allowed."""
    minimum: int | float | None = None
    maximum: int | float | None = None
    above: int | float | None = None
    """Exclusive lower bound."""
    below: int | float | None = None
    """Exclusive upper bound."""
    min_length: int | None = None
    max_length: int | None = None
    section: type[BaseModel] | None = None
    """The model of a section, or of a list's entries."""
    default: Any = None

    @property
    def allowed(self) -> str:
        """What the field takes, in words: "a whole number from 1 to 1,000,000"."""
        words = _ALLOWED[self.kind](self)
        return f"{words}, or null" if self.optional else words


@lru_cache(maxsize=512)
def _facts_of(model: type[BaseModel], name: str) -> FieldFacts:
    field = model.model_fields[name]
    extra = field.json_schema_extra
    unit = extra.get("unit", "") if isinstance(extra, dict) else ""
    base = FieldFacts(
        title=field.title or name,
        description=field.description or "",
        kind="text",
        unit=str(unit),
        default=None if field.is_required() else field.get_default(call_default_factory=True),
    )
    return _with_annotation(base, field.annotation, field.metadata)


def facts(model: type[BaseModel], name: str) -> FieldFacts:
    """What one field of a plan's model may hold.

    Args:
        model: the class that has the field, such as Training.
        name: the field's name, such as "micro_batch".

    Raises:
        KeyError: the class has no such field.
    """
    return _facts_of(model, name)


def _with_annotation(known: FieldFacts, annotation: Any, metadata: Iterable[Any]) -> FieldFacts:
    """Add what a type says; unions are taken apart, so that a bound inside `Annotated[int, ...] | None` counts."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        return _with_annotation(known, inner, [*metadata, *_flat(more)])
    if origin in (Union, UnionType):
        for member in get_args(annotation):
            known = replace(known, optional=True) if member is NoneType else _with_annotation(known, member, metadata)
        return known
    if origin is Literal:
        return replace(known, kind="choice", choices=tuple(str(choice) for choice in get_args(annotation)))
    if origin is tuple:
        entry = get_args(annotation)[0]
        if isinstance(entry, type) and issubclass(entry, BaseModel):
            known = replace(known, kind="list", section=entry)
        else:
            known = replace(known, kind="names")
    elif origin is dict:
        known = replace(known, kind="object")
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        known = replace(known, kind="section", section=annotation)
    else:
        known = replace(known, kind=_SCALARS[annotation])
    return _with_bounds(known, metadata)


def _flat(metadata: Iterable[Any]) -> Iterable[Any]:
    for item in metadata:
        yield from item.metadata if isinstance(item, FieldInfo) else (item,)


def _with_bounds(known: FieldFacts, metadata: Iterable[Any]) -> FieldFacts:
    for bound in metadata:
        match bound:
            case annotated_types.Ge(ge=value):
                known = replace(known, minimum=_number(value))
            case annotated_types.Le(le=value):
                known = replace(known, maximum=_number(value))
            case annotated_types.Gt(gt=value):
                known = replace(known, above=_number(value))
            case annotated_types.Lt(lt=value):
                known = replace(known, below=_number(value))
            case annotated_types.MinLen(min_length=value):
                known = replace(known, min_length=value)
            case annotated_types.MaxLen(max_length=value):
                known = replace(known, max_length=value)
            case _:
                pass
    return known


def _number(value: Any) -> int | float:
    if not isinstance(value, int | float):
        raise TypeError(f"a bound that is no number: {value!r}")
    return value


_SCALARS: dict[Any, Kind] = {int: "whole number", float: "number", bool: "switch", str: "text"}


def _range_words(known: FieldFacts) -> str:
    low = f"from {number(known.minimum)}" if known.minimum is not None else ""
    if known.above is not None:
        low = f"above {number(known.above)}"
    if known.maximum is not None:
        return (
            f"{low} to {number(known.maximum)}" if known.above is None else f"{low} and at most {number(known.maximum)}"
        )
    return f"{low} to below {number(known.below)}" if known.below is not None else low


def _numeric_words(known: FieldFacts) -> str:
    return f"a {known.kind} {_range_words(known)}".rstrip()


def _text_words(known: FieldFacts) -> str:
    words = "text"
    if known.min_length:
        words += " that is not empty"
    if known.max_length is not None:
        words += f" of at most {number(known.max_length)} characters"
    return words


def _names_words(known: FieldFacts) -> str:
    words = ", ".join(f'"{choice}"' for choice in known.choices)
    return f"{words} or a list of names" if words else "a list of names"


def _list_words(known: FieldFacts) -> str:
    return (
        f"a list of {number(known.min_length or 0)} to {number(known.max_length)} objects"
        if known.max_length
        else "a list"
    )


def joined(words: Iterable[str]) -> str:
    """Write alternatives as a sentence does.

    >>> joined(["full", "lora", "freeze"])
    'full, lora or freeze'
    """
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


_ALLOWED = {
    "whole number": _numeric_words,
    "number": _numeric_words,
    "switch": lambda known: "true or false",
    "choice": lambda known: joined(known.choices),
    "text": _text_words,
    "names": _names_words,
    "object": lambda known: "an object",
    "section": lambda known: "an object",
    "list": _list_words,
}
