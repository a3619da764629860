"""The rows of the table of devices, sorted and filtered at once."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from memplan import Unit, translated
from memplan_gui.pieces import tip
from memplan_gui.presenters import fit as fits
from memplan_gui.presenters.fit import FitFilter, FitRow
from memplan_gui.tables import LEFT, RIGHT, ROOT

Index = QModelIndex | QPersistentModelIndex
AT_THE_RIGHT = (fits.USABLE, fits.FREE, fits.NODES, fits.BATCH, fits.TOKENS)


class FitModel(QAbstractTableModel):
    """Rows of devices in the order and under the filter that the person chose."""

    def __init__(self) -> None:
        super().__init__()
        self._all: tuple[FitRow, ...] = ()
        self.rows: list[FitRow] = []
        self.unit: Unit = "gib"
        self.end = 1.0
        self.wanted = FitFilter()
        self.sorted_by, self.descending = fits.VERDICT, False

    @property
    def every_row(self) -> tuple[FitRow, ...]:
        """Every row, shown or not."""
        return self._all

    def show(self, rows: tuple[FitRow, ...], unit: Unit) -> None:
        """Show other rows."""
        self._all, self.unit = rows, unit
        self._arrange()

    def choose(self, wanted: FitFilter) -> None:
        """Show only some rows."""
        self.wanted = wanted
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Order the rows by a column."""
        self.sorted_by, self.descending = column, order == Qt.SortOrder.DescendingOrder
        self._arrange()

    def change(self, row: FitRow) -> None:
        """Show one device's row anew; the order stays as it is."""
        self._all = tuple(row if one.device is row.device else one for one in self._all)
        for position, one in enumerate(self.rows):
            if one.device is row.device:
                self.rows[position] = row
                self.dataChanged.emit(self.index(position, 0), self.index(position, self.columnCount() - 1))

    def _arrange(self) -> None:
        """Filter and order; what is selected stays selected."""
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        devices = [self.rows[index.row()].device.id for index in before]
        shown = fits.kept(self._all, self.wanted)
        self.rows = fits.ordered(shown, self.sorted_by, descending=self.descending)
        self.end = fits.bar_end(self.rows)
        places = {row.device.id: position for position, row in enumerate(self.rows)}
        after = [
            self.index(places[device], index.column()) if device in places else QModelIndex()
            for device, index in zip(devices, before, strict=True)
        ]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def rowCount(self, parent: Index = ROOT) -> int:
        """Devices that are shown."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        """From favourite to tokens."""
        return 0 if parent.isValid() else len(fits.TIPS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """A cell's words."""
        if not index.isValid():
            return None
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return fits.cell(row, column, self.unit)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(fits.tip_of(row, column, self.unit))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return fits.spoken(row, column, self.unit)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if column in AT_THE_RIGHT else LEFT
        return None

    def heading(self, section: int) -> str:
        """A column's name, its last word on a line of its own; an arrow says that rows are in its order.

        It stands on the side away from its figures.
        """
        title = "" if section == fits.FAVOURITE else "\n".join(translated(fits.TITLES[section]).rsplit(" ", 1))
        if section != self.sorted_by:
            return title
        arrow = "↓" if self.descending else "↑"
        return f"{arrow} {title}" if section in AT_THE_RIGHT else f"{title} {arrow}".strip()

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The columns' names."""
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.heading(section)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return translated(fits.TITLES[section])
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(translated(fits.TIPS[section]))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if section in AT_THE_RIGHT else LEFT
        return None
