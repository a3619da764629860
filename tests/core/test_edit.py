"""Editing one value of a plan: checked as a file is, and nothing beside the change is touched."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from memplan.errors import PlanError
from memplan.plan.edit import facts_at, field_at, replaced, value_at
from memplan.plan.field_facts import facts
from memplan.plan.file import parse_plan
from memplan.plan.model_choice import ModelChoice
from memplan.plan.paths import format_path, parse_path
from memplan.plan.scenario import Plan, Scenario
from memplan.plan.training import Lora, Training
from tests.core.plan_strategies import plans, values

SCENARIO = Scenario(model=ModelChoice(catalog="a"))
PLAN = Plan(
    scenarios=(SCENARIO, Scenario(name="other", model=ModelChoice(config={"hidden_size": 64, "rope": {"type": "x"}})))
)


def fields(model: type[BaseModel], under: str = "") -> list[str]:
    """The path of every field in a model, sections and what is in them."""
    found = []
    for name in model.model_fields:
        path = f"{under}.{name}" if under else name
        section = facts(model, name).section
        found.append(path)
        if section is not None:
            found.extend(fields(section, f"{path}[0]" if facts(model, name).kind == "list" else path))
    return found


PATHS = [path for path in fields(Plan) if path != "memplan" and ".model." not in path]


@given(plan=plans(), path=st.sampled_from(PATHS), data=st.data())
def test_an_edit_changes_that_value_alone(plan: Plan, path: str, data: st.DataObject) -> None:
    value = data.draw(values(facts_at(Plan, path)))
    edited = replaced(plan, path, value)
    assert value_at(edited, path) == value
    assert replaced(edited, path, value_at(plan, path)) == plan


def test_what_is_beside_the_change_is_the_same_object() -> None:
    edited = replaced(PLAN, "scenarios[1].training.lora.rank", 8)
    assert edited.scenarios[1].training.lora.rank == 8
    assert PLAN.scenarios[1].training.lora.rank == 16
    assert edited.scenarios[0] is PLAN.scenarios[0]
    assert edited.scenarios[1].model is PLAN.scenarios[1].model
    assert edited.scenarios[1].hardware is PLAN.scenarios[1].hardware
    assert edited.scenarios[1].training.freeze is PLAN.scenarios[1].training.freeze


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("scenarios[1].training.lora.rank", 0, "scenarios[1].training.lora.rank: found 0; allowed is a whole number from 1 to 65,536."),
        ("scenarios[0].training.micro_batch", "8", 'scenarios[0].training.micro_batch: found "8" (text); allowed is a whole number from 1 to 1,000,000.'),
        ("scenarios[0].training.optimizer", "adam", 'scenarios[0].training.optimizer: found "adam"; did you mean adamw?'),
        ("scenarios[0].training.lora.targets", [1], "scenarios[0].training.lora.targets[0]: found 1; allowed is text."),
        ("scenarios[0].training", {"lora": {"rnk": 1}}, "scenarios[0].training.lora.rnk: unknown field; did you mean rank?"),
        ("scenarios[0]", {"name": "x"}, "scenarios[0].model: is missing."),
        ("scenarios[0]", 5, "scenarios[0]: found 5; allowed is an object."),
        ("scenarios", [], "scenarios: found an empty list; allowed is a list of 1 to 1,000 objects."),
        ("scenarios[0].model.catalog", None, "scenarios[0].model: give exactly one of catalog, config and parameters"),
        ("scenarios[2]", SCENARIO, "scenarios[2]: there are 2 scenarios, counted from 0."),
        ("scenarios[0].trainig.micro_batch", 1, "scenarios[0].trainig: nothing stands at this path."),
        ("scenarios[1].model.config.rope.type.x", 1, "scenarios[1].model.config.rope.type.x: nothing stands at this path."),
        ("title.x", 1, "title.x: nothing stands at this path."),
        ("", 1, "'' is not a path; one reads scenarios[0].training.micro_batch."),
        ("scenarios[0]..name", 1, "is not a path"),
    ],
)  # fmt: skip
def test_a_bad_edit_says_what_a_file_would(path: str, value: Any, words: str) -> None:
    with pytest.raises(PlanError) as caught:
        replaced(PLAN, path, value)
    assert words in str(caught.value)


def test_the_words_are_those_of_the_file() -> None:
    content = b'{"scenarios": [{"model": {"catalog": "a"}, "training": {"sequence_length": 1.5}}]}'
    with pytest.raises(PlanError) as in_file:
        parse_plan(content)
    with pytest.raises(PlanError) as in_edit:
        replaced(PLAN, "scenarios[0].training.sequence_length", 1.5)
    assert str(in_file.value) == str(in_edit.value)


def test_plain_objects_and_lists_are_taken_as_a_file_has_them() -> None:
    assert replaced(SCENARIO, "training.lora.targets", ["q_proj"]).training.lora.targets == ("q_proj",)
    assert replaced(SCENARIO, "training.lora", {"rank": 8, "targets": ["q_proj"]}).training.lora == Lora(
        rank=8, targets=("q_proj",)
    )
    assert replaced(PLAN, "scenarios", [SCENARIO, {"model": {"catalog": "a"}}]).scenarios == (SCENARIO, SCENARIO)
    assert replaced(PLAN, "scenarios[1]", {"model": {"catalog": "a"}}).scenarios[1] == SCENARIO


def test_a_value_inside_a_configuration() -> None:
    path = "scenarios[1].model.config.hidden_size"
    edited = replaced(PLAN, path, 128)
    assert (value_at(edited, path), value_at(PLAN, path)) == (128, 64)
    assert value_at(replaced(PLAN, "scenarios[1].model.config.new", 1), "scenarios[1].model.config.new") == 1
    assert value_at(replaced(PLAN, "scenarios[1].model.config.rope.type", "y"), "scenarios[1].model.config.rope") == {
        "type": "y"
    }


def test_the_field_at_a_path() -> None:
    assert field_at(Plan, "scenarios[0].training.micro_batch") is Training.model_fields["micro_batch"]
    assert (
        field_at(Scenario, "training.micro_batch").description
        == "Sequences that one device takes through forward and backward at once; activations and logits grow with it."
    )
    found = facts_at(Scenario, "training.micro_batch")
    assert (found.title, found.kind, found.minimum, found.maximum, found.unit, found.default) == (
        "Micro-batch",
        "whole number",
        1,
        1_000_000,
        "sequences",
        1,
    )
    found = facts_at(Scenario, "training.trainable_fraction")
    assert (found.kind, found.optional, found.above, found.maximum, found.default) == ("number", True, 0, 1, None)
    found = facts_at(Scenario, "training.lora.targets")
    assert (found.kind, found.choices, found.default) == ("names", ("all-linear", "all-linear+lm_head"), "all-linear")
    assert facts_at(Scenario, "training.attention").choices == ("eager", "sdpa", "flash")
    for path in ("training.x", "x", "training.micro_batch.x"):
        with pytest.raises(PlanError, match="Scenario has no field at this path"):
            field_at(Scenario, path)


def test_every_field_of_a_plan_has_a_title_a_description_and_a_range_in_words() -> None:
    for path in fields(Plan):
        found = facts_at(Plan, path)
        assert found.title, path
        assert found.description.endswith("."), path
        assert found.allowed, path


@given(
    parts=st.lists(st.text(min_size=1) | st.integers(0, 10**8), min_size=1).filter(
        lambda parts: isinstance(parts[0], str)
    )
)
def test_any_path_reads_back(parts: list[str | int]) -> None:
    assert list(parse_path(format_path(parts))) == parts
