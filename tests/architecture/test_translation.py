"""Texts of the code are literals that a translator can be given, and are translated when they are shown, not at import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FILES = sorted(path for folder in ("core", "gui") for path in (REPOSITORY / folder).rglob("*.py"))
NUM_TEXTS = {"tr": 1, "tr_later": 1, "tr_n": 2}
AT_ONCE = ("tr", "tr_n", "translated")
"""What looks into the catalog, and so must wait until one is there."""
NAMELESS = re.compile(r"\{[0-9]*[:!}]")


def mistakes(source: str) -> list[str]:
    """Calls that no translator could serve, each with its line."""
    tree = ast.parse(source)
    inside = [call for text in ast.walk(tree) if isinstance(text, ast.JoinedStr) for call in ast.walk(text)]
    return [
        *(f"{call.lineno}: {wrong}" for call in ast.walk(tree) if (wrong := wrong_with(call))),
        *(f"{call.lineno}: is translated before a catalog is there; mark it with tr_later" for call in early(tree)),
        *(f"{call.lineno}: Babel does not look into an f-string" for call in inside if takes_text(call)),
    ]


def takes_text(call: ast.AST) -> bool:
    """Whether it is a call whose text a translator is given."""
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in NUM_TEXTS


def wrong_with(call: ast.AST) -> str:
    """What is wrong with a call; empty where nothing is, or where it is of another function."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return ""
    name = call.func.id
    if name == "translated" and isinstance(call.args[0], ast.Constant | ast.JoinedStr):
        return "a text of the code goes through tr"
    for text in call.args[: NUM_TEXTS.get(name, 0)]:
        if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
            return f"{name} takes a text as it stands: fill it in afterwards, with format"
        if not text.value.strip():
            return "there is nothing to translate"
        if NAMELESS.search(text.value):
            return "a translator may need another order: give every placeholder a name"
    return ""


def early(node: ast.AST) -> Iterator[ast.Call]:
    """Calls of `AT_ONCE` that run when the module is imported."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in AT_ONCE:
        yield node
    parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):  # what is in it runs when it is called
        parts = (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults))
    elif isinstance(node, ast.Lambda):
        parts = ()
    for part in parts:
        yield from early(part)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_texts_can_be_translated(path: Path) -> None:
    assert mistakes(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f(step):\n    return tr(f'Undo {step}')", "2: tr takes a text as it stands"),
        ("def f(step):\n    return tr('Undo ' + step)", "2: tr takes a text as it stands"),
        ("def f(step):\n    return tr('Undo {}').format(step)", "2: a translator may need another order"),
        ("def f(count):\n    return tr_n('one', many, count)", "2: tr_n takes a text as it stands"),
        ("def f():\n    return tr('')", "2: there is nothing to translate"),
        ("def f():\n    return translated('Undo')", "2: a text of the code goes through tr"),
        ("def f(step):\n    return f\"{step}: {tr('Undo')}\"", "2: Babel does not look into an f-string"),
        ("TITLE = tr('Undo')", "1: is translated before a catalog is there"),
        ("class Bar:\n    title = [tr('Undo')]", "2: is translated before a catalog is there"),
        ("def f(title=tr('Undo')):\n    pass", "1: is translated before a catalog is there"),
    ],
)
def test_a_planted_mistake_is_seen(source: str, found: str) -> None:
    assert [one.startswith(found) for one in mistakes(source)] == [True]


def test_right_texts_are_let_through() -> None:
    right = "TITLE = tr_later('Undo')\nLATER = lambda: tr('Undo')\n\ndef f(step):\n"
    assert mistakes(right + "    return tr('Undo {step}').format(step=step), translated(TITLE)") == []
