"""What estimates were held against: traces of the framework's own code and runs on real devices, case by case.

The figures are data (`resources/evidence`), made by `python -m tools.make_evidence` from the truth that the tests hold
memplan against; a test proves that they are those of today's engine.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar

from memplan.choice_titles import choice_words
from memplan.errors import MemplanError
from memplan.number_style import number
from memplan.resources import resource

EvidenceKind = Literal["traced", "measured"]
EvidenceGrouping = Literal["all", "family", "set_up", "source"]

EVIDENCE_KINDS: Mapping[EvidenceKind, str] = {
    "traced": "Traces of the framework's own code",
    "measured": "Runs on real devices, of which every important setting is known",
}
"""What the cases of a kind are."""

_FORMAT = 1
_PER_HUNDRED_PERCENT = 10_000
"""Errors stand in the data as whole hundredths of a percent."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One case: a set-up whose memory is known, and how far the estimate is from it."""

    id: str
    kind: EvidenceKind
    family: str
    """The model's type, as its config.json names it."""
    parameters: int
    facets: Mapping[str, str]
    """The set-up by `evidence_facets.FACETS`: method, checkpointing, autocast, attention, sharding, optimizer, …"""
    tokens: int
    """Tokens of a micro-batch."""
    truth_bytes: int
    """Tensors alive at the peak: as traced, or as the framework's allocator counted them on the device."""
    errors: Mapping[str, float]
    """How far the estimate is, as a fraction, by instant; a run on a device has the peak alone, and generating text
    instants of its own."""
    source: str
    counts: bool = True
    """Whether the estimate counts every parameter, trained and not, as the framework does. Known of traces alone."""
    exact: bool = True
    """Whether every setting that moves the peak by more than 1% is known."""
    devices: int = 1
    """How many the run has."""
    reason: str = ""
    """Why the estimate is known to be off, where it is."""

    @property
    def estimate_bytes(self) -> int:
        """The estimate's peak, to a hundredth of a percent."""
        return round(self.truth_bytes * (1 + self.error))

    @property
    def error(self) -> float:
        """How far the estimate's peak is from the truth, as a fraction."""
        return self.errors["peak"]

    @property
    def worst(self) -> tuple[str, float]:
        """The instant that is furthest off, and how far."""
        return max(self.errors.items(), key=lambda item: abs(item[1]))

    @property
    def title(self) -> str:
        """The case's name for people."""
        return case_title(self.id)

    @property
    def set_up(self) -> str:
        """The set-up in words: "LoRA, full checkpointing, autocast bf16"."""
        return set_up_words(self.facets)


@dataclass(frozen=True, slots=True)
class EvidenceFigure:
    """Errors of several cases at one instant, as fractions without their sign."""

    median: float
    high: float
    """The 95th percentile."""
    worst: float


@dataclass(frozen=True, slots=True)
class EvidenceGroup:
    """Cases of one kind that have something in common."""

    name: str
    kind: EvidenceKind
    cases: int
    figures: Mapping[str, EvidenceFigure]
    """By instant."""
    worst_case: str
    """Its id."""
    worst_instant: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MonitorBand:
    """How often what a device's monitor showed stands inside the band, of one source's runs."""

    source: str
    runs: int
    inside: int
    inside_without: int
    """With the band's upper edge fitted to every other source alone."""
    width: float
    """Median width of the band, as a fraction of its middle."""


@dataclass(frozen=True, slots=True)
class VerdictCount:
    """How verdicts stand against runs that went through or ran out of memory."""

    right: int
    tight: int
    wrong: Mapping[str, str]
    """The cases whose verdict is wrong, each with the reason."""


@dataclass(frozen=True, slots=True)
class MeasuredEvidence:
    """All that is known from runs on real devices."""

    rows: tuple[EvidenceRow, ...]
    bands: tuple[MonitorBand, ...]
    verdicts: VerdictCount


