"""The table of devices: a model of rows that are sorted and filtered at once, and what paints its cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QLineF,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStyleOptionViewItem

from memplan import Unit
from memplan_gui.charts.look import hatch
from memplan_gui.figure_table import PADDING, FigureDelegate, FigureTable
from memplan_gui.icons import pixmap
from memplan_gui.pieces import tip
from memplan_gui.presenters import fit as fits
from memplan_gui.presenters.fit import FitFilter, FitRow
from memplan_gui.presenters.verdict import ICONS
from memplan_gui.tables import LEFT, RIGHT, ROOT
from memplan_gui.theme import Theme

Index = QModelIndex | QPersistentModelIndex
ICON = 14
BAR_HEIGHT, BAR_PADDING = 12.0, 6
OVER_SPACING = 8.0
AT_THE_RIGHT = (fits.USABLE, fits.FREE, fits.NODES, fits.BATCH, fits.TOKENS)
WIDTHS = {
    fits.FAVOURITE: 32,
    fits.VERDICT: 126,
    fits.DEVICE: 180,
    fits.USABLE: 68,
    fits.NEED: 110,
    fits.FREE: 66,
    fits.FEWEST: 94,
    fits.NODES: 80,
    fits.BATCH: 64,
    fits.TOKENS: 76,
}


class FitModel(QAbstractTableModel):
    """Rows of devices in the order and under the filter that the person chose."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
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

    def _header(self, section: int) -> str:
        """A column's name; an arrow says that rows are in its order, on the side away from its figures."""
        title = "" if section == fits.FAVOURITE else fits.titles(self.unit)[section]
        if section != self.sorted_by:
            return title
        arrow = "↓" if self.descending else "↑"
        return f"{arrow} {title}" if section in AT_THE_RIGHT else f"{title} {arrow}".strip()

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The columns' names."""
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._header(section)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return fits.titles(self.unit)[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(fits.TIPS[section])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if section in AT_THE_RIGHT else LEFT
        return None


class FitDelegate(FigureDelegate):
    """Paints signs, stars and bars; everything else as every figure is painted."""

    def __init__(self, theme: Theme, model: FitModel) -> None:
        super().__init__(theme)
        self._model = model
        self._icons: dict[tuple[str, str, float], QPixmap] = {}

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint one cell, straight from its row."""
        row, column, rect = self._model.rows[index.row()], index.column(), option.rect
        self.paint_ground(painter, option)
        inner = rect.adjusted(PADDING, 0, -PADDING, 0)
        if column == fits.FAVOURITE:
            name, role = ("star-filled", "accent") if row.is_favourite else ("star", "border")
            self._icon(painter, name, role, rect.center().x() - ICON // 2, rect)
        elif column == fits.NEED:
            self._bar(painter, row, QRectF(rect.adjusted(BAR_PADDING, 0, -BAR_PADDING, 0)))
        elif column == fits.VERDICT:
            self._icon(painter, ICONS[row.fit.verdict], row.fit.verdict, inner.left(), rect)
            self.write(painter, inner.adjusted(ICON + 8, 0, 0, 0), fits.cell(row, column, self._model.unit))
        elif column == fits.DEVICE:
            self._device(painter, row, inner)
        else:
            text = fits.cell(row, column, self._model.unit)
            role = "faint" if text == fits.NOT_YET else "text"
            self.write(painter, inner, text, RIGHT if column in AT_THE_RIGHT else LEFT, role=role)

    def _device(self, painter: QPainter, row: FitRow, inner: QRect) -> None:
        if row.fit.advice:
            self._icon(painter, "advice", "tight", inner.right() - ICON, inner)
            inner = inner.adjusted(0, 0, -ICON - 6, 0)
        mark = "▸ " if row.is_own else ""
        self.write(painter, inner, f"{mark}{row.device.name}", bold=row.is_own)

    def _bar(self, painter: QPainter, row: FitRow, room: QRectF) -> None:
        """What the device gives as a frame, the need in it, and what reaches out of it hatched."""
        colour, fit = self._theme.colour, row.fit
        top = round(room.center().y() - BAR_HEIGHT / 2) + 0.5
        scale = room.width() / self._model.end
        usable, need = fit.usable_bytes * scale, fit.need_bytes * scale
        inside = QRectF(room.left(), top, min(usable, need), BAR_HEIGHT)
        painter.fillRect(inside, colour("faint"))
        if need > usable:
            over = QRectF(room.left() + usable, top, need - usable, BAR_HEIGHT)
            hatch(painter, over, colour("does_not_fit"), rising=False, width=2, spacing=OVER_SPACING)
            painter.setPen(QPen(colour("does_not_fit"), 1))
            painter.drawRect(over)
        painter.setPen(QPen(colour("text"), 1))
        end = min(usable, room.width())
        lines = [QLineF(room.left(), y, room.left() + end, y) for y in (top, top + BAR_HEIGHT)]
        lines.append(QLineF(room.left(), top, room.left(), top + BAR_HEIGHT))
        if usable <= room.width():  # a capacity beyond the scale stays open
            lines.append(QLineF(room.left() + end, top - 3, room.left() + end, top + BAR_HEIGHT + 3))
        painter.drawLines(lines)
        low, high = (room.left() + bound * scale for bound in (fit.need.low, fit.need.high))
        below = top + BAR_HEIGHT + 3
        painter.drawLine(QPointF(low, below), QPointF(high, below))

    def _icon(self, painter: QPainter, name: str, role: str, left: int, rect: QRect) -> None:
        colour, scale = self._theme.colour(role), painter.device().devicePixelRatioF()
        key = (name, colour.name(), scale)
        if key not in self._icons:
            self._icons[key] = pixmap(name, colour, ICON, scale)
        painter.drawPixmap(QPointF(left, rect.center().y() - ICON / 2 + 0.5), self._icons[key])


class FitTable(FigureTable):
    """Devices to sort, mark and take."""

    wanted = Signal(object)
    """The `Device` to take into the plan."""
    marked = Signal(object)
    """The `Device` that becomes a favourite, or is none any more."""
    moved = Signal()
    """Other rows are in sight, or another one is pointed at."""

    def __init__(self, theme: Theme) -> None:
        self.devices = FitModel(theme)
        super().__init__("Devices", self.devices, theme)
        self.setObjectName("devices")
        delegate = FitDelegate(theme, self.devices)
        delegate.setParent(self)
        self.setItemDelegate(delegate)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        header = self.horizontalHeader()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(30)
        for column, width in WIDTHS.items():
            header.resizeSection(column, width)
        header.setSectionResizeMode(fits.FAVOURITE, QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(fits.NEED, QHeaderView.ResizeMode.Stretch)
        header.setSortIndicator(fits.VERDICT, Qt.SortOrder.AscendingOrder)
        self.setSortingEnabled(True)
        self.activated.connect(lambda index: self._with_row(index.row(), self.wanted.emit))
        self.clicked.connect(self._clicked)
        self.verticalScrollBar().valueChanged.connect(lambda _: self.moved.emit())
        self.selectionModel().currentRowChanged.connect(lambda *_: self.moved.emit())
        self.devices.layoutChanged.connect(lambda *_: self.moved.emit())

    @property
    def current(self) -> FitRow | None:
        """The row that is pointed at."""
        index = self.currentIndex()
        return self.devices.rows[index.row()] if index.isValid() else None

    def point_at_own(self) -> None:
        """Point at the plan's own device, where nothing is pointed at; what is in sight stays so."""
        own = next((at for at, one in enumerate(self.devices.rows) if one.is_own), None)
        if own is not None and not self.currentIndex().isValid():
            self.setAutoScroll(False)
            self.setCurrentIndex(self.devices.index(own, fits.DEVICE))
            self.setAutoScroll(True)

    def rows_in_sight(self) -> list[FitRow]:
        """The rows that can be seen."""
        first, last = self.rowAt(0), self.rowAt(self.viewport().height() - 1)
        rows = self.devices.rows
        return rows[max(first, 0) : last + 1] if last >= 0 else rows[max(first, 0) :]

    def _clicked(self, index: QModelIndex) -> None:
        if index.column() == fits.FAVOURITE:
            self._with_row(index.row(), self.marked.emit)

    def _with_row(self, position: int, tell: Callable[[object], object]) -> None:
        if 0 <= position < len(self.devices.rows):
            tell(self.devices.rows[position].device)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The space bar marks the device that is pointed at."""
        if event.key() == Qt.Key.Key_Space and self.currentIndex().isValid():
            self._with_row(self.currentIndex().row(), self.marked.emit)
            return
        super().keyPressEvent(event)
