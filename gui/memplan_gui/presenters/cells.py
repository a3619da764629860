"""Tables that leave the window: cells put together by each view's presenter, written here as text of every kind."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass

from memplan import UNIT_NAMES, Unit, format_bytes, printable, tr

_SPECIAL = re.compile(r"([\\`*_\[\]<>|])")
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"<?[+−-]?[0-9][0-9.,]*")


@dataclass(frozen=True, slots=True)
class Amounts:
    """How amounts of memory are written: in a unit, to three significant figures; without one, as whole bytes."""

    unit: Unit | None

    @property
    def name(self) -> str:
        """What the figures are."""
        return UNIT_NAMES[self.unit] if self.unit else tr("bytes")

    def figure(self, num_bytes: int) -> str:
        """An amount without its unit.

        >>> Amounts("gib").figure(3 * 2**29), Amounts(None).figure(3 * 2**29)
        ('1.50', '1610612736')
        """
        return format_bytes(num_bytes, self.unit).split(" ")[0] if self.unit else str(num_bytes)

    def signed(self, num_bytes: int) -> str:
        """A difference without its unit: "−14.4", "+0.40"."""
        return format_bytes(num_bytes, self.unit, signed=True).split(" ")[0] if self.unit else str(num_bytes)

    def titled(self, title: str) -> str:
        """What a column or a row of such figures is called: "Usable, GiB"."""
        return f"{title}, {self.name}"


EXACT = Amounts(None)
"""For files that programs read."""


@dataclass(frozen=True, slots=True)
class Cells:
    """A table of words and figures."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    """What the marks in it mean; programs are spared it."""


def as_tsv(cells: Cells) -> str:
    """The table with tabs between its cells, as spreadsheets take it: figures are numbers that they can add.

    >>> as_tsv(Cells(("", "GiB"), (("Change", "−14.4"), ("Adapters", "<0.01"))))
    '\\tGiB\\nChange\\t-14.4\\nAdapters\\t0.00\\n'
    """
    lines = ["\t".join(plain_figure(_one_line(cell)) for cell in line) for line in (cells.titles, *cells.rows)]
    return "\n".join([*lines, *([cells.note] if cells.note else [])]) + "\n"


def as_text(cells: Cells) -> str:
    """The table in columns of equal width, as a message or a note takes it; columns of figures end at the right."""
    lines = [[_one_line(cell) for cell in line] for line in (cells.titles, *cells.rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(cells.titles))]
    right = _figure_columns(cells)
    shown = [
        "  ".join(cell.rjust(width) if at in right else cell.ljust(width) for at, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(line, widths, strict=True)) for line in lines)
    ]
    return "\n".join([*(line.rstrip() for line in shown), *([cells.note] if cells.note else [])]) + "\n"


def as_markdown(cells: Cells) -> str:
    """The table as Markdown shows it, whatever names hold."""
    right = _figure_columns(cells)
    rule = ["---:" if at in right else "---" for at in range(len(cells.titles))]
    lines = [[escaped(cell) for cell in line] for line in (cells.titles, *cells.rows)]
    table = [f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:])]
    return "\n".join([*table, *(["", cells.note] if cells.note else [])]) + "\n"


def as_csv(cells: Cells) -> str:
    """The table for a spreadsheet or a data frame; no name in it is run as a formula."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerows([[_harmless(_one_line(cell)) for cell in line] for line in (cells.titles, *cells.rows)])
    return text.getvalue()


def escaped(words: str) -> str:
    """Words on one line, such that Markdown shows them as they are."""
    return _SPECIAL.sub(r"\\\1", _one_line(words))


def _one_line(cell: str) -> str:
    return printable(" ".join(cell.split()))


def _figure_columns(cells: Cells) -> set[int]:
    """The columns but the first whose first filled cell is a number."""
    filled = {at: next((row[at] for row in cells.rows if row[at]), "") for at in range(1, len(cells.titles))}
    return {at for at, cell in filled.items() if _NUMBER.match(cell)}


def plain_figure(cell: str) -> str:
    """A figure as programs read it: a sign that they know, and no "less than"; words stay as they are."""
    if not _NUMBER.fullmatch(cell):
        return cell
    return "0.00" if cell.startswith("<") else cell.replace("−", "-")


def _harmless(cell: str) -> str:
    is_number = _NUMBER.fullmatch(cell) is not None
    return f"'{cell}" if cell.startswith(_FORMULA_SIGNS) and not is_number else cell
