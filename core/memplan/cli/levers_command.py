"""The command that says what levers would do, and which of them make a plan fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_args

import click

from memplan.cli.arguments import json_option, plan_argument, unit_option
from memplan.cli.scenario_options import ScenarioCommand, with_options
from memplan.units import Unit

if TYPE_CHECKING:
    from memplan.cli.source import Source
    from memplan.making_fit import Preferences

ANSWERED = 0


class _PreferenceType(click.Choice[str]):
    """The things that can be kept, by name; known when they are asked for."""

    name = "preference"

    def __init__(self) -> None:
        from memplan.levers import Preference

        super().__init__(get_args(Preference))


class _LeversCommand(ScenarioCommand):
    """Adds the options whose choices take time to load."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's parameters, the preferences' before the plan's fields."""
        kinds = {"keep": _KEEP, "free": _FREE}
        named = [
            click.Option([f"--{name}"], type=_PreferenceType(), multiple=True, help=words)
            for name, words in kinds.items()
        ]
        first, *rest = super().get_params(ctx)
        return [first, *named, *rest]


_KEEP = (
    "What must stay as it is; may be given several times. Method, precision, sequence_length, effective_batch and "
    "devices do."
)
_FREE = "What may change although it would stay; may be given several times."


@click.command(
    "levers",
    cls=_LeversCommand,
    epilog="""\b
    For example:
      memplan levers meta-llama/Llama-3.1-8B --target rtx-4090 --free method
    """,
)
@plan_argument
@click.option("--target", metavar="ID", help="Make it fit this device instead of the plan's own.")
@click.option("--all", "every_device", is_flag=True, help="Also the least costly set on every device.")
@json_option
@unit_option
def levers_command(
    plan: str,
    target: str | None,
    every_device: bool,
    as_json: bool,
    unit: str,
    keep: tuple[str, ...],
    free: tuple[str, ...],
    **options: Any,
) -> int:
    """Say what each lever saves and costs, and the least costly set that fits.

    Savings are of the need now, everything else as it is. Costs are in time, from counted operations and bytes, and in
    words. After the set, other ways: from the cheapest to what needs least.
    """
    from memplan.cli.lever_answers import lever_answers
    from memplan.cli.source import read_source

    source = _on(with_options(read_source(plan), options), target)
    wanted = _preferences(keep, free)
    with source.naming_it():
        answers = lever_answers(source.plan, wanted, cast(Unit, unit), every_device=every_device)
    if source.note:
        click.echo(source.note, err=True)
    if as_json:
        from memplan.cli.lever_json import levers_json

        click.echo(levers_json(answers))
        return ANSWERED
    from memplan.cli.lever_text import print_levers

    for position, answer in enumerate(answers):
        if position:
            click.echo()
        print_levers(answer, cast(Unit, unit))
    return ANSWERED


def _on(source: Source, target: str | None) -> Source:
    """The plan with every scenario on the device that is asked about."""
    from dataclasses import replace

    from memplan.catalog import device
    from memplan.errors import MemplanError
    from memplan.plan.edit import replaced

    if target is None:
        return source
    try:
        known = device(target).id
    except MemplanError as error:
        raise MemplanError(error.message, place="--target", remedy=error.remedy) from None
    plan = source.plan
    for position in range(len(plan.scenarios)):
        plan = replaced(plan, f"scenarios[{position}].hardware.device", known)
    return replace(source, plan=plan)


def _preferences(keep: tuple[str, ...], free: tuple[str, ...]) -> Preferences:
    from memplan.levers import Preference
    from memplan.making_fit import Preferences

    usual = Preferences().kept
    added, removed = (frozenset(cast("tuple[Preference, ...]", names)) for names in (keep, free))
    if both := sorted(added & removed):
        raise click.UsageError(f"--keep and --free both name {', '.join(both)}: give one of them.")
    return Preferences((usual | added) - removed)
