"""What the README shows, works: its Python runs, its console blocks run and print what they show."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def commands_and_output(block: str) -> tuple[str, str]:
    """A console block's commands as a script, and the output that it shows."""
    lines = block.splitlines()
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    output = [line for line in lines if not line.startswith("$ ")]
    return "\n".join(commands), "\n".join(output)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to run in, with the files that the README names."""
    shutil.copytree(REPOSITORY / "resources" / "examples", tmp_path / "resources" / "examples")
    return tmp_path


def run(command: list[str], folder: Path) -> str:
    """Runs a command with memplan on the path; returns what it printed, lines stripped at the right."""
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    environment = dict(os.environ, PATH=path, COLUMNS="100", NO_COLOR="1")
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, f"exit status {result.returncode}\n{result.stdout}\n{result.stderr}"
    return "\n".join(line.rstrip() for line in result.stdout.strip("\n").splitlines())


def test_there_are_blocks_to_run() -> None:
    assert blocks("python")
    assert blocks("console")
    assert blocks("json")


@pytest.mark.parametrize("block", blocks("python"))
def test_python_runs(block: str, folder: Path) -> None:
    printed = run([sys.executable, "-c", block], folder)
    # A comment after print(...) shows what is printed.
    shown = re.findall(r"^print\(.*\)\s+# (.*)$", block, flags=re.MULTILINE)
    assert printed == "\n".join(shown)


@pytest.mark.skipif(shutil.which("bash") is None, reason="console blocks are written for bash")
@pytest.mark.parametrize("block", blocks("console"))
def test_console_runs_and_prints_what_is_shown(block: str, folder: Path) -> None:
    script, shown = commands_and_output(block)
    printed = run(["bash", "-euo", "pipefail", "-c", script], folder)
    if shown:
        assert printed == "\n".join(line.rstrip() for line in shown.strip("\n").splitlines())


PLANS = [block for block in blocks("json") if "memplan_devices" not in block]
DEVICES = [block for block in blocks("json") if "memplan_devices" in block]


@pytest.mark.parametrize("block", DEVICES)
def test_devices_that_are_shown_are_known(block: str, folder: Path) -> None:
    (folder / "devices.json").write_text(block, encoding="utf-8")
    command = "MEMPLAN_DEVICES=devices.json memplan estimate meta-llama/Llama-3.2-1B --device lab-card"
    assert "Lab card 48 GB" in run(["bash", "-c", command], folder)


@pytest.mark.parametrize("block", PLANS)
def test_a_plan_that_is_shown_opens(block: str, folder: Path) -> None:
    (folder / "shown.memplan").write_text(block, encoding="utf-8")
    # 3: it does not fit, which is an answer
    run(["bash", "-c", "memplan estimate shown.memplan || [ $? = 3 ]"], folder)


def test_files_that_the_readme_links_to_exist() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (REPOSITORY / link).exists()] == []
