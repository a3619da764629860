"""Scenarios side by side: the fullest instant of each on one scale, and what differs between their set-ups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from typing import Any

from pydantic import BaseModel

from memplan import (
    TERMS,
    Estimate,
    Scenario,
    TermName,
    Unit,
    choice_title,
    facts_at,
    format_bytes,
    instant_words,
    number,
    tr,
    tr_later,
    translated,
    verdict_title,
    verdict_tone,
)
from memplan_gui.charts.scale import grouped
from memplan_gui.plan_fields import means_something
from memplan_gui.presenters.cells import Amounts, Cells
from memplan_gui.presenters.labels import term_title
from memplan_gui.presenters.stack import Bar, bar
from memplan_gui.presenters.verdict import ICONS
from memplan_gui.presenters.words import bytes_text, fraction_text

NOT_KNOWN = "–"
ONE_ALONE = tr_later("One scenario, so nothing to compare yet. Duplicate it (Ctrl+D) and change the copy.")
UNKNOWN_ICON = "verdict-unknown"


@dataclass(frozen=True, slots=True)
class Compared:
    """One scenario of the comparison; without an estimate it has a name alone."""

    name: str
    estimate: Estimate | None

    @property
    def bar(self) -> Bar | None:
        """Its fullest instant, by term."""
        return bar(self.estimate.peak, is_peak=True) if self.estimate else None

    @property
    def icon(self) -> str:
        """The sign of its verdict."""
        return ICONS[verdict_tone(self.estimate)] if self.estimate else UNKNOWN_ICON

    @property
    def role(self) -> str:
        """The colour role of the sign."""
        return verdict_tone(self.estimate) if self.estimate else "muted"


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A line of the table: one cell for each scenario."""

    title: str
    cells: tuple[str, ...]
    term: TermName | None = None
    """The term whose bytes they are; None for everything else."""
    differs: bool = False
    """Whether it is a field of the plan that is not the same in all."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that the view shows."""

    scenarios: tuple[Compared, ...]
    current: int
    rows: tuple[ComparedRow, ...]
    unit: Unit
    sentence: str

    @property
    def longest(self) -> int:
        """The furthest that a bar reaches."""
        return max((one.estimate.peak.total_bytes for one in self.scenarios if one.estimate), default=0)

    @property
    def usable(self) -> int:
        """The furthest usable line."""
        return max((one.estimate.usable_bytes for one in self.scenarios if one.estimate), default=0)

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms that some bar has, in stack order."""
        return tuple(row.term for row in self.rows if row.term)

    @property
    def overflows(self) -> bool:
        """Whether a bar reaches beyond what its device gives."""
        return any(one.estimate.headroom_bytes < 0 for one in self.scenarios if one.estimate)

    @property
    def shared_device(self) -> str:
        """The device's name, where all scenarios run on the same with the same usable memory; empty otherwise."""
        known = {(one.estimate.device_name, one.estimate.usable_bytes) for one in self.scenarios if one.estimate}
        return next(iter(known))[0] if len(known) == 1 else ""


def comparison(
    scenarios: Sequence[Scenario], estimates: Sequence[Estimate | None], current: int, unit: Unit
) -> Comparison:
    """Put scenarios and their estimates (None where there is none) side by side."""
    compared = tuple(Compared(one.name, estimate) for one, estimate in zip(scenarios, estimates, strict=True))
    rows = (*_answer_rows(compared, unit), *difference_rows(scenarios, compared, unit), *_term_rows(compared, unit))
    return Comparison(compared, current, rows, unit, _sentence(compared, unit))


def difference_rows(scenarios: Sequence[Scenario], compared: Sequence[Compared], unit: Unit) -> Iterator[ComparedRow]:
    """The fields that are not the same in all scenarios, in the order of the plan file.

    A field that does nothing in a scenario counts as its default there, and a dash stands for it.
    """
    first = scenarios[0]
    if any(one.model != first.model for one in scenarios):
        models = tuple(one.estimate.model_name if one.estimate else NOT_KNOWN for one in compared)
        yield ComparedRow(tr("Model"), models, differs=True)
    for path in _paths(first):
        if path == "name" or path.startswith("model."):
            continue
        values = [_reader(path)(one) for one in scenarios]
        if any(value != values[0] for value in values):
            yield from _difference(path, values, scenarios, compared, unit)


def _difference(
    path: str, values: Sequence[Any], scenarios: Sequence[Scenario], compared: Sequence[Compared], unit: Unit
) -> Iterator[ComparedRow]:
    """The row of a field whose values differ; none where they do so only in scenarios in which they do nothing."""
    field = facts_at(Scenario, path)
    known = [means_something(path, one) for one in scenarios]
    counted = [value if is_known else field.default for value, is_known in zip(values, known, strict=True)]
    if all(value == counted[0] for value in counted):
        return
    cells = [one.estimate.device_name if one.estimate else "" for one in compared]
    if path != "hardware.device":
        cells = [value_text(path, value, unit) for value in counted]
    told = (cell if is_known else NOT_KNOWN for cell, is_known in zip(cells, known, strict=True))
    yield ComparedRow(translated(field.title), tuple(told), differs=True)