_SAID: Mapping[str, tuple[str, str]] = {
    "method": ("full", "{}"),
    "last_layers": ("none", "on the last layers"),
    "checkpointing": ("none", "{} checkpointing"),
    "autocast": ("none", "autocast {}"),
    "attention": ("sdpa", "{} attention"),
    "sharding": ("none", "{}"),
    "optimizer": ("adamw", "{}"),
    "kernels": ("transformers", "{} kernels"),
    "loss": ("plain", "{} loss"),
}
"""What of a set-up is said, its default, and how. The method is always said, the rest where it is not the default."""
_NAMED: Mapping[str, str] = {
    "method": "method",
    "sharding": "strategy",
    "optimizer": "optimizer",
    "kernels": "kernels",
}
"""The facets that are said by the names of their choices, and the field that those are of."""
SET_UP_FACETS = ("method", "last_layers", "checkpointing", "autocast", "attention", "sharding", "optimizer")
"""What set-ups are told apart by in the tables."""


_FIELD_WORDS: Mapping[str, str] = {
    "method": "{}",
    "optimizer": "{}",
    "optimizer_impl": "{} optimizer",
    "micro_batch": "micro-batch {}",
    "sequence_length": "{} tokens",
    "gradient_accumulation": "accumulation {}",
    "checkpointing": "{} checkpointing",
    "attention": "{} attention",
    "weights_dtype": "weights in {}",
    "adapter_dtype": "adapters in {}",
    "strategy": "{}",
    "world_size": "{} devices",
    "targets": "on {}",
}
"""How a case's title says a field; others go by their name."""


_DRAWN = re.compile(r"drawn ([0-9.]+): (\w+), (\w+)")
"""What set-ups drawn at random are called, whose models are the smallest that have every part."""

EXACT = 0.00005
"""Errors are known to a hundredth of a percent: what is less than half of it is none."""


def is_exact(error: float) -> bool:
    """Whether an estimate is off by less than can be known."""
    return abs(error) < EXACT


def error_words(error: float) -> str:
    """How far an estimate is off, with its sign; where it is not, there is none.

    >>> error_words(0.0123), error_words(-0.00561), error_words(0.00001), error_words(-0.0)
    ('+1.23%', '−0.56%', '0.00%', '0.00%')
    """
    return number(0.0, ".2%") if is_exact(error) else number(error, "+.2%").replace("-", "−")


def case_title(case_id: str) -> str:
    """A case's name for people: its id names the fields that are not as by default, in the words of a plan file.

    >>> case_title('llama-3.1-8b|sharding={"strategy":"fsdp2","world_size":8}|sequence_length=8192|autocast=bf16')
    'llama-3.1-8b, FSDP2, 8 devices, 8,192 tokens, autocast bf16'
    >>> case_title("drawn 3.66: llama, lora")
    'tiny llama drawn at random (3.66), LoRA'
    """
    if drawn := _DRAWN.fullmatch(case_id):
        draw, family, method = drawn.groups()
        return f"tiny {family} drawn at random ({draw}), {choice_words('method', method)}"
    name, *fields = case_id.split("|")
    return ", ".join([name, *(_field_words(*field.split("=", 1)) for field in fields)])


def _field_words(name: str, text: str) -> str:
    try:
        return _value_words(name, json.loads(text))
    except ValueError:
        return _value_words(name, text)


