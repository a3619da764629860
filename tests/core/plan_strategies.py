"""Plans that hypothesis makes: every field over its whole range, taken from the fields themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from pydantic import BaseModel

from memplan.plan.field_facts import FieldFacts, facts
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Plan, Scenario

JSON_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.text(max_size=20)
    | st.floats(allow_nan=False, allow_infinity=False)
)
JSON_OBJECTS = st.dictionaries(
    st.text(max_size=10),
    st.recursive(
        JSON_SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    ),
    max_size=6,
)


def values(field: FieldFacts) -> st.SearchStrategy[Any]:
    """Everything that a field takes."""
    text = st.text(min_size=field.min_length or 0, max_size=min(field.max_length or 20, 20))
    match field.kind:
        case "whole number":
            found = st.integers(field.minimum, field.maximum)
        case "number":
            low, high = (
                (field.minimum if field.above is None else field.above),
                (field.maximum if field.below is None else field.below),
            )
            found = st.floats(low, high, exclude_min=field.above is not None, exclude_max=field.below is not None)
        case "switch":
            found = st.booleans()
        case "choice":
            found = st.sampled_from(field.choices)
        case "text":
            found = text
        case "names":
            found = (
                st.sampled_from(field.choices) | st.lists(text, max_size=3).map(tuple)
                if field.choices
                else st.lists(text, max_size=3).map(tuple)
            )
        case "object":
            found = JSON_OBJECTS
        case "section":
            assert field.section is not None
            found = sections(field.section)
        case "list":
            assert field.section is not None
            # Two are enough to have neighbours; more make plans so large that hypothesis gives most of them up.
            found = st.lists(sections(field.section), min_size=field.min_length or 0, max_size=2).map(tuple)
    return st.none() | found if field.optional else found


def sections(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Everything that a model takes."""
    if model is ModelChoice:
        return model_choices()
    fields = {name: values(facts(model, name)) for name in model.model_fields if name != "memplan"}
    return st.builds(model, **fields)


def model_choices() -> st.SearchStrategy[ModelChoice]:
    """The three ways to name a model, each with what may go with it."""

    def only(name: str) -> st.SearchStrategy[Any]:
        return values(replace(facts(ModelChoice, name), optional=False))

    def other(name: str) -> st.SearchStrategy[Any]:
        return values(facts(ModelChoice, name))

    return st.one_of(
        st.builds(ModelChoice, catalog=only("catalog"), name=other("name")),
        st.builds(ModelChoice, config=only("config"), name=other("name")),
        st.builds(
            ModelChoice,
            parameters=only("parameters"),
            name=other("name"),
            **{name: other(name) for name in ("layers", "hidden_size", "vocab_size")},
        ),
    )


def scenarios() -> st.SearchStrategy[Scenario]:
    return sections(Scenario)


def plans() -> st.SearchStrategy[Plan]:
    return sections(Plan)
