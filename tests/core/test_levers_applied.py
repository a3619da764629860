"""`memplan levers --apply` and `-o`: the plan that is saved is the one that the levers make, or nothing is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.cli.ending import run
from memplan.estimate import estimate
from memplan.levers import LEVERS
from memplan.making_fit import make_fit
from memplan.plan.edit import replaced
from memplan.plan.file import load_plan, save_plan
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Plan, Scenario

TRAINS = Scenario(name="trains", model=ModelChoice(catalog="meta-llama/Llama-3.1-8B"))
SERVES = replaced(replaced(TRAINS, "name", "serves"), "training.method", "inference")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "run.memplan"
    save_plan(Plan(title="A run", notes="Kept.", scenarios=(TRAINS, SERVES)), path)
    return path


def test_named_levers_are_saved_upon_one_another(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_id = {lever.id: lever for lever in LEVERS}
    out = plan.with_name("out.memplan")
    ways = ["--apply", "fused_optimizer", "--apply", "Checkpointing", "--scenario", "trains"]
    assert run(["levers", str(plan), *ways, "-o", str(out)]) == 0
    wanted = by_id["checkpointing"].apply(by_id["fused_optimizer"].apply(TRAINS))
    assert wanted.training.optimizer_impl == "fused"
    assert wanted.training.checkpointing == "full"
    assert load_plan(out) == Plan(title="A run", notes="Kept.", scenarios=(wanted, SERVES))
    words = capsys.readouterr().out
    assert f"Saved {out}:" in words.replace("\n", "")
    assert words.count("serves") == 0  # the other scenario was not asked about


def test_a_lever_that_halves_can_be_used_twice(plan: Path) -> None:
    ways = ["--apply", "shorter_sequence", "--apply", "shorter_sequence", "-o", str(plan)]
    assert run(["levers", str(plan), *ways]) == 0
    lengths = [one.training.sequence_length for one in load_plan(plan).scenarios]
    assert lengths == [TRAINS.training.sequence_length // 4] * 2


def test_without_a_name_the_least_costly_set_is_saved(plan: Path) -> None:
    """What the window's Make it fit applies; a scenario that fits stays as it is."""
    out = plan.with_name("out.memplan")
    assert run(["levers", str(plan), "-o", str(out)]) == 0
    best = make_fit(TRAINS).best
    assert best is not None
    assert best.uses
    assert load_plan(out).scenarios == (best.scenario, SERVES)


def test_json_says_what_was_applied(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def answers(*ways: str) -> list[Any]:
        assert run(["levers", str(plan), "--json", "--scenario", "1", *ways]) == 0
        return list(json.loads(capsys.readouterr().out)["scenarios"])

    (answer,) = answers("--apply", "fused_optimizer")
    fused = replaced(TRAINS, "training.optimizer_impl", "fused")
    assert answer["applied"]["changes"] == {"training.optimizer_impl": "fused"}
    assert answer["applied"]["need"]["high"] == estimate(fused).need.high
    assert answers()[0]["applied"] is None


@pytest.mark.parametrize(
    ("ways", "words"),
    [
        (["--apply", "fused_optimizr"], "there is no lever 'fused_optimizr'. There are: fused_optimizer"),
        (["--apply", "fused_optimizer"], "serves: Fused optimizer does not apply: inference trains nothing."),
        (["--target", "gtx-1080-ti"], "trains: there is nothing to save: Nothing that may change makes it fit"),
        (["--scenario", "third"], "the plan has no scenario 'third'; there are 1 'trains', 2 'serves'."),
    ],
)
def test_what_cannot_be_applied_saves_nothing(
    plan: Path, capsys: pytest.CaptureFixture[str], ways: list[str], words: str
) -> None:
    before = plan.read_bytes()
    assert run(["levers", str(plan), *ways, "-o", str(plan)]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""
    assert plan.read_bytes() == before
