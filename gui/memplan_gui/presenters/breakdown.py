"""The chart's numbers as a table: the total, then instants by terms."""

from __future__ import annotations

from dataclasses import dataclass

from memplan import UNIT_NAMES, Unit, format_bytes
from memplan_gui.presenters.stack import StackChart

TOTAL = "total"


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
        return self.terms[row][:1].upper() + self.terms[row][1:]


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


def as_tsv(table: Breakdown) -> str:
    """The table with tabs between its cells, as spreadsheets take it."""
    lines = [[UNIT_NAMES[table.unit], *table.instants]]
    for row in range(len(table.terms)):
        figures = [table.figure(row, column) for column in range(len(table.instants))]
        lines.append([table.row_title(row), *("0" if figure == "–" else figure for figure in figures)])
    return "\n".join("\t".join(line) for line in lines) + "\n"


def as_text(table: Breakdown) -> str:
    """The table in columns of equal width, as a message or a note takes it."""
    lines = [line.split("\t") for line in as_tsv(table).splitlines()]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    )
