"""The command line. What is right: DESIGN section 4 (commands, exit status, the JSON's names) and the issue's bad input."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import memplan.cli.window
import memplan.plan_estimates
from memplan.catalog import devices
from memplan.cli.ending import run
from memplan.errors import MemplanError
from memplan.estimate import estimate
from memplan.making_fit import make_fit, proposal_sentence
from memplan.plan.edit import replaced
from memplan.plan.file import load_plan, save_plan
from memplan.plan.hardware import Hardware
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Plan, Scenario
from memplan.plan.training import Training

REPOSITORY = Path(__file__).parents[2]
SMALL = {
    "model_type": "llama", "vocab_size": 1000, "hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16, "tie_word_embeddings": False,
}  # fmt: skip
SMALL_PARAMETERS = 2 * 1000 * 64 + 2 * (4 * 64 * 64 + 3 * 64 * 256 + 2 * 64) + 64
"""Embedding and head, two layers of attention, MLP and norms, the last norm."""
FITS = Scenario(name="fits", model=ModelChoice(config=SMALL, name="small"))
DOES_NOT_FIT = Scenario(name="does not fit", model=ModelChoice(config=SMALL), training=Training(micro_batch=100_000))


@pytest.fixture
def fits(tmp_path: Path) -> str:
    save_plan(Plan(scenarios=(FITS,)), tmp_path / "fits.memplan")
    return str(tmp_path / "fits.memplan")


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    save_plan(Plan(scenarios=(FITS, DOES_NOT_FIT)), tmp_path / "mixed.memplan")
    return str(tmp_path / "mixed.memplan")


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "config.json").write_text(json.dumps(SMALL), encoding="utf-8")
    return str(tmp_path / "small" / "config.json")


def process(
    *arguments: str, environment: dict[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[bytes]:
    """Runs the command as a person does, in a process of its own."""
    command = [sys.executable, "-m", "memplan", *arguments]
    return subprocess.run(
        command, env={**os.environ, **(environment or {})}, capture_output=True, timeout=120, check=False, **more
    )


def printed_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    run([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_exit_status_says_whether_all_fit(fits: str, mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["estimate", fits]) == 0
    assert run(["estimate", mixed]) == 3
    assert run(["estimate", mixed, "--json"]) == 3
    out = capsys.readouterr().out
    assert "\nFits: needs " in out
    assert "\nDoes not fit: needs " in out


def test_the_json_has_the_names_of_the_design(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = printed_json(capsys, "estimate", mixed)
    assert set(answer) == {"memplan", "scenarios"}
    assert [scenario["name"] for scenario in answer["scenarios"]] == ["fits", "does not fit"]
    scenario = answer["scenarios"][0]
    names = {
        "name",
        "parameters",
        "recipe",
        "bytes",
        "terms",
        "process",
        "need",
        "device",
        "verdict",
        "headroom_bytes",
        "basis",
        "warnings",
    }
    assert names <= set(scenario)
    assert scenario["parameters"] == {
        "total": SMALL_PARAMETERS,
        "trainable": SMALL_PARAMETERS,
        "active": SMALL_PARAMETERS,
    }
    assert set(scenario["recipe"]) == {"text", "bytes_per_parameter"}
    steps = {"forward_end", "forward_peak", "backward_peak", "backward_end", "step_peak", "step_end", "zeroed"}
    assert set(scenario["bytes"]) == {"loaded", "optimizer_state", "peak", "peak_instant", "first_step"} | steps
    assert set(scenario["bytes"]["first_step"]) == steps
    peak = estimate(load_plan(Path(mixed)).scenarios[0]).peak
    assert scenario["terms_at_peak"] == {"instant": peak.name, "step": peak.step, "total_bytes": peak.total_bytes}
    assert sum(term["bytes_at_peak"] for term in scenario["terms"]) == peak.total_bytes
    for term in scenario["terms"]:
        assert set(term) == {"name", "bytes_at_peak", "largest_bytes", "formula", "source"}
    assert set(scenario["process"]) == {"allocated", "reserved", "total", "low", "high"}
    assert set(scenario["need"]) == {"low", "high"}
    assert set(scenario["device"]) == {"id", "usable_bytes"}
    assert [answer["verdict"] for answer in answer["scenarios"]] == ["fits", "does_not_fit"]
    need_bytes = scenario["device"]["usable_bytes"] - scenario["headroom_bytes"]
    assert scenario["need"]["low"] <= need_bytes <= scenario["need"]["high"]


def test_many_scenarios_are_answered_in_one_call_and_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenarios = tuple(
        Scenario(name=f"{length}", model=ModelChoice(config=SMALL), training=Training(sequence_length=length))
        for length in range(1, 401)
    )
    save_plan(Plan(scenarios=scenarios), tmp_path / "many.memplan")
    answers = printed_json(capsys, "estimate", str(tmp_path / "many.memplan"))["scenarios"]
    assert [answer["name"] for answer in answers] == [scenario.name for scenario in scenarios]


def test_standard_input(fits: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(Path(fits).read_bytes())))
    assert run(["estimate", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scenarios"][0]["name"] == "fits"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"{")))
    assert run(["estimate", "-"]) == 2
    assert (
        capsys.readouterr().err
        == "memplan: standard input: ends in the middle, at line 1: the file is truncated. Get it again from where it came.\n"
    )


def test_a_models_configuration_is_estimated_with_every_default_and_said_to_be(
    config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for source in (config, str(Path(config).parent)):
        assert run(["estimate", source, "--json"]) == 0
        captured = capsys.readouterr()
        assert "This is a model's configuration, not a plan: estimated with every default" in captured.err
        assert json.loads(captured.out)["scenarios"][0]["parameters"]["total"] == SMALL_PARAMETERS
        assert json.loads(captured.out)["scenarios"][0]["model"] == "small"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.memplan", None, "there is no such file. Check the name."),
        ("a.memplan", b"[]", "a plan is an object with scenarios; this file holds an empty list."),
        (
            "a.memplan",
            b'{"memplan": 9, "scenarios": []}',
            "is a plan of file version 9; this memplan reads versions up to 1.",
        ),
        (
            "a.memplan",
            b'{"scenarios": [{"model": {"catalog": "x"}, "training": {"batch": 1}}]}',
            "scenarios[0].training.batch: unknown field",
        ),
        ("a.memplan", b'{"scenarios": [{"model": {"catalog": "nobody/nothing"}}]}', "scenarios[0] (baseline)"),
        (
            "a.memplan",
            b'{"scenarios": [{"model": {"parameters": 1e400}}]}',
            "holds 1e400, which is too large a number.",
        ),
        ("config.json", b'{"peft_type": "LORA"}', "is an adapter's configuration, not a model's."),
        ("config.json", b'{"model_type": "llama", "hidden', "is truncated"),
        ("config.json", b"\x00" * 100, "is not a text file"),
    ],
)
def test_bad_input_ends_with_2_and_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    for command in ("estimate", "levers", "report"):
        assert run([command, str(tmp_path / name)]) == 2
        captured = capsys.readouterr()
        assert words in captured.err
        assert captured.err.startswith("memplan: ")
        assert "Traceback" not in captured.err
        assert captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["import", "a.memplan"], "a.memplan: a plan is an object"),
        (["import", "b.memplan"], "b.memplan: is a plan already."),
        (["report", "b.memplan", "-o", "folder"], "folder: is a folder."),
        (["fit", "b.memplan", "--device", "nope"], "--device: "),
    ],
    ids=str,
)
def test_what_is_wrong_is_called_what_it_is(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.memplan").write_text("1")
    save_plan(Plan(scenarios=(Scenario(model=ModelChoice(catalog="gpt2")),)), "b.memplan")
    Path("folder").mkdir()
    assert run(arguments) == 2
    assert words in capsys.readouterr().err


def test_choices_are_taken_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed_json(capsys, "estimate", "gpt2", "--method", "LoRA") == printed_json(
        capsys, "estimate", "gpt2", "--method", "lora"
    )


def test_arguments_that_make_no_sense_end_with_2(fits: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["estimate"],
        ["estimate", fits, "--unit", "mb"],
        ["nonsense"],
        ["--nonsense"],
        ["catalog", "cars"],
        ["levers", "gpt2", "--keep", "method", "--free", "method"],
    ):
        assert run(arguments) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith("Usage: ")
        assert captured.out == ""


def test_a_report_of_one_scenario_has_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = {"catalog": "openai-community/gpt2"}
    plan = tmp_path / "two.memplan"
    plan.write_text(json.dumps({"memplan": 1, "scenarios": [{"name": one, "model": model} for one in ("one", "two")]}))
    for ending in ("md", "html", "csv"):
        path = tmp_path / f"r.{ending}"
        assert run(["report", str(plan), "-o", str(path), "--scenario", "2"]) == 0
        assert "two" in path.read_text(encoding="utf-8")
        assert "one," not in path.read_text(encoding="utf-8")
    assert "## one" not in (tmp_path / "r.md").read_text(encoding="utf-8")
    assert run(["report", str(plan), "-o", str(tmp_path / "r.md"), "--scenario", "3"]) == 2
    assert "no scenario '3'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["estimate", "fit", "import"])
def test_a_name_that_no_disk_takes_is_told_as_such(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "n" * 5000]) == 2
    assert "the name is too long for this disk. Check the name." in capsys.readouterr().err


def test_a_closed_folder_is_not_an_output(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    look, read = Path.stat, Path.open  # the administrator's account, which tests may run under, may open all

    def refuse(path: Path) -> None:
        if path.parent.name == "closed":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "stat", lambda path, **options: refuse(path) or look(path, **options))
    monkeypatch.setattr(Path, "open", lambda path, *how, **options: refuse(path) or read(path, *how, **options))
    assert run(["estimate", "closed/run.memplan"]) == 2
    assert "closed/run.memplan: may not be read." in capsys.readouterr().err


def test_a_report_is_printed_or_written_whole(fits: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", fits]) == 0
    printed = capsys.readouterr().out
    assert run(["report", fits, "-o", str(tmp_path / "r.md")]) == 0
    assert (tmp_path / "r.md").read_text(encoding="utf-8") == printed
    assert run(["report", fits, "-o", str(tmp_path / "r.csv"), "--unit", "gb"]) == 0
    assert (tmp_path / "r.csv").read_text(encoding="utf-8").splitlines()[0].endswith(",bytes,gb")
    before = sorted(tmp_path.iterdir())
    for name, words in [
        (
            "r.doc",
            "r.doc: there is no report in format 'doc'. End the file's name in .md, .csv, .html, .pdf, .png or .svg.",
        ),
        ("no/r.md", "the folder does not exist"),
    ]:
        assert run(["report", fits, "-o", str(tmp_path / name)]) == 2
        assert words in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_levers_are_listed_with_saving_and_price(fits: str, capsys: pytest.CaptureFixture[str]) -> None:
    levers = printed_json(capsys, "levers", fits)["scenarios"][0]["levers"]
    assert {lever["state"] for lever in levers} <= {"on", "off", "not_applicable"}
    fused = next(lever for lever in levers if lever["id"] == "fused_optimizer")
    assert fused["changes"] == {"training.optimizer_impl": "fused"}
    assert run(["levers", fits]) == 0
    out = capsys.readouterr().out
    assert "Fused optimizer" in out
    assert "the micro-batch is 1 already." in " ".join(out.split())


def test_what_makes_it_fit_is_what_the_library_says(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    answers = printed_json(capsys, "levers", mixed)["scenarios"]
    for scenario, answer in zip(load_plan(Path(mixed)).scenarios, answers, strict=True):
        proposal, found = make_fit(scenario), answer["make_it_fit"]
        assert found["sentence"] == proposal_sentence(proposal)
        assert [one["need"]["high"] for one in found["front"]] == [one.need.high for one in proposal.front]
        best = proposal.best
        assert (found["best"] is None) == (best is None)
        if best is not None:
            made = scenario
            for path, value in found["best"]["changes"].items():
                made = replaced(made, path, value)
            assert made == best.scenario
    assert run(["levers", mixed]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert all(answer["make_it_fit"]["sentence"] in words for answer in answers)


def test_the_least_costly_set_on_every_device(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("levers", "meta-llama/Llama-3.2-1B", "--all")
    (answer,) = printed_json(capsys, *asked)["scenarios"]
    found = {one["id"]: one["best"] for one in answer["make_it_fit"]["devices"]}
    assert set(found) == {device.id for device in devices()}
    scenario = Scenario(model=ModelChoice(catalog="meta-llama/Llama-3.2-1B"))
    for name in ("rtx-4060", "t4"):
        alone = make_fit(replaced(scenario, "hardware.device", name)).best
        assert alone is not None
        assert found[name]["price"] == pytest.approx(alone.price)
    prices = [best["price"] if best else float("inf") for best in found.values()]
    assert prices == sorted(prices)
    assert run(asked) == 0
    assert "Least costly set there" in capsys.readouterr().out


def test_every_name_that_levers_prints_as_kept_can_be_freed(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["levers", "meta-llama/Llama-3.1-8B", "--target", "rtx-4090"]
    assert run(asked) == 0
    words = " ".join(capsys.readouterr().out.split())
    found = re.search(r"Kept (.+?); --free NAME", words)
    assert found is not None
    names = found[1].split(", ")
    assert "effective_batch" in names
    assert run([*asked, *(part for name in names for part in ("--free", name))]) == 0


def test_levers_for_another_device_with_what_must_stay(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("levers", "meta-llama/Llama-3.2-1B", "--target", "rtx-4060", "--sequence", "4096")
    kept = ("--keep", "method", "--keep", "optimizer", "--free", "precision")
    (answer,) = printed_json(capsys, *asked, *kept)["scenarios"]
    assert answer["device"]["id"] == "rtx-4060"
    assert set(answer["make_it_fit"]["kept"]) == {
        "method",
        "optimizer",
        "sequence_length",
        "effective_batch",
        "devices",
    }
    for candidate in answer["make_it_fit"]["front"]:
        assert not {"training.method", "training.optimizer", "training.sequence_length"} & set(candidate["changes"])
    assert run([*asked[:3], "no-such-device"]) == 2
    assert "--target" in capsys.readouterr().err


def test_the_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    assert "meta-llama/Llama-3.1-8B" in [
        model["id"] for model in printed_json(capsys, "catalog", "models", "llama", "3.1", "8b")["models"]
    ]
    assert run(["catalog", "devices", "a100", "--unit", "gb"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"a100-80gb-sxm .* GB\n", out)
    assert run(["catalog", "models", "no such model"]) == 2
    assert capsys.readouterr().err == 'No model matches "no such model".\n'
    assert run(["catalog", "devices", "x" * 500]) == 2
    assert len(capsys.readouterr().err) < 80


def test_the_schema_knows_every_field_with_its_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert set(schema["$defs"]["Training"]["properties"]) == set(Training.model_fields)
    micro_batch = schema["$defs"]["Training"]["properties"]["micro_batch"]
    assert (micro_batch["minimum"], micro_batch["maximum"], micro_batch["default"], micro_batch["unit"]) == (
        1,
        1_000_000,
        1,
        "sequences",
    )
    assert (
        micro_batch["description"]
        == "Sequences that one device takes through forward and backward at once; activations and logits grow with it."
    )


def test_the_version_is_the_projects(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"memplan {project['version']}\n"


def test_the_terminal_gets_80_columns_and_no_colour_in_a_pipe(mixed: str) -> None:
    for arguments in (
        ["estimate", mixed],
        ["levers", mixed],
        ["catalog", "models"],
        ["catalog", "devices"],
        ["--help"],
    ):
        result = process(*arguments, environment={"COLUMNS": "80"})
        assert result.stderr == b""
        text = result.stdout.decode()
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    "encoding",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "cp437"},
    ],
)
def test_a_terminal_that_lacks_characters(mixed: str, encoding: dict[str, str]) -> None:
    for command in ("estimate", "levers", "report"):
        result = process(command, mixed, environment=encoding)
        assert result.returncode in (0, 3)
        assert result.stderr == b""
        assert b"?" not in result.stdout.replace(b"Why?", b"")
    assert b"2,048 tokens a step" in process("estimate", mixed, environment={"PYTHONIOENCODING": "ascii"}).stdout


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_a_reader_that_goes_away_is_no_error(mixed: str) -> None:
    for arguments in (["catalog", "models", "--json"], ["catalog", "models"], ["schema"]):
        child = subprocess.Popen(
            [sys.executable, "-m", "memplan", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert child.stdout is not None
        child.stdout.close()
        _, error = child.communicate(timeout=60)
        assert (child.returncode, error) == (0, b"")


def unread(pipe: int) -> int:
    """How many bytes of a pipe its reader has not read yet."""
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_a_stop_by_the_keyboard_is_quiet() -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "memplan", "estimate", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin is not None
    child.stdin.write(b"{")
    child.stdin.flush()
    while unread(child.stdin.fileno()):  # on a busy machine it takes long until it waits for standard input
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    output, error = child.communicate(timeout=60)
    assert (child.returncode, output, error.strip()) == (130, b"", b"")


def test_a_defect_is_one_line_and_a_traceback_for_who_asks(
    fits: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(scenario: Scenario) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr(memplan.plan_estimates, "estimate", fail)
    assert run(["estimate", fits]) == 1
    error = capsys.readouterr().err
    assert error.startswith("memplan: this is a defect in memplan (KeyError: 'a defect').")
    assert error.count("\n") == 1
    assert run(["--debug", "estimate", fits]) == 1
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("MEMPLAN_DEBUG", "1")
    assert run(["estimate", fits]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["x.memplan"]])
def test_without_a_command_the_window_opens(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[list[str]] = []
    monkeypatch.setattr(memplan.cli.window, "find_spec", lambda name: object())
    monkeypatch.setattr(
        memplan.cli.window, "import_module", lambda name: SimpleNamespace(main=lambda given: opened.append(given) or 7)
    )
    assert run(arguments) == 7
    assert opened == [arguments]


def test_without_a_display_it_says_what_works_without(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memplan.cli.window, "find_spec", lambda name: object())
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert run([]) == 2
    assert capsys.readouterr().err == (
        "memplan: there is no display here to open a window on. "
        "`memplan estimate PLAN` answers without one; see memplan --help.\n"
    )


def test_without_qt_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memplan.cli.window, "find_spec", lambda name: None if name == "PySide6" else object())
    assert run([]) == 2
    assert capsys.readouterr().err == (
        "memplan: the window needs PySide6, which this installation lacks. "
        'Install it: pip install "memplan[gui]". All commands work without it; see memplan --help.\n'
    )


def test_sentences_of_an_error_do_not_run_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mistral", "hidden_size": 64, "vocab_size": 1000}')
    assert run(["estimate", str(tmp_path / "config.json")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"memplan: {tmp_path / 'config.json'}: num_")
    assert "missing; models of type mistral need it. Use the model's complete config.json." in error


def test_a_plans_file_and_scenario_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.memplan"
    save_plan(Plan(scenarios=(Scenario(name="one", model=ModelChoice(catalog="nobody/x")),)), path)
    assert run(["estimate", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f'memplan: {path}: scenarios[0] (one): no model "nobody/x"')


@pytest.mark.parametrize(
    ("message", "whole"),
    [("wrong", "here: wrong. Do this."), ("wrong.", "here: wrong. Do this."), ("wrong?", "here: wrong? Do this.")],
)
def test_a_message_ends_once(message: str, whole: str) -> None:
    assert str(MemplanError(message, place="here", remedy="Do this.")) == whole


def test_a_model_of_the_catalog_is_estimated_with_options_on_top(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--method", "lora", "--batch", "2", "--sequence", "512", "--weights", "fp16"]
    given += ["--checkpointing", "full", "--device", "RTX 4090"]
    run(["estimate", "qwen/qwen3-0.6b", *given, "--json"])
    captured = capsys.readouterr()
    assert "a model of the catalog, not a plan" in captured.err
    training = Training(
        method="lora", micro_batch=2, sequence_length=512, weights_dtype="fp16", checkpointing="full"
    )  # fmt: skip
    expected = memplan.plan_estimates.estimate_plan(
        Plan(
            scenarios=(
                Scenario(
                    model=ModelChoice(catalog="Qwen/Qwen3-0.6B"),
                    training=training,
                    hardware=Hardware(device="rtx-4090"),
                ),
            )
        )
    )
    found = json.loads(captured.out)["scenarios"][0]
    assert found["need"] == {"low": expected[0].need.low, "high": expected[0].need.high}
    assert found["device"]["id"] == "rtx-4090"


def test_options_are_the_plans_own_fields(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("estimate", "levers", "fit"):
        assert run([command, "--help"]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert (
            "--batch N Sequences that one device takes through forward and backward at once; activations and logits grow with it. [1<=x<=1000000]"
            in out
        )
        assert "--method [full|lora|qlora|freeze|inference]" in out
    assert run(["estimate", "qwen/qwen3-0.6b", "--batch", "0"]) == 2
    assert "--batch" in capsys.readouterr().err
    assert run(["--help"]) == 0
    assert "memplan estimate meta-llama/Llama-3.1-8B" in " ".join(capsys.readouterr().out.split())


def test_options_do_not_choose_among_scenarios(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["estimate", mixed, "--batch", "2"]) == 2
    assert capsys.readouterr().err == (
        f"memplan: {mixed}: holds 2 scenarios; --batch can change a single one. "
        "Leave the options out, or edit the plan.\n"
    )


def test_a_name_that_is_neither_file_nor_model_suggests_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["estimate", "meta-llama/Llama-3.1-8"]) == 2
    error = capsys.readouterr().err
    assert "there is no such file, and no model of that name in the catalog. Did you mean" in error
    assert "meta-llama/Llama-3.1-8B" in error
    assert run(["estimate", "qwen/qwen3-0.6b", "--device", "nothing"]) == 2
    assert capsys.readouterr().err.startswith('memplan: --device: no device "nothing" in the catalog.')


@pytest.mark.skipif(os.name != "posix", reason="closed streams and /dev/full")
@pytest.mark.parametrize(
    ("redirection", "words"),
    [
        ("estimate {} >&-", b"standard output is closed"),
        ("estimate {} --json >&-", b"standard output is closed"),
        ("--help >&-", b"standard output is closed"),
        ("estimate - <&-", b"standard input is closed"),
        ("estimate {} > /dev/full", b"no space left"),
        ("catalog models --json > /dev/full", b"no space left"),
    ],
)
def test_streams_that_are_closed_or_full_end_in_words(fits: str, redirection: str, words: bytes) -> None:
    command = f"{shlex.quote(sys.executable)} -m memplan {redirection.format(shlex.quote(fits))}"
    result = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, check=False)
    assert (result.returncode, result.stderr.count(b"\n")) == (2, 1)
    assert words in result.stderr
    assert b"defect" not in result.stderr


@pytest.mark.skipif(os.name != "posix", reason="/dev/full")
@pytest.mark.parametrize("arguments", ["estimate nosuch", "estimate --nosuch"])
def test_bad_input_ends_with_its_status_where_nothing_can_be_said(arguments: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m memplan {arguments} 2> /dev/full"
    assert subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, check=False).returncode == 2


@pytest.mark.skipif(os.name != "posix", reason="closed streams")
def test_a_closed_input_that_nobody_reads_is_no_error(fits: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m memplan estimate {shlex.quote(fits)} <&-"
    result = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, b"")


HOSTILE = "a\x1b]0;owned\x07\x9b31m\r\nb\u202ec"


def test_control_characters_of_files_never_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "\x1b[31mred\nname.memplan"
    plan = Plan(title=HOSTILE, notes=HOSTILE, scenarios=(
        Scenario(name=HOSTILE, model=ModelChoice(config={**SMALL, "model_type": HOSTILE}, name=HOSTILE),
                 training=Training(kernels_version=HOSTILE)),
    ))  # fmt: skip
    save_plan(plan, path)
    for command in ("estimate", "fit", "levers", "report", "evidence"):
        assert run([command, str(path)]) in (0, 3)
        captured = capsys.readouterr()
        for text in (captured.out, captured.err):
            assert not set(text) & set("\x1b\x07\x9b\r\u202e"), command
            assert all(line[:1] != "b" for line in text.splitlines() if "\\u202ec" in line), command
    for command in ("estimate", "evidence"):
        answer = printed_json(capsys, command, str(path))
        assert [scenario["name"] for scenario in answer["scenarios"]] == [HOSTILE]
        run([command, str(path), "--json"])
        assert not set(capsys.readouterr().out) & set("\x1b\x07\x9b\r\u202e")
    for arguments in (
        ["estimate", "a", "\x9bred"],
        ["estimate", "\x1b[31mred\nx"],
        ["catalog", "models", HOSTILE],
        ["estimate", "a\nb.json"],
    ):
        assert run(arguments) == 2
        captured = capsys.readouterr()
        assert not set(captured.err) & set("\x1b\x9b")
        assert captured.err.count("\n") == (4 if len(arguments) == 3 and arguments[1] == "a" else 1)


HUGE = Scenario(
    name="huge", model=ModelChoice(catalog="meta-llama/Llama-3.1-405B"), training=Training(micro_batch=1_000_000)
)


@pytest.mark.parametrize("columns", ["0", "20", "40", "60", "80"])
def test_figures_are_never_cut(
    columns: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    path = str(tmp_path / "huge.memplan")
    save_plan(Plan(scenarios=(FITS, HUGE)), path)
    [answer] = memplan.plan_estimates.estimate_plan(Plan(scenarios=(HUGE,)))
    run(["estimate", path])
    out = capsys.readouterr().out
    for instant in answer.instants:
        for num_bytes in (*instant.bytes_by_term.values(), instant.total_bytes):
            assert re.search(rf"(?<![0-9.]){num_bytes / 2**30:,.2f}(?![0-9.])", out)
    run(["catalog", "models", "llama 3.1 8b"])
    assert re.search(r"(?<![0-9.])8\.03B(?![0-9])", capsys.readouterr().out)
    for arguments in (["fit", path], ["levers", path], ["catalog", "devices"], ["evidence"]):
        run(arguments)
        narrow = capsys.readouterr().out
        assert "…" not in narrow
        # A figure that goes on in the next line ends this one in a separator. (A list of words may end in a comma too.)
        assert not re.search(r"[0-9](\.\s*\n\s*[0-9]|,\s*\n\s*[0-9]{3}(?![0-9]))", narrow)


def test_warnings_bear_the_fields_title(fits: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["estimate", fits])
    out = capsys.readouterr().out
    assert "\nfp32 master weights  Weights and states are bf16 alone" in out
    assert "training.master_weights" not in out


def test_evidence_names_file_and_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.memplan"
    save_plan(Plan(scenarios=(Scenario(name="one", model=ModelChoice(catalog="nobody/x")),)), path)
    for arguments in (["evidence", str(path)], ["evidence", str(path), "--json"]):
        assert run(arguments) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith(f'memplan: {path}: scenarios[0] (one): no model "nobody/x"')
        assert captured.out in ("", "one\n")


def test_the_peaks_place_stands_under_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    run(["estimate", "meta-llama/Llama-3.1-8B", "--method", "lora"])
    assert "\n* the peak, at the loss's gradient; the device's monitor" in capsys.readouterr().out


def test_the_json_of_generation_says_what_decoding_takes(capsys: pytest.CaptureFixture[str]) -> None:
    answer = printed_json(capsys, "estimate", "meta-llama/Llama-3.2-1B", "--method", "inference")
    found = answer["scenarios"][0]["bytes"]
    assert found["forward_peak"] == found["peak"] > found["decode_peak"] > found["decode_end"] > found["kv_cache"] > 0
    assert found["peak_instant"] == "prefill"


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["estimate", ""], ""),
        (["fit", " "], ""),
        (["report", "run.memplan", "-o", ""], "-o: "),
        (["import", "recipe.yaml", "--model="], "--model: "),
        (["diagnose", "", "--plan", "run.memplan"], ""),
        ([""], ""),
    ],
)
def test_an_empty_name_is_refused_in_words(
    arguments: list[str], place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unset variable of the shell is no folder at hand."""
    assert run(arguments) == 2
    assert capsys.readouterr().err.startswith(f"memplan: {place}an argument is empty.")


def test_a_search_may_have_no_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["catalog", "devices", ""]) == 0
    assert capsys.readouterr().out


def test_lengths_are_written_as_people_write_them(capsys: pytest.CaptureFixture[str]) -> None:
    """`--sequence 8k` is a context of 8192 tokens, as in the window."""
    asked = ("estimate", "meta-llama/Llama-3.2-1B", "--device", "h100-sxm", "--json", "--sequence")
    written, counted = (printed_json(capsys, *asked, length) for length in ("8k", "8192"))
    assert written == counted
    assert run([*asked, "many"]) == 2
    assert "write 4096, 8k (8192)" in capsys.readouterr().err
