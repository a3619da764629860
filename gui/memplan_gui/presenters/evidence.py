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
    error_words,
    evidence_differences,
    evidence_group_name,
    evidence_groups,
    evidence_rows,
    format_bytes,
    format_count,
    is_exact,
    measured_evidence,
    nearest_evidence,
    number,
    once_a_style,
    tr,
    tr_later,
    translated,
)
from memplan_gui.charts.scale import grouped
from memplan_gui.presenters.cells import Cells

Mode = Literal["nearest", "set_up", "family", "source"]
MODES: tuple[tuple[str, Mode], ...] = (
    (tr_later("Nearest"), "nearest"),
    (tr_later("Set-ups"), "set_up"),
    (tr_later("Families"), "family"),
    (tr_later("Sources"), "source"),
)
GROUP_TITLES = {"set_up": tr_later("Set-up"), "family": tr_later("Family"), "source": tr_later("Source")}
KIND_TITLES = {"traced": tr_later("Trace"), "measured": tr_later("Device")}
PEAK = "peak"
NO_DIFFERENCE = tr_later("nothing that counts")
LEAST = 0.0001
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
        known = tr("Known, {unit}").format(unit=UNIT_NAMES[unit])
        headers = (tr("Case"), tr("Kind"), known, tr("Estimate"), tr("Off by"), tr("Different there"), tr("Source"))
        lines = tuple(_case_line(row, scenario, unit) for row in nearest)
        return EvidenceTable(headers, (2, 3, 4), lines)
    titles = (tr("Kind"), tr("Cases"), tr("Median"), "95%", tr("Worst"), tr("Worst case"))
    headers = (translated(GROUP_TITLES[mode]), *titles)
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
    errors = [abs(row.error) for row in rows]
    own = tr("The nearest trace is of this very set-up; the estimate is {off}.")
    other = tr("The nearest trace has another set-up ({differs}); there the estimate is {off}.")
    nearest_words = (other if differs else own).format(differs=differs, off=_off(nearest.error))
    all_words = tr("The nearest {count} cases are off by {median} in the median, {worst} at most.").format(
        count=len(rows), median=_percent(statistics.median(errors)), worst=_percent(max(errors))
    )
    return f"{words}{nearest_words} {all_words}"


@once_a_style
def all_sentence() -> str:
    """How far off estimates are over all cases, and how verdicts stand."""
    parts = []
    for kind, what in EVIDENCE_KINDS.items():
        errors = [abs(row.error) for row in evidence_rows(kind) if row.exact]
        median, worst = statistics.median(errors), max(errors)
        name = what.partition(",")[0]
        name = name[:1].lower() + name[1:]
        words = tr("{count} {cases}: {median} off in the median, {worst} at most")
        parts.append(
            words.format(count=grouped(len(errors)), cases=name, median=_percent(median), worst=_percent(worst))
        )
    verdicts = measured_evidence().verdicts
    verdict = tr("verdicts on devices: {right} right, {tight} tight, {wrong} wrong").format(
        right=verdicts.right, tight=verdicts.tight, wrong=len(verdicts.wrong)
    )
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
    off = [
        f"{name.replace('_', ' ')} {error_words(error)}" for name, error in row.errors.items() if not is_exact(error)
    ]
    exact = tr("Exact to {least} at every instant that is known.").format(least=number(LEAST, ".2%"))
    instants = tr("Off by instant: {instants}.").format(instants=", ".join(off)) if off else exact
    what = tr("{set_up}: {parameters} parameters, {tokens} tokens").format(
        set_up=row.set_up, parameters=format_count(row.parameters), tokens=grouped(row.tokens)
    )
    differs = ", ".join(evidence_differences(row, scenario)) or translated(NO_DIFFERENCE)
    about = tr("{what}. Different there: {differs}. Source: {source}.")
    lines = [about.format(what=what, differs=differs, source=row.source), instants]
    cells = (
        title,
        translated(KIND_TITLES[row.kind]),
        format_bytes(row.truth_bytes, unit).split(" ")[0],
        format_bytes(row.estimate_bytes, unit).split(" ")[0],
        error_words(row.error),
        differs,
        row.source,
    )
    return EvidenceLine(cells, title, "\n".join([*lines, *([row.reason] if row.reason else [])]))


def _group_line(group: EvidenceGroup, own: str) -> EvidenceLine:
    figure, worst = group.figures[PEAK], case_title(group.worst_case)
    sources = tr("Sources: {sources}.").format(sources=", ".join(group.sources))
    instants = ", ".join(
        f"{instant.replace('_', ' ')} {_percent(one.median)} / {_percent(one.worst)}"
        for instant, one in group.figures.items()
    )
    by_instant = tr("Median and worst by instant: {instants}.").format(instants=instants)
    return EvidenceLine(
        cells=(
            group.name,
            translated(KIND_TITLES[group.kind]),
            grouped(group.cases),
            *(_percent(error) for error in (figure.median, figure.high, figure.worst)),
            f"{worst}, {group.worst_instant.replace('_', ' ')}",
        ),
        title=group.name,
        detail=f"{sources}\n{by_instant}",
        is_own=group.name == own,
    )


def _percent(error: float) -> str:
    return number(error, ".2%")


def _off(error: float) -> str:
    if is_exact(error):
        return tr("exact to {least}").format(least=number(LEAST, ".2%"))
    return tr("off by {share}").format(share=error_words(error))
