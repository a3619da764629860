"""The examples in the window's docstrings are right."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import memplan_gui

MODULES = [
    module.name
    for module in pkgutil.walk_packages(memplan_gui.__path__, "memplan_gui.")
    if not module.ispkg and not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) > 10
