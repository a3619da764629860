"""A table of words and figures that a presenter put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QFont

from memplan import once_a_style, translated
from memplan_gui.pieces import tip
from memplan_gui.presenters.make_fit import FigureRows
from memplan_gui.tables import LEFT, RIGHT
from memplan_gui.theme import Theme

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


class PlainModel(QAbstractTableModel):
    """Rows as they are given."""

    def __init__(self, titles: tuple[str, ...], theme: Theme, tips: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._tips = tips
        self._titles, self._theme = tuple(map(translated, titles)), theme
        self._make: Callable[[], FigureRows | None] = _nothing

    @property
    def rows(self) -> FigureRows | None:
        """The rows, with numbers in the style in force."""
        return self._make()

    def show(self, make: Callable[[], FigureRows] | None, titles: tuple[str, ...] = ()) -> None:
        """Show other rows, under other titles where some are given; where there are no rows, the titles stay.

        Where there are as many rows as before under the same titles, cells alone are painted anew.

        Args:
            make: makes the rows, for the screen and once more where they are copied; None where there are none.
            titles: of the columns.
        """
        old = self.rows
        self._make = once_a_style(make) if make else _nothing
        rows = self.rows
        if titles in ((), self._titles) and old and rows and rows.cells and _shape(old) == _shape(rows):
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, self.columnCount() - 1))
            return
        self.beginResetModel()
        self._titles = titles or self._titles
        self.endResetModel()

    def texts_of(self, position: int) -> Iterator[tuple[QFont, str]]:
        """Each text of a column, with its font."""
        if (rows := self.rows) is not None:
            plain, bold = self._theme.font("body"), self._theme.font("body", bold=True)
            yield from ((bold if at == rows.bold else plain, cells[position]) for at, cells in enumerate(rows.cells))

    def rowCount(self, parent: Index = ROOT) -> int:
        """Rows."""
        return 0 if parent.isValid() or self.rows is None else len(self.rows.cells)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Columns."""
        return 0 if parent.isValid() else len(self._titles)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell; all of it is one hover away."""
        rows = self.rows
        if rows is None or not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return rows.cells[index.row()][index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(rows.cells[index.row()][index.column()])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if index.column() in rows.right else LEFT
        if role == Qt.ItemDataRole.FontRole:
            return self._theme.font("body", bold=index.row() == rows.bold)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            more = translated(self._tips[section]) if section < len(self._tips) else ""
            return tip("\n".join(filter(None, (self._titles[section].replace("\n", " "), more))))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if self.rows is not None and section in self.rows.right else LEFT
        return None


def _nothing() -> None:
    """No rows."""


def _shape(rows: FigureRows) -> tuple[object, ...]:
    """How many rows there are, and which columns stand at the right."""
    return len(rows.cells), rows.right
