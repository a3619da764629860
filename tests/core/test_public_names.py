"""memplan's public names: each is there, loaded when asked for, and known to type checkers."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import memplan


def run(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.mark.parametrize("name", memplan.__all__)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(memplan, name) is not None
    assert name in dir(memplan)


def test_type_checkers_know_the_same_names() -> None:
    source = Path(memplan.__file__).read_text(encoding="utf-8")
    block = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    for_checkers = {alias.asname: (node.module, alias.name) for node in imports for alias in node.names}
    at_run_time = {name: (home, name) for name, home in memplan._HOMES.items()}
    assert for_checkers == at_run_time | {name: ("memplan", name) for name in memplan._MODULES}


def test_there_is_no_other_name() -> None:
    with pytest.raises(AttributeError, match="module 'memplan' has no attribute 'nothing'"):
        _ = memplan.nothing


def test_importing_memplan_loads_nothing_else() -> None:
    assert (
        run(
            "import sys, memplan; print([name for name in ('pydantic', 'numpy', 'click', 'rich') if name in sys.modules])"
        )
        == "[]"
    )


@pytest.mark.parametrize(
    "code",
    [
        "import memplan.estimate, memplan.report, memplan",
        "import memplan; memplan.estimate; import memplan.estimate, memplan.report",
        "from memplan.levers import lever_offers; from memplan.report import report; import memplan",
    ],
)
def test_a_function_is_not_hidden_by_its_module(code: str) -> None:
    assert run(f"{code}; print(type(memplan.estimate).__name__, type(memplan.report).__name__)") == "function function"


LATE = "[name for name in ('pydantic', 'numpy', 'rich', 'click', 'memplan.catalog') if name in sys.modules]"


def test_the_way_to_the_window_loads_nothing_that_its_first_picture_would_wait_for() -> None:
    code = f"""
import sys
from types import SimpleNamespace
import memplan.cli, memplan.cli.window as window
window.find_spec = lambda name: True
window.import_module = lambda name: SimpleNamespace(main=lambda arguments: print(name, arguments, {LATE}))
sys.argv = ["memplan", "a.memplan"]
try:
    memplan.cli.main()
except (SystemExit, TypeError):
    pass
"""
    assert run(code) == "memplan_gui.__main__ ['a.memplan'] []"


def test_the_commands_load_only_what_they_need() -> None:
    code = f"import sys; from memplan.cli.ending import run; run(['--version']); print({LATE})"
    assert run(code).splitlines()[-1] == "['click']"
