"""The commands and their options. What they do is elsewhere; what takes long to load is loaded when it is run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from memplan.cli.arguments import json_option, plan_argument, unit_option
from memplan.cli.diagnose_command import diagnose_command
from memplan.cli.exchange_commands import export_command, import_command
from memplan.cli.levers_command import levers_command
from memplan.cli.measure_commands import calibrate_command, probe_command
from memplan.cli.report_command import report_command
from memplan.cli.scenario_options import ScenarioCommand, named_device, with_options
from memplan.disk import is_missing
from memplan.units import Unit
from memplan.version import PLAN_SUFFIX, __version__

if TYPE_CHECKING:
    from memplan.cli.source import Source
    from memplan.result import Estimate

FITS, NOTHING_FOUND, DOES_NOT_FIT = 0, 2, 3


class ReaderGoneError(Exception):
    """Whoever read the output (`head`, say) has what it wanted and went away."""


class PlanGroup(click.Group):
    """A group that takes a plan's name where a command's would stand: `memplan run.memplan` opens the window on it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or the window for what is a file rather than a command."""
        first = args[0]
        if self.get_command(ctx, first) is None and (first.endswith(PLAN_SUFFIX) or not is_missing(Path(first))):
            return "open", open_window, args
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a broken pipe leaves under a name that click does not take for a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as problem:
            raise ReaderGoneError from problem


@click.group(
    cls=PlanGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""PLAN is a plan file, a model's config.json (or its folder), a model of the catalog,
    or - for standard input.

    \b
    For example:
      memplan estimate meta-llama/Llama-3.1-8B --method lora
    """,
)
@click.option("--debug", is_flag=True, help="Print the traceback of an error (as MEMPLAN_DEBUG=1 does).")
@click.option("--self-test", "tests_itself", is_flag=True, help="Try all that this installation should be able to do.")
@click.version_option(__version__, prog_name="memplan", message="%(prog)s %(version)s")
@click.pass_context
def memplan_command(context: click.Context, debug: bool, tests_itself: bool) -> int:
    """Plan the GPU memory of training a large language model.

    Without a command, opens the window; `memplan PLAN.memplan` opens it on that plan.
    """
    if tests_itself:
        from memplan.cli.self_test import self_test

        context.exit(self_test())
    if context.invoked_subcommand is None:
        return int(context.invoke(open_window, file=None))
    return FITS


@click.command("open", hidden=True)
@click.argument("file", required=False)
def open_window(file: str | None) -> int:
    """Open the window."""
    from memplan.cli.window import open_on

    return open_on(file)


@memplan_command.command(
    cls=ScenarioCommand,
    epilog="""\b
    For example:
      memplan estimate meta-llama/Llama-3.1-8B --method lora --sequence 4096
    """,
)
@plan_argument
@json_option
@unit_option
def estimate(plan: str, as_json: bool, unit: str, **options: Any) -> int:
    """Estimate every scenario of a plan, or a model of the catalog.

    Ends with 0 when all fit (or are tight), 3 when one does not fit, 2 on bad input.

    In JSON, bytes is what a trace of the framework's code counts (on a CPU, with the newest versions), and bytes.peak
    is the trace's peak. The device's own, with its kernels, its workspaces and the plan's versions, is
    process.allocated: the two may differ. terms part the device's peak, context and the allocator's slack included, and
    come to terms_at_peak.total_bytes; process.low to high is what the device's monitor will likely show, and need
    decides the verdict.
    """
    from memplan.plan_estimates import estimate_plan

    source = _read(plan, options)
    with source.naming_it():
        answers = estimate_plan(source.plan)
    if source.note:
        click.echo(source.note, err=True)
    if as_json:
        from memplan.cli.as_json import estimates_json

        click.echo(estimates_json(answers))
    else:
        from memplan.cli.text import print_estimate

        for position, (scenario, answer) in enumerate(zip(source.plan.scenarios, answers, strict=True)):
            if position:
                click.echo()
            print_estimate(scenario, answer, _unit(unit))
    return _status(answers)


