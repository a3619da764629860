"""What `memplan levers` prints: what each lever does, what makes the plan fit, and the other ways."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from memplan.catalog import Device
from memplan.cli.lever_answers import LeversAnswer
from memplan.cli.tables import figures_table, print_labelled, print_table
from memplan.cli.text import COLOURS, heading, verdict_line
from memplan.levers import LeverOffer
from memplan.making_fit import PREFERENCES, Candidate, Fall, proposal_sentence, uses_words
from memplan.sentences import VERDICT_TITLES, peak_words, slowdown_words
from memplan.units import UNIT_NAMES, Unit, format_bytes, to_unit

if TYPE_CHECKING:
    from rich.table import Table


def print_levers(answer: LeversAnswer, unit: Unit) -> None:
    """Print a scenario's verdict, its levers, and the least costly set that fits."""
    from memplan.cli.terminal import console

    out, estimate = console(), answer.estimate
    out.print(heading(answer.scenario.name))
    out.print(verdict_line(estimate, unit))
    out.print()
    useful = [offer for offer in answer.offers if offer.state != "not_applicable" and not offer.saves_nothing]
    print_table(out, _levers(useful, unit))
    idle = [offer for offer in answer.offers if offer.state == "off" and offer.saves_nothing]
    if idle:
        words = f"{_titles(idle)}. The peak is {peak_words(estimate)}."
        print_labelled(out, "Save nothing", words, least=_LABEL)
    for reason, alike in _reasons(answer.offers):
        print_labelled(out, "Do not apply", f"{_titles(alike)}: {reason}", least=_LABEL)
    _print_proposal(answer, unit)


_LABEL = len("Do not apply")


def _print_proposal(answer: LeversAnswer, unit: Unit) -> None:
    from memplan.cli.terminal import console, plain_text

    out, proposal = console(), answer.proposal
    out.print()
    out.print(heading("Make it fit"))
    colour = COLOURS["fits" if proposal.best else "does_not_fit"]
    out.print(plain_text(proposal_sentence(proposal, unit), style=colour))
    if proposal.preferences.kept and not proposal.now.fits:
        names = ", ".join(name for name in PREFERENCES if name in proposal.preferences.kept)  # as --free takes them
        print_labelled(out, "Kept", f"{names}; --free NAME lets one of them change.", least=0)
    if len(answer.falls) > 1:
        out.print()
        print_table(out, _falls(answer.falls, unit))
    if len(proposal.front) > 1:
        out.print()
        print_table(out, _front(proposal.front, proposal.best, unit))
    if answer.each:
        out.print()
        print_table(out, _each(answer.each))


def _levers(offers: Sequence[LeverOffer], unit: Unit) -> Table:
    from rich.text import Text

    saves = f"Saves, {UNIT_NAMES[unit]}"
    table = figures_table(["Lever", saves, "Time", "Then", "Costs"], [saves], keep=["Time", "Then"])
    table.padding = (0, 1, 0, 0)
    for offer in offers:
        verdict, is_on = offer.verdict, offer.state == "on"
        then = Text(VERDICT_TITLES[verdict], style=COLOURS[verdict]) if verdict and not is_on else Text("on now")
        table.add_row(
            offer.lever.title,
            f"{to_unit(offer.saving_bytes, unit):,.2f}".replace("-", "−"),
            slowdown_words(offer.slowdown or 1.0),
            then,
            offer.lever.short,
        )
    return table


def _reasons(offers: Sequence[LeverOffer]) -> list[tuple[str, list[LeverOffer]]]:
    """Levers that do not apply, by why."""
    apart = [offer for offer in offers if offer.state == "not_applicable"]
    ranked = sorted(apart, key=lambda offer: offer.sentence)
    grouped = [(reason, list(alike)) for reason, alike in groupby(ranked, key=lambda offer: offer.sentence)]
    return [(reason.removeprefix("Does not apply: "), alike) for reason, alike in grouped]


def _titles(offers: Sequence[LeverOffer]) -> str:
    return ", ".join(offer.lever.title for offer in offers)


def _falls(falls: Sequence[Fall], unit: Unit) -> Table:
    saves, need = f"Saves, {UNIT_NAMES[unit]}", f"Need, {UNIT_NAMES[unit]}"
    table = figures_table(["Lever by lever", saves, need, "Peak"], [saves, need])
    for fall in falls:
        saving = f"{to_unit(fall.saving_bytes, unit):,.2f}".replace("-", "−") if fall.use else ""
        table.add_row(fall.title, saving, f"{to_unit(fall.need_bytes, unit):,.2f}", fall.peak)
    return table


def _each(each: Sequence[tuple[Device, Candidate | None]]) -> Table:
    table = figures_table(["Device", "Time", "Least costly set there"], [], keep=["Device", "Time"])
    for device, candidate in each:
        if candidate is None:
            table.add_row(device.id, "-", "none fits")
        else:
            words = uses_words(candidate) if candidate.uses else "as it is"
            table.add_row(device.id, slowdown_words(candidate.slowdown), words)
    return table


def _front(front: Sequence[Candidate], best: Candidate | None, unit: Unit) -> Table:
    up_to = "Need up to"
    table = figures_table([up_to, "Time", "Other ways, from the cheapest"], [up_to], keep=["Time"])
    for candidate in front:
        words = uses_words(candidate) if candidate.uses else "as it is"
        mark = "* " if candidate is best and candidate.uses else ""
        time = slowdown_words(candidate.slowdown)
        table.add_row(format_bytes(candidate.need.high, unit), time, f"{mark}{words}")
    return table
