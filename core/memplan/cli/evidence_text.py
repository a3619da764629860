"""What estimates were held against, for a terminal and as JSON: tables, or the cases nearest to a plan's scenarios."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

from memplan.cli.as_json import document
from memplan.cli.tables import figures_table, print_table
from memplan.cli.text import heading
from memplan.evidence import (
    EVIDENCE_KINDS,
    EvidenceGroup,
    EvidenceGrouping,
    EvidenceKind,
    EvidenceRow,
    case_title,
    error_words,
    evidence_groups,
    evidence_rows,
    measured_evidence,
)
from memplan.nearest_evidence import NEAREST, evidence_differences, nearest_evidence
from memplan.plan.scenario import Plan, Scenario
from memplan.plan_estimates import naming_scenario
from memplan.units import format_bytes
from memplan.version import __version__

if TYPE_CHECKING:
    from rich.table import Table

SHOWN: dict[EvidenceGrouping, str] = {"set_up": "Set-up", "family": "Family", "source": "Source"}
_PEAK = "peak"


def print_evidence() -> None:
    """Print errors by set-up and by family, of traces and of runs, and how often bands and verdicts are right."""
    from memplan.cli.terminal import console

    out = console()
    for kind, known in EVIDENCE_KINDS.items():
        rows = evidence_rows(kind)
        out.print(f"{known}: {sum(row.exact for row in rows)}. Errors at the peak, in percent: median, worst.")
        for by, title in SHOWN.items():
            print_table(out, _group_table(title, evidence_groups(rows, by)))
            out.print()
    measured = measured_evidence()
    shown, inside = sum(band.runs for band in measured.bands), sum(band.inside for band in measured.bands)
    verdicts = measured.verdicts
    out.print(f"The monitor's figure stands inside its band in {inside} of {shown} runs.")
    out.print(f"Verdicts: {verdicts.right} right, {verdicts.tight} tight, {len(verdicts.wrong)} wrong.")
    out.print("Every case, and why some are off: resources/help/evidence.md, or --json.")


def print_nearest(plan: Plan) -> None:
    """Print the cases nearest to each scenario, and in what they differ from it."""
    from memplan.cli.terminal import console

    out = console()
    for position, scenario in enumerate(plan.scenarios):
        if position:
            out.print()
        out.print(heading(scenario.name))
        for kind, title in EVIDENCE_KINDS.items():
            rows = _nearest(scenario, position, kind)
            out.print(f"{title.partition(',')[0]}, nearest first:")
            print_table(out, _row_table(rows, scenario))


def evidence_json() -> str:
    """Write every group, case, band and verdict."""
    content: dict[str, Any] = {"memplan": __version__}
    for kind in EVIDENCE_KINDS:
        rows = evidence_rows(kind)
        groups = {by: [asdict(group) for group in evidence_groups(rows, by)] for by in get_args(EvidenceGrouping)}
        content[kind] = {"groups": groups, "cases": [asdict(row) for row in rows]}
    measured = measured_evidence()
    content["monitor_bands"] = [asdict(band) for band in measured.bands]
    content["verdicts"] = asdict(measured.verdicts)
    return document(content)


def nearest_json(plan: Plan) -> str:
    """Write the cases nearest to each scenario."""
    scenarios = [
        {
            "name": scenario.name,
            "nearest": [
                {**asdict(row), "differs_in": evidence_differences(row, scenario)}
                for kind in EVIDENCE_KINDS
                for row in _nearest(scenario, position, kind)
            ],
        }
        for position, scenario in enumerate(plan.scenarios)
    ]
    return document({"memplan": __version__, "scenarios": scenarios})


def _nearest(scenario: Scenario, position: int, kind: EvidenceKind) -> tuple[EvidenceRow, ...]:
    with naming_scenario(scenario, position):
        return nearest_evidence(scenario, NEAREST[kind], kind)


def _group_table(title: str, groups: Iterable[EvidenceGroup]) -> Table:
    table = figures_table([title, "Cases", "Median", "Worst", "Worst case"], ["Cases", "Median", "Worst"])
    for group in groups:
        figure, worst = group.figures[_PEAK], case_title(group.worst_case)
        table.add_row(group.name, str(group.cases), _percent(figure.median), _percent(figure.worst), worst)
    return table


def _row_table(rows: Iterable[EvidenceRow], scenario: Scenario) -> Table:
    table = figures_table(["Case", "Known", "Off by", "Differs in"], ["Known", "Off by"])
    for row in rows:
        differences = ", ".join(evidence_differences(row, scenario)) or "nothing that counts"
        words = f"{differences}. {row.reason}" if row.reason else differences
        table.add_row(row.title, format_bytes(row.truth_bytes), error_words(row.error), words)
    return table


def _percent(error: float) -> str:
    return f"{error * 100:.2f}"
