"""constraints.txt pins every dependency, within what pyproject.toml allows, and says nothing of where it came from."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).parents[2]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LINES = [
    line
    for line in (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def direct_requirements() -> list[Requirement]:
    """Every requirement that pyproject.toml names, the project itself left out."""
    extras = PROJECT["optional-dependencies"].values()
    texts = PROJECT["dependencies"] + [text for extra in extras for text in extra]
    requirements = [Requirement(text) for text in texts]
    return [requirement for requirement in requirements if requirement.name != PROJECT["name"]]


@pytest.mark.parametrize("line", LINES)
def test_a_constraint_is_a_name_and_a_version(line: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*", line)


@pytest.mark.parametrize("requirement", direct_requirements(), ids=str)
def test_a_requirement_is_pinned_to_a_version_it_allows(requirement: Requirement) -> None:
    pins = {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in LINES}
    assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)])


def test_qt_stays_below_the_version_that_aborts() -> None:
    # PySide6 6.12.0 on Python 3.11: "Fatal Python error: none_dealloc" after some 5000 calls of setText.
    qt = [requirement for requirement in direct_requirements() if requirement.name == "PySide6-Essentials"]
    on_311 = [
        requirement
        for requirement in qt
        if requirement.marker and requirement.marker.evaluate({"python_version": "3.11"})
    ]
    assert len(on_311) == 1
    assert on_311[0].specifier.contains("6.11.3")
    assert not on_311[0].specifier.contains("6.12.0")


def test_this_python_is_one_that_the_project_supports() -> None:
    assert PROJECT["requires-python"] == ">=3.11"
    assert sys.version_info >= (3, 11)
