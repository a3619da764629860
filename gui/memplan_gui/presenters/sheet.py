"""The words of the one-page sheet for a design review: verdict, assumptions, levers, evidence, warnings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from memplan import (
    Estimate,
    LeverOffer,
    Scenario,
    Unit,
    __version__,
    basis_sentence,
    evidence_differences,
    format_bytes,
    nearest_evidence,
    process_sentence,
    saving_words,
    set_up_lines,
    useful_offers,
    warning_lines,
)
from memplan_gui.presenters.stack import StackChart, stack_chart
from memplan_gui.presenters.verdict import VerdictView, verdict_view

NUM_CASES = 3
MOST_LEVERS = 8


@dataclass(frozen=True, slots=True)
class LeverLine:
    """What a lever would do, in three short texts."""

    title: str
    saving: str
    price: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """All that stands on the page."""

    title: str
    scenario: str
    verdict: VerdictView
    chart: StackChart
    assumptions: tuple[tuple[str, str], ...]
    levers: tuple[LeverLine, ...]
    idle_levers: str
    """Those that apply and change nothing, in a sentence; empty without any."""
    evidence: tuple[str, ...]
    warnings: tuple[str, ...]
    footer: str


def sheet(
    title: str, scenario: Scenario, estimate: Estimate, offers: tuple[LeverOffer, ...], unit: Unit, day: date
) -> Sheet:
    """Put the page together. `day` stands in its footer; everything else follows from the plan."""
    peaks_later = any(instant.total_bytes >= estimate.peak.total_bytes for instant in estimate.instants)
    offered = [offer for offer in useful_offers(offers, MOST_LEVERS) if offer.state != "not_applicable"]
    useful = [offer for offer in offered if not offer.saves_nothing]
    idle = [offer.lever.title for offer in offered if offer.saves_nothing]
    return Sheet(
        title=title,
        scenario=scenario.name,
        verdict=verdict_view(estimate, unit),
        chart=stack_chart(estimate, unit, first_step=not peaks_later),
        assumptions=_assumptions(scenario, estimate, unit),
        levers=tuple(_lever_line(offer, unit) for offer in useful),
        idle_levers=f"Would change nothing: {', '.join(idle)}." if idle else "",
        evidence=tuple(_case_words(scenario, unit)),
        warnings=tuple(f"{field}: {words}" for field, words in warning_lines(estimate)),
        footer=f"memplan {__version__} · {day.isoformat()}",
    )


def _assumptions(scenario: Scenario, estimate: Estimate, unit: Unit) -> tuple[tuple[str, str], ...]:
    lines = [*set_up_lines(scenario, estimate, unit), ("Basis", basis_sentence(estimate))]
    if monitor := process_sentence(estimate, unit):
        lines.append(("Monitor", monitor))
    return tuple(lines)


def _lever_line(offer: LeverOffer, unit: Unit) -> LeverLine:
    saving = "on" if offer.state == "on" else saving_words(offer.saving_bytes, unit)
    return LeverLine(offer.lever.title, saving, offer.price)


def _case_words(scenario: Scenario, unit: Unit) -> list[str]:
    """The nearest known cases: how far the estimate is off there, and in what they differ."""
    return [
        f"{row.title} ({row.kind}): known {format_bytes(row.truth_bytes, unit)}, estimate off by {row.error:+.2%}; "
        f"differs in {', '.join(evidence_differences(row, scenario)) or 'nothing that counts'}"
        for row in nearest_evidence(scenario, NUM_CASES)
    ]
