"""Every model of the catalog under a handful of set-ups: an answer, or words where the catalog itself knows too little."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.catalog import CatalogModel, models
from memplan.errors import ConfigError
from memplan.estimate import estimate
from memplan.plan.scenario import Scenario
from memplan.result import Estimate

SET_UPS: list[dict[str, Any]] = [
    {},
    {"method": "lora", "attention": "eager", "micro_batch": 3, "sequence_length": 777},
    {"method": "qlora", "autocast": "bf16", "checkpointing": "full"},
    {"method": "freeze"},
    {"method": "inference"},
]
UNKNOWN = {entry.id for entry in models() if entry.parameters.total is None}
"""Models of which the catalog knows no count: without a composition of their own nothing can be said of them."""


def answer(entry: CatalogModel, training: dict[str, Any]) -> Estimate | None:
    """The estimate; nothing where the catalog knows no count and the configuration gives none."""
    try:
        return estimate(Scenario.model_validate({"model": {"catalog": entry.id}, "training": training}))
    except ConfigError:
        if entry.id in UNKNOWN:
            return None
        raise


@pytest.mark.parametrize("entry", models(), ids=lambda entry: entry.id)
def test_every_model_has_an_estimate(entry: CatalogModel) -> None:
    for training in SET_UPS:
        found = answer(entry, training)
        if found is None:
            continue
        assert found.basis == "traced" or found.warnings
        assert all(size > 0 for one in found.instants for size in one.bytes_by_term.values())
        adapters = found.parameters.trainable if "lora" in training.get("method", "") else 0
        if entry.id not in UNKNOWN:
            assert found.parameters.total - adapters == entry.parameters.total


def test_the_catalog_knows_nearly_all_counts() -> None:
    assert len(UNKNOWN) <= 2