def _value_words(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(_value_words(*item) for item in value.items())
    words = name.replace("_", " ")
    if isinstance(value, bool):
        return words if value else f"no {words}"
    shown = " and ".join(value) if isinstance(value, list) else value
    if name in ("method", "strategy", "optimizer"):
        shown = choice_words(name, value)
    if name == "sequence_length":
        shown = number(value)
    return _FIELD_WORDS.get(name, f"{words} {{}}").format(shown)


def set_up_words(facets: Mapping[str, str], names: Iterable[str] = tuple(_SAID)) -> str:
    """Say a set-up.

    >>> set_up_words({"method": "lora", "checkpointing": "full", "autocast": "none", "attention": "eager"})
    'LoRA, full checkpointing, eager attention'
    """
    said = []
    for name in names:
        default, words = _SAID[name]
        value = facets.get(name) or default
        if name == "method" or value != default:
            said.append(words.format(choice_words(_NAMED[name], value) if name in _NAMED else value))
    return ", ".join(said)


def evidence_rows(kind: EvidenceKind | None = None) -> tuple[EvidenceRow, ...]:
    """Every case, or those of one kind. Of a run on a device, what its tensors held must be known."""
    traced = () if kind == "measured" else _traced()
    measured = () if kind == "traced" else measured_evidence().rows
    return traced + measured


@cache
def measured_evidence() -> MeasuredEvidence:
    """All that is known from runs on real devices: cases, the monitor's band, verdicts."""
    return _read("measured.json", measured_of)


@cache
def _traced() -> tuple[EvidenceRow, ...]:
    return _read("traced.json", traced_of)


def evidence_groups(rows: Iterable[EvidenceRow], by: EvidenceGrouping) -> tuple[EvidenceGroup, ...]:
    """Cases together, with their errors at each instant. Of runs on devices, those alone whose set-up is known."""
    names: Mapping[EvidenceGrouping, Callable[[EvidenceRow], str]] = {
        "all": lambda _: "all",
        "family": lambda row: row.family,
        "set_up": lambda row: set_up_words(row.facets, SET_UP_FACETS),
        "source": lambda row: row.source,
    }
    groups: dict[str, list[EvidenceRow]] = {}
    for row in rows:
        if row.exact:
            groups.setdefault(names[by](row), []).append(row)
    return tuple(_group(name, alike) for name, alike in sorted(groups.items(), key=lambda group: group[0].lower()))


def figure_of(errors: Iterable[float]) -> EvidenceFigure:
    """Median, 95th percentile and worst of some errors, of which there is at least one.

    >>> figure_of([0.01, -0.02, 0.0])
    EvidenceFigure(median=0.01, high=0.02, worst=0.02)
    """
    sizes = sorted(map(abs, errors))
    return EvidenceFigure(statistics.median(sizes), sizes[round(0.95 * (len(sizes) - 1))], sizes[-1])


def _group(name: str, rows: list[EvidenceRow]) -> EvidenceGroup:
    worst = max(rows, key=lambda row: abs(row.worst[1]))
    instants = dict.fromkeys(instant for row in rows for instant in row.errors)
    return EvidenceGroup(
        name=name,
        kind=rows[0].kind,
        cases=len(rows),
        figures={name: figure_of(row.errors[name] for row in rows if name in row.errors) for name in instants},
        worst_case=worst.id,
        worst_instant=worst.worst[0],
        sources=tuple(sorted({row.source for row in rows})),
    )


def traced_of(content: Mapping[str, Any]) -> tuple[EvidenceRow, ...]:
    """Traced cases as `traced.json` holds them."""
    return tuple(_row(item, "traced", content) for item in content["cases"])


def measured_of(content: Mapping[str, Any]) -> MeasuredEvidence:
    """Runs on devices as `measured.json` holds them."""
    return MeasuredEvidence(
        rows=tuple(_row(item, "measured", content) for item in content["cases"]),
        bands=tuple(MonitorBand(**item) for item in content["bands"]),
        verdicts=VerdictCount(**content["verdicts"]),
    )


def _row(item: Mapping[str, Any], kind: EvidenceKind, content: Mapping[str, Any]) -> EvidenceRow:
    instants = content["instants_of_generation" if item.get("generates") else "instants"]
    errors = (error / _PER_HUNDRED_PERCENT for error in item["errors"])
    named = {
        "facets": dict(zip(content["facets"], item["facets"], strict=True)),
        "errors": dict(zip(instants, errors, strict=True)),
    }
    said = {name: value for name, value in item.items() if name != "generates"}
    return EvidenceRow(**{**said, "kind": kind, **named})


def _read(name: str, entry: Callable[[dict[str, Any]], T]) -> T:
    path = resource("evidence", name)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT:
            raise ValueError(f"format {content['format']}")
        return entry(content)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise MemplanError(
            f"this evidence cannot be read ({type(error).__name__}: {error}).",
            place=str(path),
            remedy="The installation is damaged: install memplan again.",
        ) from error
