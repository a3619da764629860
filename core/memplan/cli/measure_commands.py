"""The commands that bring a real run's peaks beside its estimate."""

from __future__ import annotations

from typing import cast

import click

from memplan.cli.arguments import plan_argument, scenario_option, unit_option
from memplan.units import Unit


@click.command(
    "probe",
    epilog="""\b
    For example:
      memplan probe > memplan_probe.py
    """,
)
def probe_command() -> int:
    """Print a script that measures a training run.

    Import it in the training script: when the run ends it leaves a file a rank, which `memplan calibrate` reads.
    """
    from memplan.probe_file import probe_script

    click.echo(probe_script(), nl=False)
    return 0


@click.command(
    "calibrate",
    epilog="""\b
    For example:
      memplan calibrate run.memplan memplan-probe-rank*.json -o run.memplan
    """,
)
@plan_argument
@click.argument("files", metavar="PROBE-FILE...", nargs=-1, required=True)
@scenario_option("The first one unless it is given.")
@click.option("-o", "--output", metavar="PLAN", help="Where to save the plan with what was measured: NAME.memplan.")
@unit_option
def calibrate_command(plan: str, files: tuple[str, ...], scenario: str | None, output: str | None, unit: str) -> int:
    """Hold a scenario's estimate against what a run of it took.

    PROBE-FILE is what the script of `memplan probe` left, one a rank; the fullest device counts. With -o the peaks are
    saved in the plan: estimates show them, and the need's band narrows where the run was the one that is planned.
    """
    from memplan.calibration import measured_words
    from memplan.cli.source import read_source, scenario_position
    from memplan.cli.text import verdict_line
    from memplan.estimate import estimate
    from memplan.plan.edit import replaced
    from memplan.plan.file import save_plan
    from memplan.probe_file import read_probes

    source = read_source(plan)
    position = 0 if scenario is None else scenario_position(source.plan, scenario)
    measured = replaced(source.plan, f"scenarios[{position}].measured", read_probes(files))
    chosen = measured.scenarios[position]
    with source.naming_it():
        answer = estimate(chosen)
    from memplan.cli.tables import print_labelled
    from memplan.cli.terminal import console

    out = console()
    out.print(verdict_line(answer, cast(Unit, unit)))
    print_labelled(out, "Measured", measured_words(answer, cast(Unit, unit)))
    if output is not None:
        save_plan(measured, output)
    return 0
