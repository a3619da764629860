"""What `memplan fit` prints: a table of devices by class, then all that is known of the device in question."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from memplan.catalog import this_computer
from memplan.choice_titles import choice_title
from memplan.cli.fitting import FitAnswer
from memplan.cli.tables import figures_table, print_labelled, print_table
from memplan.cli.text import COLOURS, heading, verdict_line
from memplan.fit import DeviceAnswer, fewest_words, fit_sentence, fit_title, fit_tone, free_figure, limit_words
from memplan.units import UNIT_NAMES, Unit, format_bytes

if TYPE_CHECKING:
    from rich.table import Table


def print_fit(answer: FitAnswer, unit: Unit) -> None:
    """Print a scenario's verdict, the devices, and how many and how far."""
    from memplan.cli.terminal import console

    out, hardware = console(), answer.scenario.hardware
    out.print(heading(answer.scenario.name))
    out.print(verdict_line(answer.estimate, unit))
    if len(answer.fits) > len(answer.detailed):  # of devices that were named, the table says it
        out.print(fit_sentence(answer.fits, hardware, unit))
    out.print()
    if hardware.devices > 1:
        out.print(f"Each of {hardware.devices:,} devices, {choice_title('strategy', hardware.sharding.strategy)}:")
    print_table(out, _devices(answer, unit))
    for line in _notes(answer):
        out.print(line, style="dim")
    for one in answer.detailed:
        out.print()
        out.print(heading(one.fit.device.name))
        for label, words in _detail_lines(one, unit):
            print_labelled(out, label, words, least=len("States alone"))


def print_computer() -> None:
    """Say what went wrong when this computer was asked for its devices."""
    from memplan.cli.terminal import console

    for problem in this_computer().problems:
        console().print(f"This computer: {problem}", style="dim")


def _devices(answer: FitAnswer, unit: Unit) -> Table:
    from rich.text import Text

    figures = ["Usable", "Free", "Batch", "Tokens"]
    table = figures_table([UNIT_NAMES[unit], "Verdict", *figures, "Fewest"], figures, keep=["Verdict"])
    table.padding = (0, 1, 0, 0)
    own = answer.estimate.device_id
    for device_class, group in groupby(answer.devices, key=lambda one: one.fit.device.device_class):
        table.add_row(Text(device_class, style="dim"))
        for one in group:
            fit = one.fit
            table.add_row(
                f" {fit.device.id}{' *' if fit.device.id == own else ''}",
                Text(fit_title(fit), style=COLOURS[fit_tone(fit)]),
                format_bytes(fit.usable_bytes, unit).split(" ")[0],
                free_figure(fit, unit),
                f"{one.limits.micro_batch.fits:,}",
                f"{one.limits.sequence.fits:,}",
                _fewest(one),
            )
    return table


def _fewest(one: DeviceAnswer) -> str:
    best = one.fewest.best
    if best is None or best.devices is None:
        return "-"
    return "1" if best.devices == 1 else f"{best.devices:,} {choice_title('strategy', best.strategy)}"


def _notes(answer: FitAnswer) -> list[str]:
    own = answer.estimate.device_id
    notes = ["* the scenario's own device"] if any(one.fit.device.id == own for one in answer.devices) else []
    notes.append("Batch, Tokens: the largest micro-batch and the longest sequence that fit.")
    if any(one.fit.runs_alone for one in answer.devices):
        notes.append("Runs alone: devices of this kind cannot share a run, whatever each would hold.")
    if answer.is_short:
        notes.append("The smallest that hold it and the nearest misses; --all lists every device.")
    return notes


def _detail_lines(one: DeviceAnswer, unit: Unit) -> list[tuple[str, str]]:
    lines = [("Micro-batch", limit_words(one.limits.micro_batch)), ("Sequence", limit_words(one.limits.sequence))]
    for words, alike in groupby(one.fewest.by_strategy, key=lambda found: fewest_words(found, unit)):
        strategies = ", ".join(found.strategy for found in alike)
        lines.append(("Fewest", words if words == "1" else f"{strategies}: {words}"))
    states = one.states
    alone = f"{format_bytes(states.states_bytes, unit)}: {states.devices:,} × {states.capacity_bytes // 10**9} GB"
    if states.devices > 1 and states.in_whole_nodes != states.devices:
        alone += f", {states.in_whole_nodes:,} in whole nodes"
    lines.append(("States alone", f"{alone}, if nothing else took memory"))
    lines += [("Advice", advice.message) for advice in one.fit.advice]
    return lines + [("Note", note) for note in one.fit.device.notes if one.fit.device.origin == "computer"]
