"""The wheel stands alone: it carries the data, and the command line works from it, far from any checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "core", "gui", "resources")


def pip(*arguments: str) -> None:
    """Runs pip without a network."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the wheel was installed into."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        path = REPOSITORY / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, source / name)
    pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source))
    shutil.rmtree(source)
    (wheel,) = folder.glob("memplan-*.whl")
    pip("install", "--quiet", "--no-deps", "--no-index", "--target", str(folder / "installed"), str(wheel))
    return folder / "installed"


def memplan(installed: Path, code: str) -> str:
    """Runs code with the installed memplan; returns what it printed."""
    environment = dict(os.environ, PYTHONPATH=str(installed))
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=installed.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_wheel_is_what_runs(installed: Path) -> None:
    assert memplan(installed, "import memplan; print(memplan.__file__)").startswith(str(installed))


def test_every_resource_is_in_the_wheel(installed: Path) -> None:
    here = {
        path.relative_to(REPOSITORY / "resources") for path in (REPOSITORY / "resources").rglob("*") if path.is_file()
    }
    root = installed / "memplan" / "resources"
    assert {path.relative_to(root) for path in root.rglob("*") if path.is_file()} == here
    assert here


def test_the_command_line_finds_its_catalog(installed: Path) -> None:
    printed = memplan(
        installed,
        "import sys; from memplan.cli import main; sys.argv = ['memplan', 'catalog', 'devices', 'a100']; main()",
    )
    assert "A100" in printed


def test_the_source_distribution_has_all_that_the_tests_need_and_nothing_that_was_made(tmp_path: Path) -> None:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no clone: there is no list of files to hold it against")
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    # What is there but not yet committed would be in it as well.
    new = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = tmp_path.glob("memplan-*.tar.gz")
    with tarfile.open(archive) as opened:
        held = {name.partition("/")[2] for name in opened.getnames()}
    here = {name for name in (tracked + new).splitlines() if (REPOSITORY / name).exists()}
    assert here - held == {name for name in here if name.startswith(".ci/")}
    assert held - here == {"PKG-INFO"}
