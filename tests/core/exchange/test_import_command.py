"""memplan import: what is printed, saved and asked; what is wrong is told at once, and nothing is half done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan.cli.ending import run
from memplan.errors import MemplanError
from memplan.exchange import import_files
from memplan.plan.file import load_plan
from tests.core.exchange.cases import FILES

LORA = str(FILES / "axolotl" / "lora.yml")
MB = 1_000_000


def test_a_recipe_is_listed_and_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "run.memplan"
    assert run(["import", LORA, "--devices", "1", "-o", str(saved)]) == 0
    out = capsys.readouterr().out
    for words in ("axolotl YAML", "Understood", "Micro-batch", "micro_batch_size in lora.yml", "Assumed", "Ignored"):
        assert words in out
    (scenario,) = load_plan(saved).scenarios
    assert (scenario.name, scenario.training.micro_batch) == ("lora", 2)


def test_what_is_open_is_asked_for_and_nothing_is_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "run.memplan"
    assert run(["import", LORA, "-o", str(saved)]) == 2
    assert "How many devices run it? --devices" in capsys.readouterr().out
    assert not saved.exists()


def test_json_has_the_plan_and_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", LORA, "--json", "--devices", "2", "--model", "7B"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["plan"]["scenarios"][0]["model"] == {"name": "7B", "parameters": 7_000_000_000}
    assert content["files"] == [{"file": LORA, "format": "axolotl YAML"}]
    assert {note["kind"] for note in content["notes"]} == {"understood", "assumed", "ignored"}
    assert run(["import", LORA, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["plan"] is None


def test_an_option_that_cannot_be_taken_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", LORA, "--devices", "1", "--model", "no-such-model"]) == 2
    assert "--model" in capsys.readouterr().err
    assert run(["import", LORA, "--devices", "1", "--device", "h1000"]) == 2
    assert "--device" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "start"), [("big.yaml", b"a: b\n"), ("big.json", b'{"a": 1}\n'), ("big.toml", b"a = 1\n")]
)
def test_a_huge_file_is_refused_by_its_size(tmp_path: Path, name: str, start: bytes) -> None:
    path = tmp_path / name
    with path.open("wb") as stream:
        stream.write(start)
        stream.truncate(100 * MB)
    with pytest.raises(MemplanError, match=r"100\.0 MB"):
        import_files([path])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MemplanError, match="no such file"):
        import_files([tmp_path / "nothing.yaml"])
    with pytest.raises(MemplanError, match="the folder holds none of"):
        import_files([tmp_path])
    with pytest.raises(MemplanError, match="no file to read"):
        import_files([])


def test_control_characters_of_a_file_stay_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text('base_model: Qwen/Qwen3-8B\nmicro_batch_size: 1\n"k\\e[31m": 1\n', encoding="utf-8")
    assert run(["import", str(path), "--devices", "1"]) == 0
    assert "\x1b" not in capsys.readouterr().out
