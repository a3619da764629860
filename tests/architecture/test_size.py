"""Files and functions stay of a size that one can read. Raising a limit needs a sentence in the change that does it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 50
MOST_WINDOW_LINES = 300  # the window arranges, nothing else

REPOSITORY = Path(__file__).parents[2]
SOURCES = sorted(path for folder in ("core", "gui") for path in (REPOSITORY / folder).rglob("*.py"))


def long_functions(source: str) -> list[str]:
    """The functions of a file that are too long, as `line: name (lines)`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            if lines > MOST_FUNCTION_LINES:
                found.append(f"{node.lineno}: {node.name} ({lines} lines)")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_a_file_is_readable(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    most = MOST_WINDOW_LINES if path.name == "window.py" else MOST_FILE_LINES
    assert len(source.splitlines()) <= most
    assert long_functions(source) == []


def test_sources_are_found() -> None:
    packages = {path.relative_to(REPOSITORY).parts[1] for path in SOURCES}
    assert packages == {"memplan", "memplan_gui"}


def test_a_long_function_is_seen() -> None:
    body = "    x = 1\n"
    assert long_functions("def f():\n" + body * (MOST_FUNCTION_LINES - 1)) == []
    assert long_functions("def f():\n" + body * MOST_FUNCTION_LINES) == ["1: f (51 lines)"]
    assert long_functions("class C:\n  def f(self):\n" + body * MOST_FUNCTION_LINES) == ["2: f (51 lines)"]
