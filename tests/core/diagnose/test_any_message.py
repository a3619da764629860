"""Broken messages: each is read or refused in words. The long run is `python -m tools.fuzz_messages --minutes 10`."""

from __future__ import annotations

from itertools import islice

import pytest

from memplan.plan.scenario import Scenario
from tools.fuzz_messages import PLAN, check, rounds, seeds


@pytest.mark.parametrize("seed", range(4))
def test_broken_messages(seed: int) -> None:
    for text, scenario in islice(rounds(seed), 150):
        check(text, scenario)


@pytest.mark.parametrize("scenario", [None, PLAN])
def test_the_corpus(scenario: Scenario | None) -> None:
    for text in seeds():
        check(text, scenario)
