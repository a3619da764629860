"""The command that reads an out-of-memory message. What it does is in `memplan.diagnose`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from memplan.cli.arguments import json_option, scenario_option, unit_option
from memplan.units import Unit

if TYPE_CHECKING:
    from memplan.diagnose import Reading
    from memplan.plan.scenario import Scenario

FOUND, NOTHING_FOUND = 0, 2


@click.command(
    "diagnose",
    epilog="""\b
    For example:
      memplan diagnose train.log --plan run.memplan
      pbpaste | memplan diagnose
    """,
)
@click.argument("file", metavar="[MESSAGE-FILE]", required=False)
@click.option("--plan", metavar="PLAN", help="The run as planned: a plan, a model's config.json, a catalog's model.")
@scenario_option("The first one unless it is given.")
@json_option
@unit_option
def diagnose_command(file: str | None, plan: str | None, scenario: str | None, as_json: bool, unit: str) -> int:
    """Read an out-of-memory message: which tensor, at which instant, why, and what would have saved it.

    MESSAGE-FILE is a message, a whole log or the text of a screenshot; without it (or with -), standard input is read.
    With a plan, the size that was asked for is looked up among the plan's tensors. Ends with 0 when a message was
    found, 2 when there is none or on bad input.
    """
    from memplan.diagnose import diagnose

    chosen = _scenario(plan, scenario)
    reading = _reading(file)
    answers = [diagnose(one, chosen, models=reading.models, unit=cast(Unit, unit)) for one in reading.messages]
    if as_json:
        from memplan.cli.diagnose_text import diagnoses_json

        click.echo(diagnoses_json(reading, answers))
    else:
        from memplan.cli.diagnose_text import print_diagnoses

        print_diagnoses(reading, answers, cast(Unit, unit))
    return FOUND if reading.messages else NOTHING_FOUND


def _reading(file: str | None) -> Reading:
    from memplan.diagnose import read_message_file, read_message_stream
    from memplan.errors import MemplanError

    if file is not None and file != "-":
        return read_message_file(Path(file))
    if sys.stdin is None:
        raise MemplanError("standard input is closed, so there is nothing to read.", remedy="Give a file.")
    if sys.stdin.isatty():
        click.echo("Paste the message, then end it with Ctrl+D (Ctrl+Z and Enter on Windows).", err=True)
    return read_message_stream(sys.stdin.buffer)


def _scenario(plan: str | None, name: str | None) -> Scenario | None:
    """The scenario to hold messages against; None without a plan."""
    from memplan.cli.source import read_source, scenario_position
    from memplan.errors import MemplanError

    if plan is None:
        if name is not None:
            raise MemplanError("a scenario is one of a plan.", place="--scenario", remedy="Give the plan: --plan PLAN.")
        return None
    source = read_source(plan)
    if source.note:
        click.echo(source.note, err=True)
    scenarios = source.plan.scenarios
    if name is None:
        if len(scenarios) > 1:
            click.echo(
                f"Held against the first of {len(scenarios)} scenarios, {scenarios[0].name}; --scenario names another.",
                err=True,
            )
        return scenarios[0]
    return scenarios[scenario_position(source.plan, name)]
