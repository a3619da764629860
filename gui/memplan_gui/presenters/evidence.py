"""What estimates were held against, as tables and sentences: the cases nearest to a scenario, and groups of all."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from memplan import (
    EVIDENCE_KINDS,
    NEAREST,
    UNIT_NAMES,
    Estimate,
    EvidenceGroup,
    EvidenceRow,
    Scenario,
    Unit,
    basis_sentence,
    case_title,
    evidence_differences,
    evidence_group_name,
    evidence_groups,
    evidence_rows,
    format_bytes,
    format_count,
    measured_evidence,
    nearest_evidence,
    number,
)
from memplan_gui.charts.scale import grouped
from memplan_gui.presenters.cells import Cells

Mode = Literal["nearest", "set_up", "family", "source"]
MODES: tuple[tuple[str, Mode], ...] = (
    ("Nearest", "nearest"),
    ("Set-ups", "set_up"),
    ("Families", "family"),
    ("Sources", "source"),
)
KIND_TITLES = {"traced": "Trace", "measured": "Device"}
PEAK = "peak"
NO_DIFFERENCE = "nothing that counts"
EXACT = 0.00005
"""Errors are known to a hundredth of a percent."""


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    """A line of the table."""

    cells: tuple[str, ...]
    title: str
    detail: str
    """All that is known of it, in words."""
    is_own: bool = False
    """Whether the scenario itself would stand in this group."""


@dataclass(frozen=True, slots=True)
class EvidenceTable:
    """A table of cases or of groups."""

    headers: tuple[str, ...]
    figures: tuple[int, ...]
    """The columns that hold figures."""
    lines: tuple[EvidenceLine, ...]


def evidence_table(scenario: Scenario, mode: Mode, unit: Unit, nearest: Sequence[EvidenceRow]) -> EvidenceTable:
    """The cases nearest to a scenario, or all cases in groups of one sort.

    Raises:
        MemplanError: the scenario's model is none.
    """
    if mode == "nearest":
        name = UNIT_NAMES[unit]
        headers = ("Case", "Kind", f"Known, {name}", "Estimate", "Off by", "Different there", "Source")
        lines = tuple(_case_line(row, scenario, unit) for row in nearest)
        return EvidenceTable(headers, (2, 3, 4), lines)
    title = next(title for title, name in MODES if name == mode).removesuffix("s")
    headers = (title.replace("Familie", "Family"), "Kind", "Cases", "Median", "95%", "Worst", "Worst case")
    own = evidence_group_name(scenario, mode)
    return EvidenceTable(headers, (2, 3, 4, 5), tuple(_group_line(group, own) for group in _groups(mode)))


def nearest_rows(scenario: Scenario) -> tuple[EvidenceRow, ...]:
    """The cases nearest to a scenario, traces first, as the command line lists them."""
    return tuple(row for kind, count in NEAREST.items() for row in nearest_evidence(scenario, count, kind))


def own_sentence(estimate: Estimate | None, rows: Sequence[EvidenceRow], scenario: Scenario) -> str:
    """How the scenario's estimate is founded, and how far off estimates of its like are."""
    words = ""
    if estimate is not None:
        basis = basis_sentence(estimate)
        words = f"{basis[:1].upper()}{basis[1:]}. "
    if not rows:
        return words.strip()
    nearest = rows[0]
    differs = ", ".join(evidence_differences(nearest, scenario))
    there = f"has another set-up ({differs}); there" if differs else "is of this very set-up;"
    errors = [abs(row.error) for row in rows]
    return (
        f"{words}The nearest trace {there} the estimate is {_off(nearest.error)}. The nearest {len(rows)} cases "
        f"are off by {_percent(statistics.median(errors))} in the median, {_percent(max(errors))} at most."
    )


@cache
def all_sentence() -> str:
    """How far off estimates are over all cases, and how verdicts stand."""
    parts = []
    for kind, what in EVIDENCE_KINDS.items():
        errors = [abs(row.error) for row in evidence_rows(kind) if row.exact]
        median, worst = statistics.median(errors), max(errors)
        name = what.partition(",")[0]
        name = name[:1].lower() + name[1:]
        parts.append(f"{grouped(len(errors))} {name}: {_percent(median)} off in the median, {_percent(worst)} at most")
    verdicts = measured_evidence().verdicts
    verdict = f"verdicts on devices: {verdicts.right} right, {verdicts.tight} tight, {len(verdicts.wrong)} wrong"
    return "; ".join([*parts, verdict]) + "."


def evidence_cells(table: EvidenceTable) -> Cells:
    """The table as it leaves the window."""
    return Cells(table.headers, tuple(line.cells for line in table.lines))


@cache
def _groups(mode: Mode) -> tuple[EvidenceGroup, ...]:
    assert mode != "nearest"
    return tuple(group for kind in EVIDENCE_KINDS for group in evidence_groups(evidence_rows(kind), mode))


def _case_line(row: EvidenceRow, scenario: Scenario, unit: Unit) -> EvidenceLine:
    title = row.title
    off = [f"{name.replace('_', ' ')} {_signed(error)}" for name, error in row.errors.items() if not _is_exact(error)]
    instants = f"Off by instant: {', '.join(off)}." if off else "Exact to 0.01% at every instant that is known."
    what = f"{row.set_up}: {format_count(row.parameters)} parameters, {grouped(row.tokens)} tokens"
    differs = ", ".join(evidence_differences(row, scenario)) or NO_DIFFERENCE
    lines = [f"{what}. Different there: {differs}. Source: {row.source}.", instants]
    cells = (
        title,
        KIND_TITLES[row.kind],
        format_bytes(row.truth_bytes, unit).split(" ")[0],
        format_bytes(row.estimate_bytes, unit).split(" ")[0],
        _signed(row.error),
        differs,
        row.source,
    )
    return EvidenceLine(cells, title, "\n".join([*lines, *([row.reason] if row.reason else [])]))


def _group_line(group: EvidenceGroup, own: str) -> EvidenceLine:
    figure, worst = group.figures[PEAK], case_title(group.worst_case)
    sources = f"Sources: {', '.join(group.sources)}."
    instants = ", ".join(
        f"{instant.replace('_', ' ')} {_percent(one.median)} / {_percent(one.worst)}"
        for instant, one in group.figures.items()
    )
    return EvidenceLine(
        cells=(
            group.name,
            KIND_TITLES[group.kind],
            grouped(group.cases),
            *(_percent(error) for error in (figure.median, figure.high, figure.worst)),
            f"{worst}, {group.worst_instant.replace('_', ' ')}",
        ),
        title=group.name,
        detail=f"{sources}\nMedian and worst by instant: {instants}.",
        is_own=group.name == own,
    )


def _percent(error: float) -> str:
    return number(error, ".2%")


def _signed(error: float) -> str:
    return "0.00%" if _is_exact(error) else number(error, "+.2%").replace("-", "−")


def _off(error: float) -> str:
    return "exact to 0.01%" if _is_exact(error) else f"off by {_signed(error)}"


def _is_exact(error: float) -> bool:
    return abs(error) < EXACT