def value_text(path: str, value: Any, unit: Unit) -> str:
    """The value of a field as sentences and tables write it: digits in groups."""
    field = facts_at(Scenario, path)
    if value is None:
        return NOT_KNOWN
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    if field.unit == "bytes":
        return bytes_text(value, unit)
    if isinstance(value, int):
        return grouped(value)
    if isinstance(value, float):
        return fraction_text(value)
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or tr("none")
    return translated(choice_title(path.rpartition(".")[2], str(value)))


def bar_words(one: Compared, unit: Unit) -> str:
    """What stands beside the mouse over a scenario's bar: its terms, largest first."""
    if one.estimate is None:
        return tr("{scenario}: no estimate").format(scenario=one.name)
    sizes = sorted(one.estimate.peak.bytes_by_term.items(), key=lambda pair: -pair[1])
    lines = [f"{one.name}, {instant_words(one.estimate.peak)}"]
    return "\n".join([*lines, *(f"{translated(term)}: {format_bytes(size, unit)}" for term, size in sizes)])


def comparison_cells(compared: Comparison, amounts: Amounts) -> Cells:
    """The table as it leaves the window: answers, what differs, terms."""
    known = [one.estimate for one in compared.scenarios]

    def sizes(title: str, of: Callable[[Estimate], int]) -> tuple[str, ...]:
        return (amounts.titled(title), *(amounts.figure(of(one)) if one else "" for one in known))

    rows = [
        (tr("Verdict"), *(verdict_title(one) if one else "" for one in known)),
        sizes(tr("Peak"), lambda one: one.peak.total_bytes),
        sizes(tr("Need from"), lambda one: one.need.low),
        sizes(tr("Need to"), lambda one: one.need.high),
        sizes(tr("Usable"), lambda one: one.usable_bytes),
        (tr("Fullest"), *(instant_words(one.peak) if one else "" for one in known)),
        *((row.title, *row.cells) for row in compared.rows if row.differs),
        *(sizes(row.title, partial(_size_of, row.term)) for row in compared.rows if row.term),
    ]
    return Cells(("", *(one.name for one in compared.scenarios)), tuple(rows))


def _size_of(term: TermName, estimate: Estimate) -> int:
    return estimate.peak.bytes_by_term.get(term, 0)


def _answer_rows(compared: Sequence[Compared], unit: Unit) -> Iterator[ComparedRow]:
    known = [one.estimate for one in compared]
    yield ComparedRow(tr("Verdict"), tuple(verdict_title(one) if one else NOT_KNOWN for one in known))
    yield ComparedRow(tr("Peak"), tuple(_figure(one.peak.total_bytes, unit) if one else NOT_KNOWN for one in known))
    bands = (f"{_figure(one.need.low, unit)} to {_figure(one.need.high, unit)}" if one else NOT_KNOWN for one in known)
    yield ComparedRow(tr("Need, low to high"), tuple(bands))
    yield ComparedRow(tr("Usable"), tuple(_figure(one.usable_bytes, unit) if one else NOT_KNOWN for one in known))
    yield ComparedRow(tr("Fullest"), tuple(instant_words(one.peak) if one else NOT_KNOWN for one in known))


def _term_rows(compared: Sequence[Compared], unit: Unit) -> Iterator[ComparedRow]:
    for term in TERMS:
        sizes = [one.estimate.peak.bytes_by_term.get(term, 0) if one.estimate else 0 for one in compared]
        if any(sizes):
            cells = tuple(_figure(size, unit) if size else NOT_KNOWN for size in sizes)
            yield ComparedRow(term_title(term), cells, term)


def _sentence(compared: Sequence[Compared], unit: Unit) -> str:
    """Which scenario needs least, and how much more the fullest needs."""
    if len(compared) < 2:
        return translated(ONE_ALONE)
    known = [(one.estimate.need_bytes, one.name) for one in compared if one.estimate]
    if len(known) < 2:
        return tr("Too few of the scenarios have an estimate to compare them.")
    (least, name), (most, other) = min(known), max(known)
    if least == most:
        return tr("All need the same: {size}.").format(size=format_bytes(least, unit))
    words = tr("“{one}” needs least: {least}. “{other}” needs {more} more, {times} times as much.")
    sizes = {"least": format_bytes(least, unit), "more": format_bytes(most - least, unit)}
    return words.format(one=name, other=other, times=number(most / least, ".3g"), **sizes)


def _figure(num_bytes: int, unit: Unit) -> str:
    return format_bytes(num_bytes, unit).split(" ")[0]


@cache
def _reader(path: str) -> Callable[[Scenario], Any]:
    """What reads a field: every field of every scenario is read at every edit."""
    return attrgetter(path)


def _paths(part: BaseModel, under: str = "") -> Iterator[str]:
    """The path of every field that holds a value and not a section."""
    for name, value in part.__dict__.items():
        path = f"{under}{name}"
        if isinstance(value, BaseModel):
            yield from _paths(value, f"{path}.")
        else:
            yield path
