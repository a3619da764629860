"""Which cases are nearest to a scenario: the same family, method and set-up first, then the size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import log2

import numpy as np
from numpy.typing import NDArray

from memplan.chosen_model import chosen_model
from memplan.evidence import SET_UP_FACETS, EvidenceGrouping, EvidenceKind, EvidenceRow, evidence_rows, set_up_words
from memplan.evidence_facets import FACETS, SENSELESS, differs, facets_of, same_tensors
from memplan.number_style import number
from memplan.plan.scenario import Scenario
from memplan.units import counted, format_count

NEAREST: Mapping[EvidenceKind, int] = {"traced": 6, "measured": 4}
"""How many cases of each kind are shown for a scenario."""

_FAMILY_COST = 4.0
_SIZE_COST, _MOST_SIZE_COST = 0.35, 4.0
"""For each doubling of the parameters, and at most: a toy model is a weak witness for a real one."""
_TOKENS_COST, _MOST_TOKENS_COST = 0.1, 1.0
_DEVICES_COST, _MOST_DEVICES_COST = 0.1, 1.0
_SAME_SIZE = 1.05
"""Counts of parameters that are within this ratio are said to be the same."""
_SMALL = 64
"""A case whose model is so many times smaller is said to be a small one."""


@dataclass(frozen=True, slots=True)
class Place:
    """What of a scenario decides which cases are near."""

    family: str
    parameters: int
    tokens: int
    devices: int
    facets: Mapping[str, str]


def place_of(scenario: Scenario) -> Place:
    """Where a scenario stands among the cases.

    Raises:
        ConfigError: the model's configuration does not describe a model.
        UnknownEntryError: the catalog has no such model.
    """
    training, chosen = scenario.training, chosen_model(scenario.model)
    return Place(
        family=chosen.architecture.model_type,
        parameters=chosen.parameters,
        tokens=training.micro_batch * training.sequence_length,
        devices=scenario.hardware.devices,
        facets=facets_of(scenario, chosen.architecture),
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
    alone = row.devices == 1 != place.devices
    for name, facet in FACETS.items():
        if not (alone and facet.divides) and differs(row.facets[name], place.facets[name]):
            words.append(facet.said(row.facets[name]))
    if row.devices != place.devices:
        words.append(counted(row.devices, "device"))
    if max(row.parameters, place.parameters) > _SAME_SIZE * min(row.parameters, place.parameters):
        small = "only " if place.parameters >= _SMALL * row.parameters else ""
        words.append(f"{small}{format_count(row.parameters)} parameters")
    if row.tokens != place.tokens:
        words.append(f"{number(row.tokens)} tokens")
    return tuple(words)


@dataclass(frozen=True, slots=True)
class _Cases:
    """Cases in the order of their names, and of each what decides how near it is, laid out to be asked all at once."""

    rows: tuple[EvidenceRow, ...]
    families: NDArray[np.str_]
    facets: NDArray[np.int16]
    """Cases x facets: each value by its place among those that occur, SENSELESS as 0."""
    values: tuple[Mapping[str, int], ...]
    """These places, facet by facet."""
    log_parameters: NDArray[np.float64]
    log_tokens: NDArray[np.float64]
    log_devices: NDArray[np.float64]


@cache
def _cases_of(kind: EvidenceKind | None) -> _Cases:
    rows = sorted((row for row in evidence_rows(kind) if row.exact), key=lambda row: row.id)
    values = tuple(_numbered([SENSELESS, *(same_tensors(row.facets[name]) for row in rows)]) for name in FACETS)
    return _Cases(
        rows=tuple(rows),
        families=np.array([row.family for row in rows]),
        facets=np.array([_numbers(row.facets, values) for row in rows], np.int16),
        values=values,
        log_parameters=np.log2([max(1, row.parameters) for row in rows]),
        log_tokens=np.log2([row.tokens for row in rows]),
        log_devices=np.log2([row.devices for row in rows]),
    )


def _numbered(values: Iterable[str]) -> Mapping[str, int]:
    return {value: at for at, value in enumerate(dict.fromkeys(values))}


def _numbers(facets: Mapping[str, str], values: tuple[Mapping[str, int], ...]) -> list[int]:
    """Each facet's value by its place; -1 for one that no case has."""
    return [known.get(same_tensors(facets[name]), -1) for name, known in zip(FACETS, values, strict=True)]


_COSTS = np.array([facet.cost for facet in FACETS.values()])


def _distances(cases: _Cases, place: Place) -> NDArray[np.float64]:
    """How far each case is from a place."""
    apart = np.where(cases.families == place.family, 0.0, _FAMILY_COST)
    asked = np.array(_numbers(place.facets, cases.values), np.int16)
    apart += ((cases.facets != asked) & (cases.facets != 0) & (asked != 0)) @ _COSTS
    for logs, here, cost, most in (
        (cases.log_parameters, max(1, place.parameters), _SIZE_COST, _MOST_SIZE_COST),
        (cases.log_tokens, place.tokens, _TOKENS_COST, _MOST_TOKENS_COST),
        (cases.log_devices, place.devices, _DEVICES_COST, _MOST_DEVICES_COST),
    ):
        apart += np.minimum(most, cost * np.abs(logs - log2(here)))
    return apart
