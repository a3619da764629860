"""The chart's numbers as a table: the total, then instants by terms."""

from __future__ import annotations

from dataclasses import dataclass

from memplan import Unit, format_bytes, tr_later
from memplan_gui.presenters.cells import Amounts, Cells
from memplan_gui.presenters.labels import term_title
from memplan_gui.presenters.stack import StackChart

TOTAL = tr_later("total")


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Rows are the total and terms, columns are instants. The total comes first: it is seen without scrolling."""

    terms: tuple[str, ...]
    instants: tuple[str, ...]
    peak: int
    """The column of the peak."""
    cells: tuple[tuple[int, ...], ...]
    unit: Unit

    def figure(self, row: int, column: int) -> str:
        """A cell as it is read: three significant figures, no unit; a dash for nothing."""
        num_bytes = self.cells[row][column]
        return format_bytes(num_bytes, self.unit).split(" ")[0] if num_bytes else "–"

    def row_title(self, row: int) -> str:
        """What a row is about."""
        return term_title(self.terms[row])


def breakdown(chart: StackChart) -> Breakdown:
    """The table of a chart; both always show the same numbers."""
    terms = chart.terms
    columns = [{segment.term: segment.size for segment in bar.segments} for bar in chart.bars]
    cells = [tuple(column.get(term, 0) for column in columns) for term in terms]
    return Breakdown(
        terms=(TOTAL, *terms),
        instants=tuple(bar.title for bar in chart.bars),
        peak=next(at for at, bar in enumerate(chart.bars) if bar.is_peak),
        cells=(tuple(bar.total for bar in chart.bars), *cells),
        unit=chart.unit,
    )


def breakdown_cells(table: Breakdown, amounts: Amounts) -> Cells:
    """The table as it leaves the window."""
    rows = zip(range(len(table.terms)), table.cells, strict=True)
    return Cells(
        (amounts.name, *table.instants),
        tuple((table.row_title(row), *map(amounts.figure, sizes)) for row, sizes in rows),
    )
