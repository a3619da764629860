"""The command that writes documents for a review."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from memplan.cli.arguments import plan_argument, scenario_option, unit_option
from memplan.cli.window import PICTURE_SUFFIXES, draw_sheets
from memplan.errors import MemplanError
from memplan.units import Unit

if TYPE_CHECKING:
    from memplan.plan.scenario import Plan

WRITTEN = 0


@click.command("report")
@plan_argument
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write it: FILE.md, .html or .csv; or a sheet of one page in FILE.pdf, .png or .svg. "
    "Without it, prints Markdown.",
)
@scenario_option("Without it a document has them all, a PDF has a page for each, a picture has the first.")
@unit_option
def report_command(plan: str, output: str | None, scenario: str | None, unit: str) -> int:
    """Write a plan's estimates as a document.

    PDF, PNG and SVG are sheets for a design review: verdict, chart, assumptions, levers, evidence. They need the
    window's package, not a display.
    """
    from memplan.cli.source import read_source
    from memplan.disk import is_folder, write_file
    from memplan.report import REPORT_FORMATS, report

    source, chosen = read_source(plan), cast(Unit, unit)
    if source.note:
        click.echo(source.note, err=True)
    path = Path(output) if output else None
    with source.naming_it():
        if path is not None and path.suffix.lower() in PICTURE_SUFFIXES:
            draw_sheets(path, source.plan, _positions(source.plan, path, scenario), chosen)
            return WRITTEN
        form = path.suffix.lower().lstrip(".") if path else "md"
        if path is not None and is_folder(path):
            raise MemplanError("is a folder.", place=path.name, remedy="Name a file in it: REPORT.md.")
        if form not in REPORT_FORMATS:
            known = ", ".join([*(f".{one}" for one in REPORT_FORMATS), *PICTURE_SUFFIXES[:-1]])
            raise MemplanError(
                f"there is no report in format {form or 'without a name'!r}.",
                place=path.name if path else "",
                remedy=f"End the file's name in {known} or {PICTURE_SUFFIXES[-1]}.",
            )
        text = report(_narrowed(source.plan, scenario), form, chosen)
    if path is None:
        click.echo(text, nl=False)
    else:
        write_file(path, text.encode())
    return WRITTEN


def _narrowed(plan: Plan, wanted: str | None) -> Plan:
    """The plan with the wanted scenario alone, or whole."""
    from memplan.cli.source import scenario_position
    from memplan.plan.edit import replaced

    if wanted is None:
        return plan
    return replaced(plan, "scenarios", (plan.scenarios[scenario_position(plan, wanted)],))


def _positions(plan: Plan, path: Path, wanted: str | None) -> list[int]:
    """Which scenarios the sheets are of."""
    from memplan.cli.source import scenario_position

    count = len(plan.scenarios)
    if wanted is None:
        if path.suffix.lower() == ".pdf":
            return list(range(count))
        if count > 1:
            click.echo(f"{path.name} shows the first of {count} scenarios; --scenario chooses another.", err=True)
        return [0]
    return [scenario_position(plan, wanted)]
