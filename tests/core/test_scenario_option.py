"""--scenario means the same to every command: a name, else a number from 1."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from memplan.cli.commands import memplan_command
from memplan.cli.ending import run
from memplan.plan.file import save_plan
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Plan, Scenario

SMALL = Scenario(name="small", model=ModelChoice(catalog="openai-community/gpt2"))
OTHER = Scenario(name="1", model=ModelChoice(catalog="meta-llama/Llama-3.2-1B"))
"""Its name is the number of another: names come first."""
MESSAGE = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB."
COMMANDS = {
    "report": ["report", "run.memplan", "-o", "out.md"],
    "export": ["export", "run.memplan", "--as", "script"],
    "levers": ["levers", "run.memplan"],
    "diagnose": ["diagnose", "message.txt", "--plan", "run.memplan"],
    "calibrate": ["calibrate", "run.memplan", "memplan-probe-rank0.json"],
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_plan(Plan(scenarios=(SMALL, OTHER)), "run.memplan")
    Path("message.txt").write_text(MESSAGE)
    return tmp_path


def test_every_command_that_takes_a_scenario_is_tried_here() -> None:
    takes = {
        name
        for name, command in memplan_command.commands.items()
        if not isinstance(command, click.Group) and any("--scenario" in one.opts for one in command.params)
    }
    assert takes == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_another_number_is_refused_in_the_same_words(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMANDS[name], "--scenario", "3"]) == 2
    words = "--scenario: the plan has no scenario '3'; there are 1 'small', 2 '1'."
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(("given", "said"), [("small", "gpt2"), ("2", "Llama"), ("1", "Llama")])
@pytest.mark.parametrize("name", ["report", "export", "levers", "diagnose"])
def test_a_name_or_a_number_is_taken(
    name: str, given: str, said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*COMMANDS[name], "--scenario", given, *(["--json"] if name in ("levers", "diagnose") else [])]) == 0
    printed = capsys.readouterr().out
    answer = (here / "out.md").read_text(encoding="utf-8") if name == "report" else printed
    if name == "levers":
        assert answer.count('"make_it_fit"') == 1
        said = '"name": "small"' if said == "gpt2" else '"name": "1"'
    elif name == "diagnose":  # the logits that may have been asked for are as wide as the model's vocabulary
        said = "50257" if said == "gpt2" else "128256"
    assert said in answer