@memplan_command.command(cls=ScenarioCommand)
@plan_argument
@click.option("--device", metavar="ID", multiple=True, help="Only this device; may be given several times.")
@click.option("--all", "every", is_flag=True, help="Every device, not just the nearest of each class.")
@json_option
@unit_option
def fit(plan: str, device: tuple[str, ...], every: bool, as_json: bool, unit: str, **options: Any) -> int:
    """Say which devices hold each scenario, how many, and how far it can go.

    How many: the fewest that hold it under each sharding strategy, also in whole nodes. How far: the largest
    micro-batch and the longest sequence. Ends with 0 when every scenario fits its own device (or is tight), 3 when one
    does not, 2 on bad input. JSON has every device, listed or not.
    """
    from memplan.cli.fitting import fit_answers

    source, named = _read(plan, options), [named_device(name) for name in device]
    with source.naming_it():
        answers = fit_answers(source.plan, named, every=every or as_json)
    if source.note:
        click.echo(source.note, err=True)
    _tell_device_problems()
    if as_json:
        from memplan.cli.as_json import fits_json

        click.echo(fits_json(answers))
    else:
        from memplan.cli.fit_text import print_computer, print_fit

        for position, answer in enumerate(answers):
            if position:
                click.echo()
            print_fit(answer, _unit(unit))
        if not named:
            click.echo()
            print_computer()
    return _status([answer.estimate for answer in answers])


@memplan_command.command()
@click.argument("plan", metavar="[PLAN]", required=False)
@json_option
def evidence(plan: str | None, as_json: bool) -> int:
    """Show what estimates were held against, and how far off they are.

    With a PLAN, the cases nearest to each of its scenarios.
    """
    from memplan.cli.evidence_text import evidence_json, nearest_json, print_evidence, print_nearest

    if plan is None:
        click.echo(evidence_json()) if as_json else print_evidence()
        return FITS
    source = _read(plan)
    if source.note:
        click.echo(source.note, err=True)
    with source.naming_it():
        click.echo(nearest_json(source.plan)) if as_json else print_nearest(source.plan)
    return FITS


memplan_command.add_command(import_command)
memplan_command.add_command(export_command)
memplan_command.add_command(levers_command)
memplan_command.add_command(report_command)
memplan_command.add_command(diagnose_command)
memplan_command.add_command(probe_command)
memplan_command.add_command(calibrate_command)


@memplan_command.group()
def catalog() -> None:
    """List the models and devices that memplan knows."""


@catalog.command()
@click.argument("query", nargs=-1)
@json_option
def models(query: tuple[str, ...], as_json: bool) -> int:
    """List models; QUERY is words that all must match.

    Ends with 0, or with 2 when nothing matches.
    """
    from memplan.catalog import search_models

    found = search_models(" ".join(query))
    if as_json:
        from memplan.cli.as_json import models_json

        click.echo(models_json(found))
    elif found:
        from memplan.cli.text import print_models

        print_models(found)
    return _found("model", query, len(found))


@catalog.command()
@click.argument("query", nargs=-1)
@json_option
@unit_option
def devices(query: tuple[str, ...], as_json: bool, unit: str) -> int:
    """List devices, with what a process can get of each; QUERY is words that all must match.

    Devices of your own stand in devices.json among memplan's settings, or in the file that MEMPLAN_DEVICES names;
    this-computer is what this computer has, asked when it is named. Ends with 0, or with 2 when nothing matches.
    """
    from memplan.catalog import THIS_COMPUTER, device, search_devices, this_computer

    _tell_device_problems()
    if THIS_COMPUTER in (name := "-".join(query).casefold()):
        found = this_computer().devices or (device(name),)
    else:
        found = search_devices(" ".join(query))
    if as_json:
        from memplan.cli.as_json import devices_json

        click.echo(devices_json(found))
    elif found:
        from memplan.cli.text import print_devices

        print_devices(found, _unit(unit))
    return _found("device", query, len(found))


@memplan_command.command()
def schema() -> int:
    """Print the JSON Schema of a plan file.

    It holds every field with its meaning, range and default.
    """
    from memplan.plan.scenario import Plan

    content: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Plan.model_json_schema()}
    click.echo(json.dumps(content, indent=2, ensure_ascii=False))
    return FITS


def _status(estimates: Sequence[Estimate]) -> int:
    """The exit status: 3 where a run does not fit its device, or is divided over devices that cannot share one."""
    from memplan.sentences import verdict_tone

    return DOES_NOT_FIT if any(verdict_tone(found) == "does_not_fit" for found in estimates) else FITS


def _tell_device_problems() -> None:
    """Say what in the person's own file of devices cannot be taken; the rest of it works."""
    from memplan.catalog import custom_devices

    for problem in custom_devices().problems:
        click.echo(f"memplan: {problem}", err=True)


def _unit(text: str) -> Unit:
    return cast(Unit, text)


def _read(plan: str, options: Mapping[str, Any] | None = None) -> Source:
    """Read what a command is asked about, changed by the options that were given."""
    from memplan.cli.source import read_source

    return with_options(read_source(plan), options or {})


def _found(kind: str, query: Sequence[str], count: int) -> int:
    """Say so when a search found nothing; return the exit status."""
    from memplan.plan.problems import quoted

    if count:
        return FITS
    click.echo(f"No {kind} matches {quoted(' '.join(query))}.", err=True)
    return NOTHING_FOUND
