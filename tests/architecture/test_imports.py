"""The boundaries hold, and what guards them bites: each test plants a violation in a copy and sees the linter fail."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the sources to plant violations in."""
    for folder in ("core", "gui"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the linter on the sources in that folder, not on those installed."""
    path = os.pathsep.join([str(folder / "core"), str(folder / "gui")])
    environment = dict(os.environ, PYTHONPATH=path, COLUMNS="200", NO_COLOR="1")
    command = [str(LINT_IMPORTS), "--no-cache"]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def plant(folder: Path, module: str, line: str) -> None:
    """Adds a line to a module of the copy, making the module where there is none yet."""
    path = folder / module
    path.parent.mkdir(exist_ok=True)
    (path.parent / "__init__.py").touch()
    text = path.read_text(encoding="utf-8") if path.exists() else '"""Planted."""\n'
    path.write_text(text + f"\n{line}\n", encoding="utf-8")


def broken_contracts(result: subprocess.CompletedProcess[str]) -> set[str]:
    """The names of the contracts that the linter reports as broken."""
    return set(re.findall(r"^(.*) BROKEN\b", result.stdout, flags=re.MULTILINE))


QT_FREE = "The core knows neither Qt nor the window nor a training framework"
ONE_WAY = "Inside the core, imports run one way"
NO_QT_IN_WORDS = "What the window says is put together without Qt"
PUBLIC = "The window knows nothing of the core's inside"


def test_the_sources_as_they_are_hold_all_contracts(copy: Path) -> None:
    result = lint_imports(copy)
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("core/memplan/units.py", "import PySide6.QtCore", QT_FREE),
        ("core/memplan/units.py", "def draw():\n    from pyqtgraph import mkPen\n    return mkPen", QT_FREE),
        ("core/memplan/planted.py", "from torch import nn", QT_FREE),
        ("core/memplan/report.py", "import memplan_gui.planted", QT_FREE),
        ("core/memplan/units.py", "from memplan.estimate import planted", ONE_WAY),
        ("core/memplan/memory/planted.py", "import memplan.fit", ONE_WAY),
        ("core/memplan/levers/offers.py", "from memplan import fit", ONE_WAY),
        ("core/memplan/planted.py", "", ONE_WAY),  # a module without a place among the layers
        ("gui/memplan_gui/planted.py", "from memplan.memory import planted", PUBLIC),
        ("gui/memplan_gui/presenters/planted.py", "from PySide6.QtGui import QColor", NO_QT_IN_WORDS),
        ("gui/memplan_gui/presenters/planted.py", "from memplan_gui import theme", NO_QT_IN_WORDS),
    ],
)
def test_a_planted_violation_is_seen(copy: Path, module: str, line: str, contract: str) -> None:
    for name in ("core/memplan/units.py", "core/memplan/fit.py", "core/memplan/estimate.py"):
        plant(copy, name, "")
    plant(copy, "core/memplan/memory/planted.py", "")
    plant(copy, "gui/memplan_gui/planted.py", "")
    plant(copy, module, line)
    result = lint_imports(copy)
    assert result.returncode != 0
    assert contract in broken_contracts(result), result.stdout


# The linter sees modules, not names. What follows sees names: the window takes from the core what the core offers.


def private_uses(source: str, public: set[str]) -> list[str]:
    """What a file takes from memplan that memplan does not offer."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "memplan":
            if node.module != "memplan":
                found.append(f"{node.lineno}: from {node.module} import …")
            else:
                found += [f"{node.lineno}: {name.name}" for name in node.names if name.name not in public]
        if isinstance(node, ast.Import):
            found += [f"{node.lineno}: import {name.name}" for name in node.names if name.name.startswith("memplan.")]
    return found


@pytest.mark.parametrize(
    "path",
    sorted((REPOSITORY / "gui").rglob("*.py")),
    ids=lambda path: path.relative_to(REPOSITORY).as_posix(),
)
def test_the_window_uses_public_names(path: Path) -> None:
    import memplan

    assert private_uses(path.read_text(encoding="utf-8"), set(getattr(memplan, "__all__", ()))) == []


def test_a_private_use_is_seen() -> None:
    assert private_uses("import memplan\nfrom memplan import estimate", {"estimate"}) == []
    assert private_uses("from memplan import walk", {"estimate"}) == ["1: walk"]
    assert private_uses("from memplan.memory import step", {"estimate"}) == ["1: from memplan.memory import …"]
    assert private_uses("import memplan.memory.step", {"estimate"}) == ["1: import memplan.memory.step"]
    assert private_uses("import memplan_gui.theme", set()) == []
