"""Every input means exactly the scenario beside it. What is right: the trainers' own libraries, named in each reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.exchange.cases import CASES, expected, name_of, outcome


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_file_means_this_scenario(case: Path) -> None:
    assert outcome(case) == expected(case)
