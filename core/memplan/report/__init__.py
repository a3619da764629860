"""A plan's estimates as a document to hand around: Markdown and HTML for design reviews, CSV for spreadsheets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memplan.errors import MemplanError
from memplan.number_style import plain_numbers
from memplan.plan.scenario import Plan
from memplan.plan_estimates import estimate_plan
from memplan.report.csv_rows import as_csv
from memplan.report.html import as_html
from memplan.report.markdown import as_markdown
from memplan.result import Estimate
from memplan.units import Unit

_WRITERS: Mapping[str, Callable[[Plan, tuple[Estimate, ...], Unit], str]] = {
    "md": as_markdown,
    "csv": as_csv,
    "html": as_html,
}

REPORT_FORMATS: tuple[str, ...] = tuple(_WRITERS)
"""The formats that there are, by the ending of a file that has it."""


@plain_numbers()
def report(plan: Plan, form: str, unit: Unit = "gib") -> str:
    """Write a plan's estimates as a document. The same plan gives the same text.

    Args:
        plan: the plan; every scenario of it is estimated.
        form: one of REPORT_FORMATS.
        unit: of the amounts that people read; bytes stand beside them in CSV.

    Raises:
        MemplanError: there is no such format, or a scenario cannot be estimated.
    """
    writer = _WRITERS.get(form.lower().lstrip("."))
    if writer is None:
        names = f"{', '.join(REPORT_FORMATS[:-1])} and {REPORT_FORMATS[-1]}"
        raise MemplanError(f"there is no report in format {form.lstrip('.') or 'without a name'!r}; there are {names}.")
    return writer(plan, estimate_plan(plan), unit)
