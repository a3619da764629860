"""A plan's estimates as Markdown: what a design review needs to read, with every formula and its source."""

from __future__ import annotations

import re

from memplan.plan.scenario import Plan, Scenario
from memplan.printable import printable, printable_lines
from memplan.report.set_up import set_up_lines, warning_lines
from memplan.report.tables import instant_table
from memplan.result import Estimate, Term
from memplan.sentences import basis_sentence, instant_words, place_words, process_sentence, verdict_sentence
from memplan.units import UNIT_BYTES, UNIT_NAMES, Unit, format_bytes, to_unit
from memplan.version import __version__

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def as_markdown(plan: Plan, estimates: tuple[Estimate, ...], unit: Unit) -> str:
    """Write the document: the plan, an overview where there are several scenarios, each scenario."""
    blocks = [f"# {_text(plan.title)}"]
    if plan.notes.strip():
        blocks.append(_quoted(plan.notes))
    if len(estimates) > 1:
        blocks.append(_overview(plan, estimates, unit))
    for scenario, estimate in zip(plan.scenarios, estimates, strict=True):
        blocks += _scenario_blocks(scenario, estimate, unit)
    blocks.append(f"memplan {__version__} · 1 {UNIT_NAMES[unit]} = {UNIT_BYTES[unit]:,} bytes")
    return "\n\n".join(blocks) + "\n"


def _overview(plan: Plan, estimates: tuple[Estimate, ...], unit: Unit) -> str:
    rows = [
        [_text(scenario.name), *(_text(part.strip()) for part in verdict_sentence(estimate, unit).split(":", 1))]
        for scenario, estimate in zip(plan.scenarios, estimates, strict=True)
    ]
    return _table(["Scenario", "Verdict", ""], rows, right_from=9)


def _scenario_blocks(scenario: Scenario, estimate: Estimate, unit: Unit) -> list[str]:
    lines = [*set_up_lines(scenario, estimate, unit), ("Basis", basis_sentence(estimate))]
    if monitor := process_sentence(estimate, unit):
        lines.append(("Monitor", monitor))
    blocks = [
        f"## {_text(scenario.name)}",
        f"**{_text(verdict_sentence(estimate, unit))}.**",
        "\n".join(f"- {label}: {_text(words)}" for label, words in lines),
        f"### Memory at each instant, in {UNIT_NAMES[unit]}",
        _instants(estimate, unit),
        "### Terms",
        _terms(estimate.terms, unit),
    ]
    if estimate.warnings:
        blocks.append("### Remarks")
        blocks.append("\n".join(f"- {_text(title)}: {_text(words)}" for title, words in warning_lines(estimate)))
    return blocks


def _instants(estimate: Estimate, unit: Unit) -> str:
    table = instant_table(estimate)
    columns = range(len(table.instants))
    header = ["", *(instant.title for instant in table.instants)]
    rows = [[term, *(_amount(table.bytes_at(term, column), unit) for column in columns)] for term in table.terms]
    totals = [_amount(table.total_bytes(column), unit) for column in columns]
    totals[table.peak_column] = f"**{totals[table.peak_column]}**"
    rows.append(["total", *totals])
    peak = table.instants[table.peak_column]
    words = ", ".join(part for part in (instant_words(peak), place_words(peak)) if part)
    return f"{_table(header, rows, right_from=1)}\n\nThe peak is {_text(words)}."


def _terms(terms: tuple[Term, ...], unit: Unit) -> str:
    rows = [
        [
            term.name,
            format_bytes(term.bytes_at_peak, unit),
            format_bytes(term.largest_bytes, unit),
            _text(term.formula),
            _text(term.source),
        ]
        for term in terms
    ]
    return _table(["Term", "At the peak", "At most", "Formula", "Source"], rows, right_from=9)


def _table(header: list[str], rows: list[list[str]], *, right_from: int) -> str:
    rule = ["---:" if column >= right_from else "---" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, rule, *rows])


def _amount(num_bytes: int, unit: Unit) -> str:
    """A number alone, for a column that names the unit once; nothing where there is nothing."""
    return f"{to_unit(num_bytes, unit):,.2f}" if num_bytes else ""


def _text(words: str) -> str:
    """Write words so that Markdown shows them as they are, on one line."""
    return _SPECIAL.sub(r"\\\1", printable(" ".join(words.split())))


def _quoted(notes: str) -> str:
    """The notes as the Markdown that they are, but for what a reader of the page would run or fetch.

    Entities and no backslashes: one that stands before the sign already would take ours away.
    """
    safe = _TAG.sub("&lt;", printable_lines(notes.strip())).replace("![", "&#33;[")
    return "\n".join(f"> {line}".rstrip() for line in safe.splitlines())
