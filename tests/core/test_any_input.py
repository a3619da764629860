"""Whatever bytes come, the answer is a plan, a configuration or words; never another kind of error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memplan.errors import MemplanError, PlanError
from memplan.model_file import SIZES, parse_config
from memplan.plan.edit import replaced
from memplan.plan.file import parse_plan, plan_bytes
from memplan.plan.scenario import Plan
from tests.core.plan_strategies import JSON_OBJECTS, JSON_SCALARS, plans
from tests.core.test_edit import PATHS

ANYTHING = st.recursive(
    JSON_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3)
)


def answer_or_words(read: Callable[[bytes, str], Any], data: bytes) -> Any:
    try:
        return read(data, "x")
    except MemplanError as problem:
        return str(problem)


def plan_or_words(data: bytes) -> None:
    answer = answer_or_words(parse_plan, data)
    assert isinstance(answer, Plan) or answer.startswith("x: ")


@given(data=st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    plan_or_words(data)
    answer = answer_or_words(parse_config, data)
    assert isinstance(answer, dict) or answer.startswith("x: ")


@given(plan=plans(), data=st.data())
@settings(max_examples=50)
def test_a_damaged_plan(plan: Plan, data: st.DataObject) -> None:
    whole = plan_bytes(plan)
    start = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, 40))
    plan_or_words(whole[:start] + data.draw(st.binary(max_size=5)) + whole[start + length :])


@given(path=st.sampled_from(PATHS), value=ANYTHING, plan=plans())
@settings(max_examples=200)
def test_any_value_at_any_place_of_a_file_and_of_an_edit(path: str, value: Any, plan: Plan) -> None:
    content = json.loads(plan_bytes(plan))
    *steps, last = path.replace("[0]", ".0").split(".")
    node = content
    for step in steps:
        node = node[int(step)] if step.isdigit() else node.setdefault(step, {})  # an empty section is left out
    node[last] = value
    words: list[str | None] = []
    for attempt in (lambda: parse_plan(json.dumps(content).encode()), lambda: replaced(plan, path, value)):
        try:
            attempt()
            words.append(None)
        except PlanError as problem:
            words.append(str(problem))
    if path == "scenarios":  # A list of objects is read one by one: the first bad one is told, not all.
        words = [word and "refused" for word in words]
    assert words[0] == words[1]


@given(config=JSON_OBJECTS, sizes=st.dictionaries(st.sampled_from(SIZES), ANYTHING, max_size=3))
def test_any_object_as_a_configuration(config: dict[str, Any], sizes: dict[str, Any]) -> None:
    answer = answer_or_words(parse_config, json.dumps({**config, **sizes}).encode())
    if isinstance(answer, str):
        assert answer.startswith("x: ")
    else:
        assert all(value is None or isinstance(value, int | list) for name, value in answer.items() if name in SIZES)
