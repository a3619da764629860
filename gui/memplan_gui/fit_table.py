"""The table of devices: what paints its cells, and what a person does with its rows."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import (
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import QContextMenuEvent, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QStyleOptionViewItem

from memplan import fit_tone, tr, tr_later, translated
from memplan_gui.charts.fit_bar import paint_fit_bar
from memplan_gui.figure_table import FigureDelegate, FigureTable
from memplan_gui.fit_model import AT_THE_RIGHT, FitModel
from memplan_gui.icons import pixmap
from memplan_gui.pieces import scaled
from memplan_gui.presenters import fit as fits
from memplan_gui.presenters.fit import FitRow
from memplan_gui.presenters.verdict import ICONS
from memplan_gui.tables import LEFT, RIGHT
from memplan_gui.theme import Theme

Index = QModelIndex | QPersistentModelIndex
ICON = 14
BAR_HEIGHT, BAR_PADDING = 12.0, 6
OVER_SPACING = 8.0
LEAST_NAME_WIDTH, MOST_NAME_WIDTH = 120, 300
NO_ROWS = tr_later("No device matches.")
TOLD_BELOW = (fits.NODES, fits.TOKENS, fits.BATCH, fits.FEWEST)
"""Columns that a narrow table goes without: the text under it tells them of the row that is pointed at."""
CELL_PADDING = 8
"""Narrower than elsewhere: there are ten columns, and bars that are to be read. The style sheet has it for headings."""
WIDTHS = {
    fits.FAVOURITE: 30,
    fits.VERDICT: 116,
    fits.DEVICE: 176,
    fits.USABLE: 60,
    fits.NEED: 96,
    fits.FREE: 60,
    fits.FEWEST: 90,
    fits.NODES: 60,
    fits.BATCH: 56,
    fits.TOKENS: 68,
}
"""What cells take; a column is wider where its heading, with the arrow of the order, is."""


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
        inner = rect.adjusted(CELL_PADDING, 0, -CELL_PADDING, 0)
        if column == fits.FAVOURITE:
            name, role = ("star-filled", "accent") if row.is_favourite else ("star", "border")
            self._icon(painter, name, role, rect.center().x() - scaled(ICON) // 2, rect)
        elif column == fits.NEED:
            self._bar(painter, row, QRectF(rect.adjusted(BAR_PADDING, 0, -BAR_PADDING, 0)))
        elif column == fits.VERDICT:
            tone = fit_tone(row.fit)
            self._icon(painter, ICONS[tone], tone, inner.left(), rect)
            self.write(painter, inner.adjusted(scaled(ICON) + 6, 0, 0, 0), fits.cell(row, column, self._model.unit))
        elif column == fits.DEVICE:
            self._device(painter, row, inner)
        else:
            text = fits.cell(row, column, self._model.unit)
            role = "faint" if text == fits.NOT_YET else "text"
            self.write(painter, inner, text, RIGHT if column in AT_THE_RIGHT else LEFT, role=role)

    def _device(self, painter: QPainter, row: FitRow, inner: QRect) -> None:
        if row.fit.advice:
            self._icon(painter, "advice", "tight", inner.right() - scaled(ICON), inner)
            inner = inner.adjusted(0, 0, -scaled(ICON) - 6, 0)
        mark = "▸ " if row.is_own else ""
        cut = Qt.TextElideMode.ElideMiddle  # what tells devices of a kind apart stands at the end
        self.write(painter, inner, f"{mark}{row.device.name}", bold=row.is_own, cut=cut)

    def _bar(self, painter: QPainter, row: FitRow, room: QRectF) -> None:
        """What the device gives, and what the run needs of it."""
        top = round(room.center().y() - BAR_HEIGHT / 2) + 0.5
        place = QRectF(room.left() + 0.5, top, room.width() - 1, BAR_HEIGHT)
        paint_fit_bar(painter, place, row.fit, self._model.end, self._theme.colour, over=(1, OVER_SPACING))

    def _icon(self, painter: QPainter, name: str, role: str, left: int, rect: QRect) -> None:
        colour, scale = self._theme.colour(role), painter.device().devicePixelRatioF()
        key = (name, colour.name(), scale)
        if key not in self._icons:
            self._icons[key] = pixmap(name, colour, scaled(ICON), scale)
        painter.drawPixmap(QPointF(left, rect.center().y() - scaled(ICON) / 2 + 0.5), self._icons[key])


class FitTable(FigureTable):
    """Devices to sort, mark and take."""

    wanted = Signal(object)
    """The `Device` to take into the plan."""
    marked = Signal(object)
    """The `Device` that becomes a favourite, or is none any more."""
    moved = Signal()
    """Other rows are in sight, or another one is pointed at."""

    def __init__(self, theme: Theme) -> None:
        self.devices, self._theme = FitModel(), theme
        super().__init__(tr("Devices"), self.devices, theme)
        self.devices.setParent(self)  # it knows what listens to it, and would live on with that
        self.setObjectName("devices")
        delegate = FitDelegate(theme, self.devices)
        delegate.setParent(self)
        self.setItemDelegate(delegate)
        self.setAccessibleDescription(tr("Enter takes a device into the plan, space marks it, the menu key sorts."))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        header = self.horizontalHeader()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(30)
        self.break_headings()
        self._order_shown, self._widths = -1, dict(WIDTHS)
        self._make_room()
        header.setSectionResizeMode(fits.FAVOURITE, QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(fits.NEED, QHeaderView.ResizeMode.Stretch)
        header.setSortIndicator(fits.VERDICT, Qt.SortOrder.AscendingOrder)
        self.setSortingEnabled(True)
        self.activated.connect(lambda index: self._with_row(index.row(), self.wanted.emit))
        self.clicked.connect(self._clicked)
        self.verticalScrollBar().valueChanged.connect(lambda _: self.moved.emit())
        self.selectionModel().currentRowChanged.connect(lambda *_: self.moved.emit())
        self.devices.layoutChanged.connect(self._make_room)
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

    def _make_room(self, *_: object) -> None:
        """Give the heading of the column that rows are in the order of room for its arrow, and the others none."""
        if self.devices.sorted_by == self._order_shown:
            return
        self._order_shown = self.devices.sorted_by
        metrics = QFontMetrics(self._theme.font("body"))
        for column, width in WIDTHS.items():
            title = "" if column == fits.FAVOURITE else self.devices.heading(column)
            heading = max(map(metrics.horizontalAdvance, title.split("\n"))) + 2 * CELL_PADDING + 2
            self._widths[column] = max(scaled(width), heading)
            self.horizontalHeader().resizeSection(column, self._widths[column])
        self._name_devices()

    def _name_devices(self) -> None:
        """Names have what the others leave, once the bars have what they need; what is told below goes first.

        A column that rows are in the order of stays.
        """
        room, widths = self.viewport().width(), dict(self._widths)
        for column in TOLD_BELOW:
            if is_dropped := sum(widths.values()) > room and column != self.devices.sorted_by:
                del widths[column]
            if self.isColumnHidden(column) != is_dropped:
                self.setColumnHidden(column, is_dropped)
            if is_dropped and self.currentIndex().column() == column:  # the keyboard stays in what is seen
                flags = QItemSelectionModel.SelectionFlag.NoUpdate
                beside = self.currentIndex().siblingAtColumn(fits.DEVICE)
                self.selectionModel().setCurrentIndex(beside, flags)
        others = sum(width for column, width in widths.items() if column != fits.DEVICE)
        room = max(room - others, scaled(LEAST_NAME_WIDTH))
        self.horizontalHeader().resizeSection(fits.DEVICE, min(room, scaled(MOST_NAME_WIDTH)))

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

    def _sort_menu(self, menu: QMenu) -> None:
        """Every column, the one that rows are in the order of marked; again turns the order around."""
        for column, title in enumerate(map(translated, fits.TITLES)):
            is_on = column == self.devices.sorted_by
            action = menu.addAction(title)
            action.setCheckable(True)
            action.setChecked(is_on)
            turned = is_on and not self.devices.descending
            order = Qt.SortOrder.DescendingOrder if turned else Qt.SortOrder.AscendingOrder
            action.triggered.connect(lambda _=False, column=column, order=order: self.sortByColumn(column, order))

    def menu(self) -> QMenu:
        """What can be done with the device that is pointed at, and with the table: for keyboards too."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if (row := self.current) is not None:
            device = row.device
            take = menu.addAction(tr("&Use in the plan"))
            take.setEnabled(not row.is_own)
            take.triggered.connect(lambda _=False: self.wanted.emit(device))
            mark = menu.addAction(tr("No &favourite any more") if row.is_favourite else tr("A &favourite"))
            mark.triggered.connect(lambda _=False: self.marked.emit(device))
            menu.addSeparator()
        self._sort_menu(menu.addMenu(tr("&Sort by")))
        menu.addSeparator()
        if (view := self.parentWidget()) is not None:
            menu.addActions(view.actions())  # what copies and exports, as in every other view
        return menu

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu: by the mouse, or by the keyboard's own key for it."""
        self.menu().popup(event.globalPos())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Names have more room where there is more."""
        super().resizeEvent(event)
        self._name_devices()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Say so where a filter leaves nothing."""
        super().paintEvent(event)
        if not self.devices.rows and self.devices.every_row:
            painter = QPainter(self.viewport())
            painter.setPen(self._theme.colour("muted"))
            painter.drawText(self.viewport().rect(), Qt.AlignmentFlag.AlignCenter, translated(NO_ROWS))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The space bar marks the device that is pointed at."""
        if event.key() == Qt.Key.Key_Space and self.currentIndex().isValid():
            self._with_row(self.currentIndex().row(), self.marked.emit)
            return
        super().keyPressEvent(event)
