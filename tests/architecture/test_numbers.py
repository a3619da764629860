"""Numbers for people are written by one function, which knows how the screen writes them; a planted one is found."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MARKED = re.compile(r"[,_]|\.(?!0[f%])|[gGeEn]$|^f$")
"""A format that writes a mark: groups, decimals, or as many of them as it takes."""
PLAIN_BY_NATURE = {
    "core/memplan/number_style.py": "it is the function",
    "core/memplan/cli": "the command line's own tables: no style reaches it",
    "core/memplan/report/bars.py": "coordinates of SVG",
    "core/memplan/report/csv_rows.py": "figures for programs",
    "core/memplan/report/html.py": "a document",
    "core/memplan/report/markdown.py": "a document",
    "gui/memplan_gui/presenters/automatic_names.py": "names that stand in plan files",
    "gui/memplan_gui/charts/scale.py": "a step of an axis, rounded",
    "gui/memplan_gui/presenters/words.py": "six figures, read again before they are written",
    "gui/memplan_gui/timing_marks.py": "marks for the benchmark",
}
"""Files whose numbers have a point and commas wherever they stand, and why."""


def formats(source: str) -> Iterator[tuple[int, str]]:
    """Lines that format a number with marks, and how."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
            parts = node.format_spec.values
            spec = "".join(str(part.value) if isinstance(part, ast.Constant) else "9" for part in parts)
            if MARKED.search(spec) and not re.fullmatch(r"[<>^]?\d*", spec):
                yield node.lineno, spec
        elif isinstance(node, ast.Call):
            yield from _calls(node)


def _calls(node: ast.Call) -> Iterator[tuple[int, str]]:
    if isinstance(node.func, ast.Name) and node.func.id == "format":
        yield node.lineno, "format()"
    if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        texts = [str(part.value) for part in ast.walk(node.func.value) if isinstance(part, ast.Constant)]
        specs = [spec for text in texts for spec in re.findall(r"\{\w*:([^}]+)\}", text)]
        yield from ((node.lineno, spec) for spec in specs if MARKED.search(spec))


def is_exempt(path: Path) -> bool:
    name = path.relative_to(ROOT).as_posix()
    return any(name == known or name.startswith(f"{known}/") for known in PLAIN_BY_NATURE)


FILES = [path for top in ("core/memplan", "gui/memplan_gui") for path in sorted((ROOT / top).rglob("*.py"))]


def test_numbers_for_people_go_through_number() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {spec}"
        for path in FILES
        if not is_exempt(path)
        for line, spec in formats(path.read_text(encoding="utf-8"))
    ]
    assert not found, f"write them with `number(value, spec)`, or say in {Path(__file__).name} why they stay plain"


def test_every_exemption_is_needed() -> None:
    for name in PLAIN_BY_NATURE:
        files = [path for path in FILES if path.relative_to(ROOT).as_posix().startswith(name)]
        assert any(list(formats(path.read_text(encoding="utf-8"))) for path in files), f"{name} writes no number"


@pytest.mark.parametrize(
    "planted",
    ['f"{tokens:,} tokens"', 'f"{share:.1%}"', 'f"{size:,.{decimals}f}"', 'f"{slow:.3g}"', 'f"{part:f}"',
     '"{:,} tokens".format(tokens)', 'tr("{count:,} tokens").format(count=3)', 'format(size, ".2f")'],
)  # fmt: skip
def test_a_planted_number_is_found(planted: str) -> None:
    assert len(list(formats(f"words = {planted}"))) == 1


@pytest.mark.parametrize("plain", ['f"{share:.0%}"', 'f"{layers}"', 'f"{seconds:.0f}"', 'f"{name:<20}"', 'f"{day:>3}"'])
def test_what_writes_no_mark_is_let_through(plain: str) -> None:
    assert not list(formats(f"words = {plain}"))


def test_only_the_window_sets_a_style() -> None:
    """The core and the command line have the plain one, whatever the system speaks."""
    setters = [path.name for path in FILES if "set_screen_numbers(" in path.read_text(encoding="utf-8")]
    assert setters == ["number_style.py", "application.py"]
