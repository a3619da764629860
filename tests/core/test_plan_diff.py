"""Plan files lie in repositories: each value has a line of its own, in an order that never changes."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan import Plan, load_plan, parse_plan, plan_bytes, replaced, resource

EXAMPLE = load_plan(resource("examples", "llama-3.1-8b.memplan"))
EDITS: list[tuple[str, Any]] = [
    ("title", "Another title"),
    ("notes", "one\ntwo"),
    ("scenarios[0].name", "another"),
    ("scenarios[0].training.micro_batch", 7),
    ("scenarios[1].training.optimizer", "lion"),
    ("scenarios[2].training.lora.rank", 99),
    ("scenarios[0].hardware.headroom", 0.07),
    ("scenarios[0].hardware.offload.optimizer", True),
    ("scenarios[0].hardware.sharding.strategy", "fsdp2"),
]


def changed_lines(before: Plan, after: Plan) -> tuple[list[str], list[str]]:
    """Lines that are gone and lines that are new, as `git diff` shows them."""
    lines = [plan_bytes(plan).decode().splitlines() for plan in (before, after)]
    diff = list(difflib.unified_diff(*lines, lineterm="", n=0))[2:]
    return [line[1:] for line in diff if line[0] == "-"], [line[1:] for line in diff if line[0] == "+"]


@pytest.mark.parametrize(("path", "value"), EDITS)
def test_one_value_changed_is_one_line_changed(path: str, value: object) -> None:
    gone, new = changed_lines(EXAMPLE, replaced(EXAMPLE, path, value))
    assert len(gone) == len(new) == 1
    assert f'"{path.rpartition(".")[2]}"' in new[0]
    assert json.dumps(value) in new[0]


def test_a_scenario_that_is_added_touches_no_other() -> None:
    more = (*EXAMPLE.scenarios, replaced(EXAMPLE.scenarios[0], "name", "one more"))
    gone, new = changed_lines(EXAMPLE, replaced(EXAMPLE, "scenarios", more))
    assert [line.strip() for line in gone] in ([], ["}"])  # at most the brace that now has a comma
    assert sum('"name": "one more"' in line for line in new) == 1


def test_a_config_keeps_a_value_a_line() -> None:
    config = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "rope_scaling": {"factor": 8.0}}
    before = replaced(EXAMPLE, "scenarios[0].model", {"config": config, "name": "tiny"})
    after = replaced(EXAMPLE, "scenarios[0].model", {"config": {**config, "hidden_size": 128}, "name": "tiny"})
    gone, new = changed_lines(before, after)
    assert [line.strip().rstrip(",") for line in (*gone, *new)] == ['"hidden_size": 64', '"hidden_size": 128']


@given(order=st.permutations(["memplan", "title", "notes", "scenarios"]))
def test_the_order_is_the_same_however_a_file_was_written(order: list[str]) -> None:
    plan = json.loads(plan_bytes(EXAMPLE))
    shuffled = {name: plan[name] for name in order}
    shuffled["scenarios"] = [dict(reversed(list(scenario.items()))) for scenario in plan["scenarios"]]
    assert plan_bytes(parse_plan(json.dumps(shuffled).encode())) == plan_bytes(EXAMPLE)


def test_files_end_with_a_line_and_have_no_windows_line_ends(tmp_path: Path) -> None:
    data = plan_bytes(EXAMPLE)
    assert data.endswith(b"}\n")
    assert b"\r" not in data
    assert all(line == line.rstrip() for line in data.decode().splitlines())
