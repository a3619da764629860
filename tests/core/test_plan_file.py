"""Opening and saving plans. What is right: DESIGN's section on the plan file, and the issue's list of bad input."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from memplan.errors import PlanError
from memplan.plan.file import MAX_PLAN_BYTES, load_plan, migrated, parse_plan, plan_bytes, save_plan
from memplan.plan.model_choice import ModelChoice
from memplan.plan.problems import InvalidPlanError
from memplan.plan.scenario import Plan, Scenario
from tests.core.plan_strategies import plans

LEAST = {"memplan": 1, "scenarios": [{"model": {"catalog": "meta-llama/Llama-3.1-8B"}}]}


def data(content: Any) -> bytes:
    return json.dumps(content).encode()


def with_scenario(**scenario: Any) -> bytes:
    return data({"memplan": 1, "scenarios": [{"model": {"catalog": "a"}, **scenario}]})


def refusal(content: bytes) -> str:
    with pytest.raises(PlanError) as caught:
        parse_plan(content, "x.memplan")
    text = str(caught.value)
    assert text.startswith("x.memplan: ")
    return text.removeprefix("x.memplan: ")


@given(plan=plans())
def test_what_is_saved_opens_equal(plan: Plan) -> None:
    assert parse_plan(plan_bytes(plan)) == plan


@given(plan=plans())
def test_the_same_plan_is_the_same_bytes(plan: Plan) -> None:
    saved = plan_bytes(plan)
    assert plan_bytes(parse_plan(saved)) == saved
    assert saved.endswith(b"}\n")
    assert b"\r" not in saved


def test_save_and_load_through_the_disk(tmp_path: Any) -> None:
    plan = Plan(
        title="Größe · 大きさ", scenarios=(Scenario(model=ModelChoice(config={"hidden_size": 64, "eps": 1e-05})),)
    )
    save_plan(plan, tmp_path / "a.memplan")
    assert load_plan(tmp_path / "a.memplan") == plan
    assert "Größe · 大きさ" in (tmp_path / "a.memplan").read_text(encoding="utf-8")


def test_a_missing_field_means_its_default() -> None:
    assert parse_plan(data(LEAST)) == Plan(scenarios=(Scenario(model=ModelChoice(catalog="meta-llama/Llama-3.1-8B")),))


def test_every_field_is_written_but_the_models_unused_ones() -> None:
    written = json.loads(plan_bytes(parse_plan(data(LEAST))))
    scenario = written["scenarios"][0]
    assert scenario["model"] == {"catalog": "meta-llama/Llama-3.1-8B"}
    assert scenario["training"]["trainable_fraction"] is None
    assert scenario["training"]["lora"]["targets"] == "all-linear"
    assert scenario["hardware"]["offload"] == {"optimizer": False, "parameters": False, "activations": False}


@pytest.mark.parametrize(
    ("scenario", "path", "words"),
    [
        ({"training": {"micro_batch": "8"}}, "training.micro_batch", 'found "8" (text); allowed is a whole number from 1 to 1,000,000.'),
        ({"training": {"micro_batch": True}}, "training.micro_batch", "found true; allowed is a whole number from 1 to 1,000,000."),
        ({"training": {"micro_batch": 8.0}}, "training.micro_batch", "found 8.0; allowed is a whole number from 1 to 1,000,000."),
        ({"training": {"micro_batch": 0}}, "training.micro_batch", "found 0; allowed is a whole number from 1 to 1,000,000."),
        ({"training": {"micro_batch": None}}, "training.micro_batch", "found null; allowed is a whole number from 1 to 1,000,000."),
        ({"training": {"micro_batch": 10**40}}, "training.micro_batch", "found a number of about 41 digits; allowed is a whole number from 1 to 1,000,000."),
        ({"training": {"master_weights": 1}}, "training.master_weights", "found 1; allowed is true or false."),
        ({"training": {"optimizer_impl": "fuse"}}, "training.optimizer_impl", 'found "fuse"; did you mean fused? Allowed: foreach, fused or for_loop.'),
        ({"training": {"weights_dtype": 16}}, "training.weights_dtype", "found 16; allowed is fp32, bf16 or fp16."),
        ({"training": {"trainable_fraction": 2}}, "training.trainable_fraction", "found 2; allowed is a number above 0 and at most 1, or null."),
        ({"training": {"lora": {"targets": ["q_proj", 7]}}}, "training.lora.targets[1]", "found 7; allowed is text."),
        ({"training": {"lora": {"targets": 7}}}, "training.lora.targets", 'found 7; allowed is "all-linear", "all-linear+lm_head" or a list of names.'),
        ({"training": {"lora": []}}, "training.lora", "found an empty list; allowed is an object."),
        ({"hardware": {"headroom": 1}}, "hardware.headroom", "found 1; allowed is a number from 0 to below 1."),
        ({"hardware": {"headroom": "5%"}}, "hardware.headroom", 'found "5%" (text); allowed is a number from 0 to below 1.'),
        ({"name": "n" * 300}, "name", "found text of 300 characters; allowed is text of at most 200 characters."),
        ({"training": {"sequence_lenght": 5}}, "training.sequence_lenght", "unknown field; did you mean sequence_length?"),
        ({"training": {"headroom": 0.1}}, "training.headroom", "unknown field here; it belongs at hardware.headroom."),
        ({"hardware": {"rank": 8}}, "hardware.rank", "unknown field here; it belongs at training.lora.rank."),
        ({"hardware": {"offload": {"zzz": 1}}}, "hardware.offload.zzz", "unknown field. Known here: optimizer, parameters, activations."),
        ({"a b": 1}, '["a b"]', "unknown field. Known here: name, model, training, hardware, measured."),
        ({"model": {"catalog": ""}}, "model.catalog", 'found "" (text); allowed is text that is not empty, or null.'),
        ({"model": {}}, "model", "give exactly one of catalog, config and parameters; found none of them."),
        ({"model": {"catalog": "a", "layers": 3}}, "model", "layers goes with parameters only; a catalog model or a config brings its own."),
        ({"model": {"parameters": 7e9}}, "model.parameters", "found 7000000000.0; allowed is a whole number from 1 to 1,000,000,000,000,000, or null."),
    ],
)  # fmt: skip
def test_a_bad_value_is_named_with_its_path_and_what_is_allowed(
    scenario: dict[str, Any], path: str, words: str
) -> None:
    dot = "" if path.startswith("[") else "."
    assert refusal(with_scenario(**scenario)) == f"scenarios[0]{dot}{path}: {words}"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"memplan": 1}, "scenarios: is missing. The set-ups that the plan compares."),
        ({"memplan": 1, "scenarios": []}, "scenarios: found an empty list; allowed is a list of 1 to 1,000 objects."),
        ({"memplan": 1, "scenarios": {}}, "scenarios: found an object; allowed is a list of 1 to 1,000 objects."),
        ({"memplan": 1, "scenarios": [5]}, "scenarios[0]: found 5; allowed is an object."),
        ({"memplan": 1, "scenarios": [{}]}, "scenarios[0].model: is missing. Which model is trained."),
        ({**LEAST, "memplan": "1"}, 'memplan: found "1" (text); allowed is 1.'),
        ({**LEAST, "memplan": True}, "memplan: found true; allowed is 1."),
        ({**LEAST, "memplan": 0}, "memplan: found 0; allowed is 1."),
        ({**LEAST, "memplan": None}, "memplan: found null; allowed is 1."),
        ([LEAST], "a plan is an object with scenarios; this file holds a list of 1."),
        ("plan", 'a plan is an object with scenarios; this file holds "plan" (text).'),
        ({"model_type": "llama"}, "is a model's config.json, not a plan. Open it as the model of a scenario."),
    ],
)  # fmt: skip
def test_a_plan_that_is_none(content: Any, words: str) -> None:
    assert refusal(data(content)) == words


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty."),
        (b" \n\t\n", "the file is empty."),
        (data(LEAST)[:40], "ends in the middle, at line 1: the file is truncated. Get it again from where it came."),
        (b'{"title": "never en', "ends in the middle, at line 1: the file is truncated. Get it again from where it came."),
        (b'{\n  "memplan" 1}', "is not JSON: line 2, column 13: expecting ':' delimiter."),
        (b"\x89PNG\r\n\x1a\n\0\0", "is not a text file (byte 0 is not UTF-8). Check that it is the right file."),
        (b"{}\0\0", "is not a text file (it holds zero bytes). Check that it is the right file."),
        ('{"memplan": 1}'.encode("utf-16"), "is UTF-16 text. Save it as UTF-8."),
        (b'{"memplan": 1, "memplan": 1}', 'the key "memplan" stands twice in one object.'),
        (b'{"scenarios": [NaN]}', "holds NaN, which is no number in JSON."),
        (b'{"scenarios": [-Infinity]}', "holds -Infinity, which is no number in JSON."),
        (b'{"scenarios": [-1e999]}', "holds -1e999, which is too large a number."),
        (b'{"scenarios": [' + b"9" * 5000 + b"]}", "a number has more digits than can be read."),
        (b"[" * 100_000, "is nested more than 100 levels deep."),
        (b'{"a":' * 150 + b"1" + b"}" * 150, "is nested more than 100 levels deep."),
        (b'{"scenarios": [{"model": {"catalog": "\\ud800"}}]}', "holds text that is not valid Unicode."),
    ],
)  # fmt: skip
def test_what_is_no_json_says_so(content: bytes, words: str) -> None:
    assert refusal(content) == words


def test_a_byte_order_mark_is_let_pass() -> None:
    assert parse_plan(b"\xef\xbb\xbf" + data(LEAST)) == parse_plan(data(LEAST))


def test_a_newer_version_says_which_memplan_it_needs() -> None:
    newer = {"memplan": 2, "scenarios": [{"a field of tomorrow": 1}]}
    words = refusal(data(newer))
    assert words.startswith("is a plan of file version 2; this memplan reads versions up to 1.")
    assert "a memplan that reads file version 2" in words


def test_an_older_version_migrates_one_version_at_a_time() -> None:
    steps = {
        1: lambda content: {**content, "title": content["title"] + ", of version 2"},
        2: lambda content: {**content, "title": content["title"] + ", of version 3"},
    }
    content = migrated({"memplan": 1, "title": "Old"}, migrations=steps, newest=3)
    assert content == {"memplan": 3, "title": "Old, of version 2, of version 3"}
    assert migrated({"memplan": 2, "title": "Newer"}, migrations=steps, newest=3)["title"] == "Newer, of version 3"
    with pytest.raises(PlanError, match="allowed is a whole number from 1 to 3"):
        migrated({"memplan": -1}, migrations=steps, newest=3)


def test_all_problems_are_listed_the_first_one_first() -> None:
    with pytest.raises(InvalidPlanError) as caught:
        parse_plan(with_scenario(name=3, training={"micro_batch": 0}, hardware={"devices": 0}), "x.memplan")
    assert [problem.path for problem in caught.value.problems] == [
        "scenarios[0].name",
        "scenarios[0].training.micro_batch",
        "scenarios[0].hardware.devices",
    ]
    assert str(caught.value).splitlines()[:2] == [
        "x.memplan: 3 problems",
        "  scenarios[0].name: found 3; allowed is text of at most 200 characters.",
    ]


def test_of_very_many_problems_the_rest_is_counted() -> None:
    many = data({"memplan": 1, "scenarios": [{"model": {"catalog": "a"}, "name": 1}] * 500})
    lines = refusal(many).splitlines()
    assert lines[0] == "500 problems"
    assert lines[-1] == "  and 480 more."


def test_a_model_that_is_only_named_is_told_how_to_write_it() -> None:
    assert refusal(data({"memplan": 1, "scenarios": [{"model": "meta-llama/Llama-3.1-8B"}]})) == (
        'scenarios[0].model: found "meta-llama/Llama-3.1-8B" (text); '
        'allowed is an object, such as {"catalog": "meta-llama/Llama-3.1-8B"}.'
    )


def test_a_file_that_is_too_large_is_not_read(tmp_path: Any) -> None:
    large = tmp_path / "large.memplan"
    with large.open("wb") as stream:
        stream.truncate(50_000_000)
    with pytest.raises(PlanError, match=r"large\.memplan: is 50\.0 MB; a plan takes at most 20 MB\."):
        load_plan(large)
    assert MAX_PLAN_BYTES == 20_000_000


def test_a_configuration_that_json_cannot_hold_is_refused_at_saving(tmp_path: Any) -> None:
    for value in (float("nan"), object(), {1, 2}):
        plan = Plan(scenarios=(Scenario(model=ModelChoice(config={"hidden_size": value})),))
        with pytest.raises(PlanError, match="cannot be written as JSON"):
            save_plan(plan, tmp_path / "a.memplan")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [("missing.memplan", "there is no such file. Check the name."), (".", "is a folder, not a file. Give a file inside it."), ("a\0b", "is not the name of a file")],
)  # fmt: skip
def test_a_place_where_no_plan_is(tmp_path: Any, name: str, words: str) -> None:
    with pytest.raises(PlanError) as caught:
        load_plan(tmp_path / name)
    assert words in str(caught.value)
