"""The words of the one-page sheet for a design review: verdict, assumptions, levers, evidence, remarks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from memplan import (
    Estimate,
    LeverOffer,
    Plan,
    Scenario,
    Unit,
    __version__,
    basis_sentence,
    evidence_differences,
    format_bytes,
    nearest_evidence,
    number,
    process_sentence,
    replaced,
    saving_words,
    set_up_lines,
    tr,
    tr_later,
    translated,
    useful_offers,
    warning_lines,
)
from memplan_gui.presenters.automatic_names import plan_title
from memplan_gui.presenters.labels import picture_subtitle
from memplan_gui.presenters.stack import StackChart, stack_chart
from memplan_gui.presenters.verdict import VerdictView, verdict_view

NUM_CASES = 2
MOST_LEVERS = 8
SAME = 0.00005
COMPARED = {
    "traced": tr_later(
        "Compared: peak memory of the tensors, as estimated and as traces of the framework's own code on a CPU show it."
    ),
    "measured": tr_later(
        "Compared: peak memory of the tensors, as estimated and as the framework's allocator counted it on devices."
    ),
}
"""What the cases of a kind hold the estimate against."""


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
    subtitle: str
    """Model, method, batch and devices, in a line."""
    verdict: VerdictView
    chart: StackChart
    chart_title: str
    assumptions: tuple[tuple[str, str], ...]
    levers: tuple[LeverLine, ...]
    other_levers: tuple[str, ...]
    """Those that are on already, and those that are off and would change nothing, in a sentence each."""
    evidence: tuple[str, ...]
    warnings: tuple[tuple[str, str], ...]
    """The field, and what is wrong with it."""
    notes: str
    footer: str


def sheet(
    title: str,
    scenario: Scenario,
    estimate: Estimate,
    offers: tuple[LeverOffer, ...],
    unit: Unit,
    day: date,
    notes: str = "",
) -> Sheet:
    """Put the page together. `day` stands in its footer; everything else follows from the plan."""
    peaks_later = any(instant.total_bytes >= estimate.peak.total_bytes for instant in estimate.instants)
    every = [offer for offer in offers if not offer.costs_memory]
    offered = [offer for offer in useful_offers(every, MOST_LEVERS) if offer.state != "not_applicable"]
    is_on = [translated(offer.lever.title) for offer in offered if offer.state == "on"]
    useful = [offer for offer in offered if offer.state != "on" and not offer.saves_nothing]
    idle = [translated(offer.lever.title) for offer in offered if offer.state != "on" and offer.saves_nothing]
    others = {tr("On already: {levers}."): is_on, tr("Would change nothing: {levers}."): idle}
    return Sheet(
        title=title,
        scenario=scenario.name,
        subtitle=picture_subtitle(scenario, estimate),
        verdict=verdict_view(estimate, unit),
        chart=stack_chart(estimate, unit, first_step=not peaks_later),
        chart_title=_chart_title(scenario, first_step=not peaks_later),
        assumptions=_assumptions(scenario, estimate, unit),
        levers=tuple(_lever_line(offer, unit) for offer in useful),
        other_levers=tuple(words.format(levers=", ".join(titles)) for words, titles in others.items() if titles),
        evidence=tuple(_case_words(scenario, unit)),
        warnings=tuple(warning_lines(estimate)),
        notes=" ".join(notes.split()),
        footer=f"memplan {__version__} · {day.isoformat()}",
    )


def _chart_title(scenario: Scenario, *, first_step: bool) -> str:
    """What the bars are of: inference makes no steps, and one device is not each."""
    one = scenario.hardware.devices == 1
    if scenario.training.method == "inference":
        return tr("Memory on the device, by instant") if one else tr("Memory on each device, by instant")
    if first_step:
        titles = (
            tr("Memory on the device, by instant of the first step"),
            tr("Memory on each device, by instant of the first step"),
        )
    else:
        titles = (
            tr("Memory on the device, by instant of a later step"),
            tr("Memory on each device, by instant of a later step"),
        )
    return titles[0] if one else titles[1]


def _assumptions(scenario: Scenario, estimate: Estimate, unit: Unit) -> tuple[tuple[str, str], ...]:
    lines = [*set_up_lines(scenario, estimate, unit), (tr("Basis"), basis_sentence(estimate))]
    if monitor := process_sentence(estimate, unit):
        lines.append((tr("Monitor"), monitor))
    return tuple(lines)


def _lever_line(offer: LeverOffer, unit: Unit) -> LeverLine:
    return LeverLine(translated(offer.lever.title), saving_words(offer.saving_bytes, unit), offer.price)


def sheet_title(plan: Plan, position: int) -> str:
    """The plan's title; one that follows the plan's models by itself is of the scenario on the page alone."""
    if plan.title != plan_title(plan):
        return plan.title
    return plan_title(replaced(plan, "scenarios", (plan.scenarios[position],)))


def _case_words(scenario: Scenario, unit: Unit) -> list[str]:
    """The nearest known cases: how far the estimate is off there, and in what they differ from the plan."""
    rows = nearest_evidence(scenario, NUM_CASES)
    words = [translated(COMPARED[kind]) for kind in COMPARED if any(row.kind == kind for row in rows)]
    for row in rows:
        differences = evidence_differences(row, scenario)
        unlike = tr("unlike the plan: {differences}").format(differences=", ".join(differences))
        seen = tr("{case}: {size} traced, {off}; {apart}.")
        if row.kind != "traced":
            seen = tr("{case}: {size} measured, {off}; {apart}.")
        apart = unlike if differences else tr("as this plan in all that counts")
        size = format_bytes(row.truth_bytes, unit)
        words.append(seen.format(case=row.title, size=size, off=_off_by(row.error), apart=apart))
    return words


def _off_by(error: float) -> str:
    """How far an estimate is from the truth, in words; errors are known to a hundredth of a percent."""
    if abs(error) < SAME:
        return tr("estimate within {least}").format(least=number(2 * SAME, ".2%"))
    words = tr("estimate {share} above") if error > 0 else tr("estimate {share} below")
    return words.format(share=number(abs(error), ".2%"))
