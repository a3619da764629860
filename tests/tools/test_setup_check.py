"""What is missing is named together with the command that brings it."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import venv
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "setup_check.py"


@pytest.fixture(scope="module")
def setup_check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("setup_check", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_old_python_is_refused_by_name_and_with_the_remedy(setup_check: ModuleType) -> None:
    problem = setup_check.python_problem((3, 9, 2, "final", 0), "/usr/bin/python3")
    assert "/usr/bin/python3 is Python 3.9.2" in problem
    assert "make run PYTHON=python3.11" in problem
    assert setup_check.python_problem((3, 11, 0), "python3") is None
    assert setup_check.python_problem((4, 0, 0), "python3") is None


def test_an_old_python_can_read_the_script() -> None:
    ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 5))


def test_a_library_that_does_not_load_is_missing(setup_check: ModuleType) -> None:
    pairs = [("libabsent-memplan.so.9", "libabsent9")]
    assert setup_check.missing_libraries(pairs) == pairs
    assert setup_check.missing_libraries(pairs, load=lambda name: None) == []


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("apt-get", "sudo apt-get install --no-install-recommends libegl1"),
        ("dnf", "sudo dnf install 'libEGL.so.1()(64bit)'"),
        ("zypper", "sudo zypper install 'libEGL.so.1()(64bit)'"),
        ("pacman", "install the packages that bring: libEGL.so.1"),
    ],
)
def test_the_remedy_suits_the_system(setup_check: ModuleType, tool: str, expected: str) -> None:
    missing = [("libEGL.so.1", "libegl1")]
    assert setup_check.how_to_install(missing, which=lambda name: name if name == tool else None) == expected


def test_the_renamed_package_goes_by_the_name_that_this_release_knows(
    setup_check: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_check.subprocess, "call", lambda command, **_: 0)
    assert setup_check.current_name("libglib2.0-0") == "libglib2.0-0t64"
    monkeypatch.setattr(setup_check.subprocess, "call", lambda command, **_: 100)
    assert setup_check.current_name("libglib2.0-0") == "libglib2.0-0"
    assert setup_check.current_name("libegl1") == "libegl1"


def test_missing_libraries_are_named_to_someone_who_may_not_install(
    setup_check: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup_check.sys, "platform", "linux")
    monkeypatch.setattr(setup_check, "is_root", lambda: False)
    monkeypatch.setattr(setup_check, "install", lambda packages: pytest.fail("installs without being root"))
    assert setup_check.check_qt([("libabsent-memplan.so.9", "libabsent9")]) == 1
    assert "libabsent-memplan.so.9" in capsys.readouterr().err


def test_root_on_debian_gets_them_installed(setup_check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[str] = []
    monkeypatch.setattr(setup_check.sys, "platform", "linux")
    monkeypatch.setattr(setup_check, "is_root", lambda: True)
    monkeypatch.setattr(setup_check.shutil, "which", lambda name: name)
    monkeypatch.setattr(setup_check, "install", lambda packages: installed.extend(packages) or True)
    monkeypatch.setattr(
        setup_check,
        "missing_libraries",
        lambda libraries: [] if installed else [("libEGL.so.1", "libegl1")],
    )
    assert setup_check.check_qt(setup_check.OFFSCREEN_LIBRARIES) == 0
    assert installed == ["libegl1"]


@pytest.mark.parametrize("check", ["python", "offscreen"])
def test_this_machine_passes(check: str) -> None:
    result = subprocess.run(
        [sys.executable, str(SCRIPT), check], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr


def test_an_environment_without_qt_is_told_what_to_install(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    folder = "Scripts" if sys.platform == "win32" else "bin"
    python = tmp_path / "bare" / folder / "python"
    result = subprocess.run(
        [str(python), str(SCRIPT), "offscreen"], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 1
    assert "No module named 'PySide6'" in result.stderr
    assert "pip install -c constraints.txt -e '.[gui]'" in result.stderr
