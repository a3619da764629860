"""Estimates and catalog entries for a person's terminal: good at 80 columns, plain without colour."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from memplan.catalog import CatalogModel, Device
from memplan.cli.tables import figures_table, print_labelled, print_table
from memplan.plan.scenario import Scenario
from memplan.report.set_up import set_up_lines, warning_lines
from memplan.report.tables import instant_table
from memplan.result import Estimate, Verdict
from memplan.sentences import basis_sentence, place_words, process_sentence, verdict_sentence, verdict_tone
from memplan.units import UNIT_NAMES, Unit, format_bytes, format_count, to_unit

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

COLOURS: dict[Verdict, str] = {"fits": "green", "tight": "yellow", "does_not_fit": "red"}


def print_estimate(scenario: Scenario, estimate: Estimate, unit: Unit) -> None:
    """Print a verdict line, the set-up, the table of instants and terms, and the warnings."""
    from memplan.cli.terminal import console

    out = console()
    out.print(heading(scenario.name))
    out.print(verdict_line(estimate, unit))
    out.print()
    for label, words in [*set_up_lines(scenario, estimate, unit), ("Basis", basis_sentence(estimate))]:
        print_labelled(out, label, words)
    out.print()
    print_table(out, _instants(estimate, unit))
    peak = ", ".join(part for part in ("* the peak", place_words(estimate.peak)) if part)
    out.print("; ".join(note for note in (peak, process_sentence(estimate, unit)) if note))
    if estimate.warnings:
        out.print()
        for title, words in warning_lines(estimate):
            print_labelled(out, title, words, colour="yellow")


def print_models(models: Iterable[CatalogModel]) -> None:
    """Print catalog entries of models: id, kind, parameters."""
    from memplan.cli.terminal import console

    table = figures_table(["Model", "Kind", "Parameters"], ["Parameters"])
    for model in models:
        count = model.parameters.total
        table.add_row(model.id, model.model_type, format_count(count) if count else "unknown")
    print_table(console(), table)


def print_devices(devices: Iterable[Device], unit: Unit) -> None:
    """Print catalog entries of devices: id, name, what a process can get."""
    from memplan.cli.terminal import console

    table = figures_table(["Device", "Name", "Usable"], ["Usable"])
    for device in devices:
        table.add_row(device.id, device.name, format_bytes(device.usable_bytes, unit))
    print_table(console(), table)


def heading(name: str) -> Text:
    """What a part of the output is about."""
    from memplan.cli.terminal import plain_text

    return plain_text(name, style="bold")


def verdict_line(estimate: Estimate, unit: Unit) -> Text:
    """The verdict's sentence in its colour."""
    from memplan.cli.terminal import plain_text

    return plain_text(verdict_sentence(estimate, unit), style=COLOURS[verdict_tone(estimate)])


def _instants(estimate: Estimate, unit: Unit) -> Table:
    table, name = instant_table(estimate), UNIT_NAMES[unit]
    titles = [instant.title for instant in table.instants]
    shown = figures_table([name, *titles], titles, keep=[name])
    columns = range(len(table.instants))
    for term in table.terms:
        shown.add_row(term, *(_amount(table.bytes_at(term, column), unit) for column in columns))
    shown.add_section()
    totals = [_amount(table.total_bytes(column), unit) for column in columns]
    totals[table.peak_column] = f"*{totals[table.peak_column]}"
    shown.add_row("total", *totals, style="bold")
    return shown


def _amount(num_bytes: int, unit: Unit) -> str:
    return f"{to_unit(num_bytes, unit):,.2f}" if num_bytes else "-"
