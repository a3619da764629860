"""A plan's estimates as one page of HTML that needs nothing else: to mail, to print, to put beside a design."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from memplan.evidence import error_words
from memplan.levers import lever_offers, useful_offers
from memplan.nearest_evidence import evidence_differences, nearest_evidence
from memplan.plan.scenario import Plan, Scenario
from memplan.printable import printable, printable_lines
from memplan.report.bars import legend, stacked_bars, swatch
from memplan.report.page_style import PAGE_STYLE
from memplan.report.set_up import set_up_lines, warning_lines
from memplan.report.tables import InstantTable, instant_table
from memplan.result import Estimate
from memplan.sentences import basis_sentence, instant_words, process_sentence, verdict_sentence, verdict_tone
from memplan.units import UNIT_BYTES, UNIT_NAMES, Unit, format_bytes, to_unit
from memplan.version import __version__

_MOST_LEVERS = 12

NUM_NEAREST = 5


def as_html(plan: Plan, estimates: tuple[Estimate, ...], unit: Unit) -> str:
    """Write the page: the plan, an overview of several scenarios, and each with all that is known of it."""
    parts = [f"<h1>{_text(plan.title)}</h1>"]
    if plan.notes.strip():
        parts.append(f'<p class="notes">{escape(printable_lines(plan.notes.strip()))}</p>')
    if len(estimates) > 1:
        parts.append(_overview(plan, estimates, unit))
    for number, (scenario, estimate) in enumerate(zip(plan.scenarios, estimates, strict=True), start=1):
        parts.append(f'<section id="scenario-{number}">{_scenario(scenario, estimate, unit)}</section>')
    parts.append(f"<footer>memplan {__version__} · 1 {UNIT_NAMES[unit]} = {UNIT_BYTES[unit]:,} bytes</footer>")
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        # The page may load nothing: what is in it is all there is.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_text(plan.title)}</title>\n<style>{PAGE_STYLE}</style>\n</head>\n"
    )
    return f"{head}<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"


def _overview(plan: Plan, estimates: tuple[Estimate, ...], unit: Unit) -> str:
    rows = []
    for scenario, estimate in zip(plan.scenarios, estimates, strict=True):
        word, _, rest = verdict_sentence(estimate, unit).partition(": ")
        verdict = f'<span class="{verdict_tone(estimate)}"><strong>{_figure(word)}</strong></span>'
        rows.append([_text(scenario.name), verdict, _text(rest)])
    return _table(["Scenario", "Verdict", ""], rows, figures=set())


def _scenario(scenario: Scenario, estimate: Estimate, unit: Unit) -> str:
    table = instant_table(estimate)
    lines = [*set_up_lines(scenario, estimate, unit), ("Basis", basis_sentence(estimate))]
    if monitor := process_sentence(estimate, unit):
        lines.append(("Monitor", monitor))
    word, _, rest = verdict_sentence(estimate, unit).partition(": ")
    parts = [
        f"<h2>{_text(scenario.name)}</h2>",
        f'<p class="verdict {verdict_tone(estimate)}"><strong>{_text(word)}</strong> {_text(rest)}</p>',
        stacked_bars(estimate, table, unit),
        legend(estimate, table),
        _definitions(lines),
        f"<h3>Levers: what each changes of the need</h3>{_levers(scenario, estimate, unit)}",
        f"<h3>Memory at each instant, in {UNIT_NAMES[unit]}</h3>{_instants(table, unit)}",
        f"<h3>Terms</h3>{_terms(estimate, unit)}",
    ]
    parts.append(f"<h3>Evidence: the nearest cases that are known</h3>{_evidence(scenario, unit)}")
    if estimate.warnings:
        parts.append(f"<h3>Remarks</h3>{_definitions(warning_lines(estimate))}")
    return "\n".join(parts)


def _levers(scenario: Scenario, estimate: Estimate, unit: Unit) -> str:
    every = [offer for offer in lever_offers(scenario, estimate, unit) if not offer.costs_memory]
    offers = [offer for offer in useful_offers(every, _MOST_LEVERS) if offer.state != "not_applicable"]
    rows = [
        [
            escape(offer.lever.title),
            escape(offer.sentence),
            escape(offer.price),
        ]
        for offer in offers
    ]
    return _table(["Lever", "Now", "Price"], rows, figures=set()) if rows else "<p>None applies.</p>"


def _instants(table: InstantTable, unit: Unit) -> str:
    columns = range(len(table.instants))
    rows = [
        [f"{swatch(term)}{escape(term)}", *(_amount(table.bytes_at(term, column), unit) for column in columns)]
        for term in table.terms
    ]
    totals = [f"<strong>{_amount(table.total_bytes(column), unit)}</strong>" for column in columns]
    rows.append(["<strong>total</strong>", *totals])
    header = ["", *(escape(instant.title) for instant in table.instants)]
    peak = instant_words(table.instants[table.peak_column])
    return _table(header, rows, figures=set(range(1, len(header)))) + f"<p>The peak is {escape(peak)}.</p>"


def _terms(estimate: Estimate, unit: Unit) -> str:
    rows = [
        [
            f"{swatch(term.name)}{escape(term.name)}",
            _figure(format_bytes(term.bytes_at_peak, unit)),
            _figure(format_bytes(term.largest_bytes, unit)),
            _text(term.formula),
            _text(term.source),
        ]
        for term in estimate.terms
    ]
    return _table(["Term", "At the peak", "At most", "Formula", "Source"], rows, figures={1, 2})


def _evidence(scenario: Scenario, unit: Unit) -> str:
    rows = [
        [
            escape(row.title),
            escape(row.kind),
            _figure(format_bytes(row.truth_bytes, unit)),
            error_words(row.error),
            escape(", ".join(evidence_differences(row, scenario)) or "nothing that counts"),
        ]
        for row in nearest_evidence(scenario, NUM_NEAREST)
    ]
    return _table(["Case", "Kind", "Known", "Estimate off by", "Differs in"], rows, figures={2, 3})


def _table(header: list[str], rows: list[list[str]], *, figures: set[int]) -> str:
    def line(tag: str, cells: list[str]) -> str:
        marks = [' class="figure"' if at in figures else "" for at in range(len(cells))]
        return (
            "<tr>" + "".join(f"<{tag}{mark}>{cell}</{tag}>" for mark, cell in zip(marks, cells, strict=True)) + "</tr>"
        )

    body = "\n".join(line("td", cells) for cells in rows)
    return f"<table>\n<thead>{line('th', header)}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _definitions(lines: Iterable[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{_text(label)}</dt><dd>{_text(words)}</dd>" for label, words in lines) + "</dl>"


def _amount(num_bytes: int, unit: Unit) -> str:
    """A number alone, for a column that names the unit once; nothing where there is nothing."""
    return f"{to_unit(num_bytes, unit):,.2f}" if num_bytes else ""


def _figure(text: str) -> str:
    return escape(text).replace(" ", "&nbsp;")


def _text(words: str) -> str:
    """Write words from anywhere so that a browser shows them as they are, on one line."""
    return escape(printable(words.strip()))
