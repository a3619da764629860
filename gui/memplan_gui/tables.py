"""The tables: the breakdown (the chart's accessible twin) and the tensors of a term. Both can be copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap

from memplan import TERM_LOOKS, UNIT_NAMES, LedgerRow, Unit, once_a_style, tr, tr_later, translated
from memplan_gui.charts.look import fill_term
from memplan_gui.presenters.breakdown import TOTAL, Breakdown
from memplan_gui.presenters.explanation import tensor_cells
from memplan_gui.presenters.words import both_units
from memplan_gui.theme import Theme

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
SWATCH = QSize(12, 12)
SWATCH_ROOM = QSize(20, 12)


def swatch(term: str, outline: QColor, scale: float = 2.0) -> QPixmap:
    """A small square filled as the term is filled everywhere."""
    pixmap = QPixmap(SWATCH_ROOM * scale)
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    fill_term(painter, QRectF(0.5, 0.5, SWATCH.width() - 1, SWATCH.height() - 1), term, outline)
    painter.end()
    return pixmap


class Swatches:
    """The squares of a table, each painted once for each theme."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._known: dict[tuple[str, str], QPixmap] = {}

    def of(self, term: str) -> QPixmap:
        """The square of a term."""
        key = (term, self._theme.roles.text)
        if key not in self._known:
            self._known[key] = swatch(term, self._theme.colour("outline"))
        return self._known[key]


class BreakdownModel(QAbstractTableModel):
    """Instants by terms."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._table: Breakdown | None = None
        self._is_narrow = False
        self._swatches = Swatches(theme)

    @property
    def table(self) -> Breakdown | None:
        """What is shown."""
        return self._table

    def show(self, table: Breakdown | None) -> None:
        """Show another table; where its shape is the same, only figures are painted anew."""
        old, same = self._table, False
        if old is not None and table is not None:
            same = (old.terms, old.instants) == (table.terms, table.instants)
        if same:
            self._table = table
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, self.columnCount() - 1))
            if old is not None and table is not None and old.peak != table.peak:
                self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.columnCount() - 1)
            return
        self.beginResetModel()
        self._table = table
        self.endResetModel()

    def set_narrow(self, narrow: bool) -> None:
        """Break headings into two lines, or not."""
        if narrow != self._is_narrow:
            self._is_narrow = narrow
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.columnCount() - 1)

    def heading(self, column: int, *, narrow: bool) -> str:
        """What a column is called; the peak's is marked."""
        assert self._table is not None, "without a table there are no columns"
        title, mark = self._table.instants[column], "▸ " if column == self._table.peak else ""
        if not narrow:
            return f"{mark}{title}"
        first, _, rest = title.partition(" ")
        return f"{first}\n{mark}{rest}" if rest else f"{mark}{first}"

    def rowCount(self, parent: Index = ROOT) -> int:
        """The total, and terms."""
        return 0 if parent.isValid() or self._table is None else len(self._table.terms)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Instants."""
        return 0 if parent.isValid() or self._table is None else len(self._table.instants)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """A figure; its exact number of bytes as a tooltip."""
        if self._table is None or not index.isValid():
            return None
        row, column = index.row(), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._table.figure(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return both_units(self._table.cells[row][column])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT
        if role == Qt.ItemDataRole.FontRole:
            bold = column == self._table.peak or self._table.terms[row] == TOTAL
            return self._theme.font("body", bold=bold)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            unit = UNIT_NAMES[self._table.unit]
            title = translated(self._table.terms[row])
            return f"{title}, {self._table.instants[column]}: {self._table.figure(row, column)} {unit}"
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Names of instants and terms; each term with its colour."""
        if self._table is None:
            return None
        if orientation == Qt.Orientation.Vertical:
            return self._row_header(section, role)
        if role == Qt.ItemDataRole.DisplayRole:
            return self.heading(section, narrow=self._is_narrow)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT
        if role == Qt.ItemDataRole.FontRole:
            return self._theme.font("body", bold=section == self._table.peak)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tr("The peak") if section == self._table.peak else None
        return None

    def _row_header(self, section: int, role: int) -> Any:
        assert self._table is not None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._table.row_title(section)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT
        if role == Qt.ItemDataRole.FontRole:
            return self._theme.font("body", bold=self._table.terms[section] == TOTAL)
        if role == Qt.ItemDataRole.DecorationRole and self._table.terms[section] in TERM_LOOKS:
            return self._swatches.of(self._table.terms[section])
        return None


class LedgerModel(QAbstractTableModel):
    """The tensors that a term is made of."""

    HEADERS = (tr_later("Tensor"), tr_later("Shape"), "dtype", tr_later("Count"), tr_later("Bytes"), tr_later("Note"))

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._make: Callable[[], tuple[LedgerRow, ...]] = tuple
        self._unit: Unit = "gib"

    @property
    def _tensors(self) -> tuple[LedgerRow, ...]:
        return self._make()

    def show(self, make: Callable[[], tuple[LedgerRow, ...]], unit: Unit) -> None:
        """Show the tensors that `make` makes, for the screen or to be copied."""
        old, self._make = self._tensors, once_a_style(make)
        if (old, unit) == (self._tensors, self._unit):
            return
        self.beginResetModel()
        self._unit = unit
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        """Kinds of tensors."""
        return 0 if parent.isValid() else len(self._tensors)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Name, shape, dtype, count, bytes, note."""
        return 0 if parent.isValid() else len(self.HEADERS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """A cell; the exact number of bytes as a tooltip."""
        tensor = self._tensors[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return tensor_cells(tensor, self._unit)[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return (
                both_units(tensor.total_bytes)
                if index.column() == 4
                else tensor_cells(tensor, self._unit)[index.column()]
            )
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if index.column() in (3, 4) else LEFT
        if role == Qt.ItemDataRole.FontRole:
            return self._theme.font("body")
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The columns' names."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return translated(self.HEADERS[section])
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if section in (3, 4) else LEFT
        return None
