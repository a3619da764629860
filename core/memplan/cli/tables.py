"""Tables and labelled lines for a terminal of any width: where figures lack room, rows stack; none is ever cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

_LEAST_WORDS = 12
"""Columns of words are not broken into less than this, nor into less than they hold."""
_LEAST_BESIDE = 24
"""Words stand beside their label where they have this many columns, otherwise under it."""


def figures_table(titles: Iterable[str], figures: Iterable[str] = (), *, keep: Iterable[str] = ()) -> Table:
    """A table without lines; columns of figures stand at the right and stay whole, those to keep stay whole too."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    right, whole = set(figures), {*figures, *keep}
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    for title in titles:
        justify = "right" if title in right else "left"
        table.add_column(title, justify=justify, overflow="fold", no_wrap=title in whole)  # type: ignore[arg-type]
    return table


def print_table(out: Console, table: Table) -> None:
    """Print a table, or each row as lines of its own where the columns would cut what stands in them."""
    texts = [[_text(out, cell) for cell in (column.header, *column.cells)] for column in table.columns]
    needed = sum(
        max(cell.cell_len if column.no_wrap else min(_longest_word(cell), _LEAST_WORDS) for cell in cells)
        for column, cells in zip(table.columns, texts, strict=True)
    )
    _, right, _, left = table.padding
    if needed + (left + right) * len(texts) <= out.width:
        out.print(table)
        return
    titles, *rows = zip(*texts, strict=True)
    out.print(titles[0], style="dim")
    for row in rows:
        _print_row(out, titles, row)


def print_labelled(out: Console, label: str, words: str, colour: str = "dim", *, least: int = 8) -> None:
    """Print a label and text that stays to the right of it when it wraps; on a narrow terminal, under it."""
    from rich.padding import Padding
    from rich.table import Table

    from memplan.cli.terminal import plain_text

    if out.width < max(least, len(label)) + 2 + _LEAST_BESIDE:
        out.print(plain_text(label, colour))
        out.print(Padding(plain_text(words), (0, 0, 0, 2), expand=False))
        return
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_column(style=colour, min_width=least, no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(label, words)
    out.print(row)


def _print_row(out: Console, titles: Sequence[Text], row: Sequence[Text]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    first, *others = row
    out.print(first)
    for title, cell in zip(titles[1:], others, strict=True):
        if cell.plain:
            line = Text.assemble((f"{title.plain}: " if title.plain else "", "dim"), cell)
            out.print(Padding(line, (0, 0, 0, 2), expand=False))


def _text(out: Console, cell: RenderableType) -> Text:
    from rich.text import Text

    return cell if isinstance(cell, Text) else out.render_str(str(cell))


def _longest_word(text: Text) -> int:
    from rich.cells import cell_len

    return max((cell_len(word) for word in text.plain.split()), default=0)
