"""Which cases are nearest to a scenario: the same family, method and set-up first, then the size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import log2

import numpy as np
from numpy.typing import NDArray

from memplan.choice_titles import choice_words
from memplan.chosen_model import chosen_model
from memplan.evidence import SET_UP_FACETS, EvidenceGrouping, EvidenceKind, EvidenceRow, evidence_rows, set_up_words
from memplan.memory.stack import stack_of
from memplan.number_style import number
from memplan.plan.scenario import Scenario
from memplan.units import format_count

NEAREST: Mapping[EvidenceKind, int] = {"traced": 6, "measured": 4}
"""How many cases of each kind are shown for a scenario."""

_COSTS: Mapping[str, float] = {
    "method": 4.0,
    "last_layers": 2.0,
    "checkpointing": 3.0,
    "sharding": 3.0,
    "kernels": 3.0,
    "autocast": 2.0,
    "attention": 2.0,
    "loss": 2.0,
    "optimizer": 1.0,
    "implementation": 1.0,
    "accumulation": 0.5,
    "weights": 1.0,
    "library": 1.0,
}
"""How far apart two cases are that differ in this: about how much it changes which tensors there are."""
_FAMILY_COST = 4.0
_SIZE_COST, _MOST_SIZE_COST = 0.3, 2.0
"""For each doubling of the parameters, and at most."""
_TOKENS_COST, _MOST_TOKENS_COST = 0.1, 1.0
_ALIKE = {"flash": "sdpa"}
"""Attention that keeps the same tensors under either name."""

_TITLES = {
    "method": "",
    "last_layers": "adapters on the last layers alone",
    "kernels": "kernels of",
    "weights": "weights in",
    "library": "transformers",
}
_FIELDS = {"sharding": "strategy", "implementation": "optimizer_impl", "weights": "weights_dtype"}
"""The field that a facet is of, where its name is another."""
_SAME_SIZE = 1.05
"""Counts of parameters that are within this ratio are said to be the same."""


@dataclass(frozen=True, slots=True)
class Place:
    """What of a scenario decides which cases are near."""

    family: str
    parameters: int
    tokens: int
    facets: Mapping[str, str]


def place_of(scenario: Scenario) -> Place:
    """Where a scenario stands among the cases.

    Raises:
        ConfigError: the model's configuration does not describe a model.
        UnknownEntryError: the catalog has no such model.
    """
    training, hardware = scenario.training, scenario.hardware
    chosen, adapted = chosen_model(scenario.model), training.method in ("lora", "qlora")
    return Place(
        family=chosen.architecture.model_type,
        parameters=chosen.parameters,
        tokens=training.micro_batch * training.sequence_length,
        facets={
            "method": training.method,
            "last_layers": "yes" if adapted and training.lora.last_layers is not None else "none",
            "checkpointing": training.checkpointing,
            "autocast": training.autocast,
            "attention": training.attention,
            "sharding": hardware.sharding.strategy if hardware.devices > 1 else "none",
            "optimizer": training.optimizer,
            "implementation": training.optimizer_impl,
            "accumulation": "yes" if training.gradient_accumulation > 1 else "none",
            "kernels": training.kernels,
            "loss": training.loss,
            "weights": training.weights_dtype,
            "library": str(stack_of(training).version[0]),
        },
    )


def nearest_evidence(scenario: Scenario, count: int = 5, kind: EvidenceKind | None = None) -> tuple[EvidenceRow, ...]:
    """The cases nearest to a scenario, nearest first; of one kind or of both. Cases that rest on a guess are left out.

    Raises:
        ConfigError: the model's configuration does not describe a model.
        UnknownEntryError: the catalog has no such model.
    """
    cases = _cases_of(kind)
    nearest = np.argsort(_distances(cases, place_of(scenario)), kind="stable")[:count]
    return tuple(cases.rows[at] for at in nearest)


def evidence_group_name(scenario: Scenario, by: EvidenceGrouping) -> str:
    """The name of the group that the scenario itself would stand in; empty where groups are not of set-ups.

    Raises:
        ConfigError: the model's configuration does not describe a model.
        UnknownEntryError: the catalog has no such model.
    """
    place = place_of(scenario)
    return {"family": place.family, "set_up": set_up_words(place.facets, SET_UP_FACETS)}.get(by, "")


def evidence_differences(row: EvidenceRow, scenario: Scenario) -> tuple[str, ...]:
    """In what a case differs from a scenario, in the case's words: ("family qwen2", "no autocast", "8,192 tokens")."""
    place = place_of(scenario)
    words = [f"family {row.family}"] if row.family != place.family else []
    for name, value in row.facets.items():
        if not _alike(value, place.facets[name]):
            title = _TITLES.get(name, name)
            shown = choice_words(_FIELDS.get(name, name), value)
            words.append(f"no {title}" if value == "none" else title if value == "yes" else f"{title} {shown}".strip())
    if max(row.parameters, place.parameters) > _SAME_SIZE * min(row.parameters, place.parameters):
        words.append(f"{format_count(row.parameters)} parameters")
    if row.tokens != place.tokens:
        words.append(f"{number(row.tokens)} tokens")
    return tuple(words)


def _alike(one: str, other: str) -> bool:
    return _ALIKE.get(one, one) == _ALIKE.get(other, other)


@dataclass(frozen=True, slots=True)
class _Cases:
    """Cases in the order of their names, and of each what decides how near it is, laid out to be asked all at once."""

    rows: tuple[EvidenceRow, ...]
    families: NDArray[np.str_]
    facets: NDArray[np.str_]
    """Cases x facets, in the order of their costs."""
    log_parameters: NDArray[np.float64]
    log_tokens: NDArray[np.float64]


@cache
def _cases_of(kind: EvidenceKind | None) -> _Cases:
    rows = sorted((row for row in evidence_rows(kind) if row.exact), key=lambda row: row.id)
    return _Cases(
        rows=tuple(rows),
        families=np.array([row.family for row in rows]),
        facets=np.array([_facets(row.facets) for row in rows]),
        log_parameters=np.log2([max(1, row.parameters) for row in rows]),
        log_tokens=np.log2([row.tokens for row in rows]),
    )


def _facets(facets: Mapping[str, str]) -> list[str]:
    return [_ALIKE.get(facets[name], facets[name]) for name in _COSTS]


def _distances(cases: _Cases, place: Place) -> NDArray[np.float64]:
    """How far each case is from a place."""
    apart = np.where(cases.families == place.family, 0.0, _FAMILY_COST)
    apart += (cases.facets != np.array(_facets(place.facets))) @ np.array(list(_COSTS.values()))
    sizes = np.abs(cases.log_parameters - log2(max(1, place.parameters)))
    tokens = np.abs(cases.log_tokens - log2(place.tokens))
    apart += np.minimum(_MOST_SIZE_COST, _SIZE_COST * sizes)
    apart += np.minimum(_MOST_TOKENS_COST, _TOKENS_COST * tokens)
    return apart
