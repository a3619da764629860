"""Every example in a docstring of the core, and every block of the method's page, does what it shows."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import memplan

MODULES = sorted(
    found.name for found in pkgutil.walk_packages(memplan.__path__, "memplan.") if not found.name.endswith("__main__")
)
FLAGS = doctest.NORMALIZE_WHITESPACE


def failures(test: doctest.DocTest) -> list[str]:
    told: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append)
    return told


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        assert failures(test) == [], test.name


def test_there_are_examples() -> None:
    found = [test for name in MODULES for test in doctest.DocTestFinder().find(importlib.import_module(name))]
    assert sum(len(test.examples) for test in found) >= 20


def page(repository: Path, name: str) -> doctest.DocTest:
    text = (repository / "resources" / "help" / name).read_text(encoding="utf-8")
    text = re.sub(r"^```.*$", "", text, flags=re.MULTILINE)
    return doctest.DocTestParser().get_doctest(text, {}, name, name, 0)


@pytest.mark.parametrize(("name", "at_least"), [("method.md", 25), ("articles.md", 8)])
def test_examples_of_a_page(repository: Path, name: str, at_least: int) -> None:
    """The page is one session from top to bottom: what one block names, the next may use."""
    test = page(repository, name)
    assert len(test.examples) >= at_least
    assert failures(test) == []


def test_a_wrong_example_is_seen() -> None:
    assert failures(doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", "wrong", 0))
