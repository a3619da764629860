"""The command that says what levers would do, and which of them make a plan fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_args

import click

from memplan.cli.arguments import json_option, plan_argument, scenario_option, unit_option
from memplan.cli.scenario_options import ScenarioCommand, with_options
from memplan.units import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memplan.cli.lever_answers import LeversAnswer
    from memplan.cli.lever_applying import Changed
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
      memplan levers run.memplan --apply fused_optimizer -o run.memplan
    """,
)
@plan_argument
@click.option("--target", metavar="ID", help="Make it fit this device instead of the plan's own.")
@click.option("--all", "every_device", is_flag=True, help="Also the least costly set on every device.")
@click.option(
    "--apply",
    "wanted_levers",
    metavar="LEVER",
    multiple=True,
    help="Apply this lever, by the id that --json prints or its title; may be given several times.",
)
@click.option(
    "-o",
    "--output",
    metavar="PLAN",
    help="Where to save the plan with the levers of --apply, or else with each scenario's least costly set that fits: "
    "NAME.memplan.",
)
@scenario_option("Without it, every one.")
@json_option
@unit_option
def levers_command(
    plan: str,
    target: str | None,
    every_device: bool,
    wanted_levers: tuple[str, ...],
    output: str | None,
    scenario: str | None,
    as_json: bool,
    unit: str,
    keep: tuple[str, ...],
    free: tuple[str, ...],
    **options: Any,
) -> int:
    """Say what each lever saves and costs, and the least costly set that fits.

    Savings are of the need now, everything else as it is. Costs are in time, from counted operations and bytes, and in
    words. After the set, other ways: from the cheapest to what needs least. With -o the plan is saved with levers
    applied; where one does not apply, or nothing fits, nothing is saved.
    """
    from memplan.cli.lever_answers import lever_answers
    from memplan.cli.lever_applying import changed_by, named_lever, plan_of
    from memplan.cli.source import read_source, scenario_position
    from memplan.plan.file import save_plan

    source, levers = _on(with_options(read_source(plan), options), target), [named_lever(one) for one in wanted_levers]
    whole, preferences = source.plan, _preferences(keep, free)
    positions = list(range(len(whole.scenarios))) if scenario is None else [scenario_position(whole, scenario)]
    with source.naming_it():
        answers = lever_answers(whole, preferences, cast(Unit, unit), positions, every_device=every_device)
        changed = changed_by(levers, answers) if levers or output is not None else ()
    if output is not None:
        save_plan(plan_of(whole, positions, changed), output)
    if source.note:
        click.echo(source.note, err=True)
    _print(answers, changed, output, cast(Unit, unit), as_json=as_json)
    return ANSWERED


def _print(
    answers: Sequence[LeversAnswer], changed: Sequence[Changed], output: str | None, unit: Unit, *, as_json: bool
) -> None:
    if as_json:
        from memplan.cli.lever_json import levers_json

        click.echo(levers_json(answers, changed))
        return
    from memplan.cli.lever_applying import print_changed
    from memplan.cli.lever_text import print_levers

    for position, answer in enumerate(answers):
        if position:
            click.echo()
        print_levers(answer, unit)
    if changed:
        print_changed(changed, output, unit)


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
