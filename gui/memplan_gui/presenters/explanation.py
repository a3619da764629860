"""Why a segment is as large as it is: its formula in numbers, its source, its tensors."""

from __future__ import annotations

from dataclasses import dataclass

from memplan import Estimate, LedgerRow, Term, Unit, format_bytes, tr, tr_later
from memplan_gui.charts.scale import grouped
from memplan_gui.presenters.labels import term_title
from memplan_gui.presenters.stack import Bar, StackChart
from memplan_gui.presenters.words import both_units

NOTHING_PINNED = tr_later("Click a segment of the chart, or a figure of the breakdown, to see how it comes about.")


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the panel says about one term."""

    term: str
    title: str
    figure: str
    exact: str
    formula: str
    source: str
    tensors: tuple[LedgerRow, ...]


def as_sentence(words: str) -> str:
    """The words as a sentence begins; ids and units of measure stay as they are.

    >>> as_sentence("traces of PyTorch"), as_sentence("bf16 weights"), as_sentence("2 bytes"), as_sentence("")
    ('Traces of PyTorch', 'bf16 weights', '2 bytes', '')
    """
    return words[:1].upper() + words[1:] if words.partition(" ")[0].rstrip(",:;").isalpha() else words


def term_of(estimate: Estimate, name: str) -> Term | None:
    """The estimate's term of that name."""
    return next((term for term in estimate.terms if term.name == name), None)


def explanation(estimate: Estimate, chart: StackChart, row: int, name: str) -> Explanation | None:
    """The explanation of one segment; None when the estimate no longer has it."""
    term = term_of(estimate, name)
    if term is None or row >= len(chart.bars):
        return None
    bar = chart.bars[row]
    step = estimate.first_step if chart.first_step else ()
    instant = next((one for one in (*step, *estimate.instants) if one.name == bar.instant), None)
    tensors = (term.rows_at(instant) if instant else ()) or term.tensors
    size = next((segment.size for segment in bar.segments if segment.term == name), 0)
    return Explanation(
        term=name,
        title=term_title(name),
        figure=figure_words(size, bar, chart.unit),
        exact=both_units(size),
        formula=as_sentence(term.formula),
        source=term.source,
        tensors=tuple(sorted(tensors, key=lambda tensor: -tensor.total_bytes)),
    )


def figure_words(size: int, bar: Bar, unit: Unit) -> str:
    """A segment's size, and its share of the bar that it is part of."""
    where = f"{bar.title.lower()} ({bar.where})" if bar.where else bar.title.lower()
    share, whole = f"{size / max(bar.total, 1):.0%}", format_bytes(bar.total, unit)
    words = tr("{size} at {where}, {share} of {whole}")
    return words.format(size=format_bytes(size, unit), where=where, share=share, whole=whole)


def hover_words(estimate: Estimate, chart: StackChart, row: int, name: str) -> tuple[str, str, str]:
    """Title, figure and formula of the segment under the mouse."""
    found = explanation(estimate, chart, row, name)
    return (found.title, found.figure, found.formula) if found else (name, "", "")


def tensor_cells(tensor: LedgerRow, unit: Unit) -> tuple[str, ...]:
    """One line of the ledger: name, shape, dtype, how many, bytes of all of them, note."""
    count = grouped(tensor.count)
    return (tensor.name, tensor.shape, tensor.dtype, count, format_bytes(tensor.total_bytes, unit), tensor.note)
