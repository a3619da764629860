"""The commands that read and write trainers' configurations. What they do is in `memplan.exchange`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memplan.cli.arguments import scenario_option
from memplan.cli.scenario_options import FIELDS, ScenarioCommand

if TYPE_CHECKING:
    from memplan.plan.scenario import Plan, Scenario

IMPORTED, OPEN = 0, 2
FORMAT_IDS = ("script", "deepspeed", "accelerate", "axolotl", "llama-factory", "torchtune", "mlx")
"""What `--as` takes; a test holds them against the formats that there are."""


@click.command(
    "import",
    cls=ScenarioCommand,
    epilog="""\b
    For example:
      memplan import lora.yaml ds_z3.json --devices 8 -o run.memplan
    """,
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="PLAN", help="Where to save the plan: NAME.memplan. Without it, nothing is saved."
)
@click.option(
    "--model", metavar="MODEL", help="The model: its config.json, its name in the catalog, or a size like 7B."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the plan, and the list of how it came about.")
def import_command(files: tuple[str, ...], output: str | None, model: str | None, as_json: bool, **options: Any) -> int:
    """Read trainers' configurations into a plan.

    Several files complete one another: a recipe, DeepSpeed's JSON, accelerate's YAML, a model's config.json or folder,
    an adapter's. What was understood, assumed, left out and ignored is listed; what the files leave open is asked for,
    each with the option that answers it. An option counts before any file. Ends with 0 when a plan came about, 2 when
    something is open or on bad input: then nothing is saved.
    """
    from memplan.exchange import import_files
    from memplan.plan.file import save_plan

    found = import_files(files, _answers(model, options))
    plan = found.plan
    if plan is not None and output is not None:
        save_plan(plan, output)
    if as_json:
        from memplan.cli.exchange_text import imported_json

        click.echo(imported_json(found))
    else:
        from memplan.cli.exchange_text import print_imported

        print_imported(found, output)
    return OPEN if plan is None else IMPORTED


def _answers(model: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    answers = {FIELDS[name]: value for name, value in options.items() if value is not None}
    if model is not None:
        from memplan.exchange import model_answer

        answers["model"] = model_answer(model, "--model")
    return answers


@click.command(
    "export",
    epilog="""\b
    For example:
      memplan export run.memplan --as axolotl -o recipe.yaml
    """,
)
@click.argument("plan", metavar="PLAN")
@click.option("--as", "format_id", metavar="FORMAT", required=True, help=f"One of: {', '.join(FORMAT_IDS)}.")
@click.option("-o", "--output", metavar="FILE", help="Where to write it. Without it, prints it.")
@scenario_option("It must be given where the plan has several.")
def export_command(plan: str, format_id: str, output: str | None, scenario: str | None) -> int:
    """Write a scenario as a trainer's configuration.

    The estimate stands in it as a comment. What the format cannot say is listed, on standard error. PLAN is what
    `memplan estimate` takes.
    """
    from memplan.cli.source import read_source
    from memplan.disk import write_file
    from memplan.exchange.export import export_scenario

    source = read_source(plan)
    chosen = _scenario(source.plan, source.place, scenario)
    found = export_scenario(chosen, format_id)
    if output is None:
        click.echo(found.text, nl=False)
    else:
        write_file(Path(output), found.text.encode())
    for one in found.unsaid:
        click.echo(f"Not said in it: {one.title} {one.words}.", err=True)
    return IMPORTED


def _scenario(plan: Plan, place: str, wanted: str | None) -> Scenario:
    """The scenario that is named; the only one where there is one."""
    from memplan.cli.source import listed_scenarios, scenario_position
    from memplan.errors import MemplanError

    scenarios = plan.scenarios
    if wanted is not None:
        return scenarios[scenario_position(plan, wanted)]
    if len(scenarios) == 1:
        return scenarios[0]
    message = f"holds {len(scenarios):,} scenarios: {listed_scenarios(plan)}."
    raise MemplanError(message, place=place, remedy="Name one with --scenario.")
