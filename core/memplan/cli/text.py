"""Estimates, levers and catalog entries for a person's terminal: good at 80 columns, plain without colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memplan.catalog import CatalogModel, Device
from memplan.levers import LeverOffer
from memplan.plan.scenario import Scenario
from memplan.report.set_up import set_up_lines
from memplan.report.tables import instant_table
from memplan.result import Estimate, Verdict
from memplan.sentences import basis_sentence, process_sentence, verdict_sentence
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
    for label, words in [*set_up_lines(scenario, estimate), ("Basis", basis_sentence(estimate))]:
        out.print(labelled(label, words))
    out.print()
    out.print(_instants(estimate, unit))
    out.print(f"* the peak; {process_sentence(estimate, unit)}")
    if estimate.warnings:
        out.print()
        for advice in estimate.warnings:
            out.print(labelled(advice.path, advice.message, colour="yellow"))


def print_offers(scenario: Scenario, estimate: Estimate, offers: Sequence[LeverOffer], unit: Unit) -> None:
    """Print a scenario's verdict and what each lever would save, with its price."""
    from memplan.cli.terminal import console

    out = console()
    out.print(heading(scenario.name))
    out.print(verdict_line(estimate, unit))
    table = _table("Lever", "Now", f"Saves, {UNIT_NAMES[unit]}", "")
    for offer in offers:
        if offer.state == "not_applicable":
            table.add_row(offer.lever.title, "-", "", offer.sentence)
            continue
        saving = f"{to_unit(offer.saving_bytes, unit):.2f}"
        table.add_row(offer.lever.title, offer.state, saving, f"{offer.sentence} {offer.lever.price}")
    out.print(table)


def print_models(models: Iterable[CatalogModel]) -> None:
    """Print catalog entries of models: id, kind, parameters."""
    from memplan.cli.terminal import console

    table = _table("Model", "Kind", "Parameters")
    for model in models:
        count = model.parameters.total
        table.add_row(model.id, model.model_type, format_count(count) if count else "unknown")
    console().print(table)


def print_devices(devices: Iterable[Device], unit: Unit) -> None:
    """Print catalog entries of devices: id, name, what a process can get."""
    from memplan.cli.terminal import console

    table = _table("Device", "Name", "Usable")
    for device in devices:
        table.add_row(device.id, device.name, format_bytes(device.usable_bytes, unit))
    console().print(table)


def heading(name: str) -> Text:
    """What a part of the output is about."""
    from rich.text import Text

    return Text(name, style="bold")


def verdict_line(estimate: Estimate, unit: Unit) -> Text:
    """The verdict's sentence in its colour."""
    from rich.text import Text

    return Text(verdict_sentence(estimate, unit), style=COLOURS[estimate.verdict])


def labelled(label: str, words: str, colour: str = "dim") -> Table:
    """A label and text that stays to the right of it when it wraps."""
    from rich.table import Table

    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_column(style=colour, min_width=8, no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(label, words)
    return row


def _table(*titles: str) -> Table:
    """A table without lines; a title that names a number stands at the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    for title in titles:
        is_number = title.startswith(("Saves", "Parameters", "Usable"))
        table.add_column(title, justify="right" if is_number else "left", overflow="fold")
    return table


def _instants(estimate: Estimate, unit: Unit) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = instant_table(estimate)
    shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    shown.add_column(UNIT_NAMES[unit], no_wrap=True)
    for instant in table.instants:
        shown.add_column(instant.title, justify="right")
    columns = range(len(table.instants))
    for term in table.terms:
        shown.add_row(term, *(_amount(table.bytes_at(term, column), unit) for column in columns))
    shown.add_section()
    totals = [_amount(table.total_bytes(column), unit) for column in columns]
    totals[table.peak_column] = f"*{totals[table.peak_column]}"
    shown.add_row("total", *totals, style="bold")
    return shown


def _amount(num_bytes: int, unit: Unit) -> str:
    return f"{to_unit(num_bytes, unit):.2f}" if num_bytes else "-"
