"""A table of figures: cells painted plainly, and whatever is selected copied as cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QAbstractItemModel, QLineF, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import (
    QFocusEvent,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from memplan import plain_numbers
from memplan_gui.column_widths import shared_widths
from memplan_gui.pieces import scaled
from memplan_gui.presenters.cells import plain_figure
from memplan_gui.theme import Theme

PADDING = 11
ROW_HEIGHT = 26
LEAST_ROWS = 4
LEAST_WORDS, LEAST_FIRST = 90, 170
"""Words are cut to this where there is no room for them; in the first column, which says what a row is, to that."""
MOST_MEASURED = 300
"""Rows that decide how wide a column is."""
MOST_TEXTS = 5000
"""Cut texts that are remembered: a table is painted again and again with the same ones."""
# As numbers: Python's flags take as long to compare as the rest of a cell takes to paint.
SELECTED, FOCUSED = QStyle.StateFlag.State_Selected.value, QStyle.StateFlag.State_HasFocus.value
Index = QModelIndex | QPersistentModelIndex


@runtime_checkable
class HasTexts(Protocol):
    """A model that has the texts of a column at hand: asked cell by cell it takes twenty times as long."""

    def texts_of(self, position: int) -> Iterator[tuple[QFont, str]]:
        """Each text of a column, with its font."""


class FigureDelegate(QStyledItemDelegate):
    """Cells with text at the side, and in the font, that the model says.

    Plain text and a hairline: the style sheet's own way takes several times as long.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shown: dict[tuple[int, str, int], str] = {}

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint one cell."""
        self.paint_ground(painter, option)
        model = index.model()  # asked itself: by way of the index each answer would become Qt's and Python's again
        text = model.data(index, Qt.ItemDataRole.DisplayRole)
        if not text:
            return
        font = model.data(index, Qt.ItemDataRole.FontRole)
        inner = option.rect.adjusted(PADDING, 0, -PADDING, 0)
        side = model.data(index, Qt.ItemDataRole.TextAlignmentRole)
        self.write(painter, inner, text, side, font=font if isinstance(font, QFont) else None)

    def paint_ground(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        """Paint what stands behind a cell: whether it is selected or has the keyboard, and the line under it."""
        theme = self._theme
        rect: QRect = option.rect
        state = option.state.value
        if state & SELECTED:
            painter.fillRect(rect, theme.colour("accent_soft"))
        painter.setPen(theme.colour("hairline"))
        painter.drawLine(QLineF(rect.left(), rect.bottom() + 0.5, rect.right() + 1, rect.bottom() + 0.5))
        if state & FOCUSED:
            painter.setPen(theme.colour("accent"))
            painter.drawRect(rect.adjusted(0, 0, -1, -1))

    def write(
        self,
        painter: QPainter,
        inner: QRect,
        text: str,
        side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
        *,
        bold: bool = False,
        role: str = "text",
        font: QFont | None = None,
        cut: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        """Write a cell's text, cut where it lacks room."""
        font = font or self._theme.font("body", bold=bold)
        painter.setFont(font)
        painter.setPen(self._theme.colour(role))
        painter.drawText(inner, side, self._elided(painter, font, text, inner.width(), cut))

    def _elided(self, painter: QPainter, font: QFont, text: str, width: int, cut: Qt.TextElideMode) -> str:
        key = (int(font.weight()), text, width)
        if key not in self._shown:
            if len(self._shown) > MOST_TEXTS:
                self._shown.clear()
            self._shown[key] = painter.fontMetrics().elidedText(text, cut, width)
        return self._shown[key]


class FigureTable(QTableView):
    """A table to read and to copy from."""

    def __init__(self, name: str, model: QAbstractItemModel, theme: Theme) -> None:
        super().__init__()
        self.setModel(model)
        self.setAccessibleName(name)
        delegate = FigureDelegate(theme)
        delegate.setParent(self)
        self.setItemDelegate(delegate)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().setVisible(False)
        self.verticalHeader().setDefaultSectionSize(scaled(ROW_HEIGHT))
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setTextElideMode(Qt.TextElideMode.ElideRight)  # the whole heading is its tooltip
        self.horizontalHeader().setStretchLastSection(True)
        self._are_alike = self._is_sharing = self._is_by_hand = self._is_stale = False
        self._headings: list[str] = []
        self._cells: list[list[int]] = []
        self._widths_of: dict[tuple[int, int, str], int] = {}
        self._figures: list[bool] = []

    def share_columns(self, *, alike: bool = False) -> None:
        """From now on columns share the width by what they hold: words may be cut, figures and headings may not.

        Args:
            alike: what is left is shared by all of them, and not by those with words alone.
        """
        self._are_alike = alike
        header = self.horizontalHeader()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.sectionResized.connect(self._resized)
        self.model().modelReset.connect(self._measure)
        self.model().dataChanged.connect(self._measure)
        self._measure()

    def _measure(self, *_: object) -> None:
        """What columns hold is measured when it changes. A width that a person gave stays for the same columns.

        A table behind a chart waits until it is looked at: an edit is not to be slower for it.
        """
        self._is_stale = not self.isVisible()
        if self._is_stale:
            return
        columns = [self._column(position) for position in range(self.model().columnCount())]
        if [heading for heading, _, _ in columns] != self._headings:
            self._headings, self._is_by_hand = [heading for heading, _, _ in columns], False
        self._cells = [cells for _, cells, _ in columns]
        self._figures = [is_figure for _, _, is_figure in columns]
        self._share_width()

    def _column(self, position: int) -> tuple[str, list[int], bool]:
        """A column's heading, the widths of that and of what it holds, and whether that is figures."""
        model, across, show = self.model(), Qt.Orientation.Horizontal, Qt.ItemDataRole.DisplayRole
        heading = str(model.headerData(position, across, show) or "")
        widths = [self._width_of(self.horizontalHeader().font(), heading)]
        widths += [self._width_of(font, text) for font, text in self._texts(position)]
        side = model.headerData(position, across, Qt.ItemDataRole.TextAlignmentRole)
        is_figure = bool(side is not None and side & Qt.AlignmentFlag.AlignRight)
        return heading, [width + 2 * PADDING + 2 for width in widths], is_figure

    def _texts(self, position: int) -> Iterator[tuple[QFont, str]]:
        """What a column holds, each in its font; straight from a model that has its rows at hand."""
        model = self.model()
        if isinstance(model, HasTexts):
            yield from islice(model.texts_of(position), MOST_MEASURED)
            return
        for at in range(min(model.rowCount(), MOST_MEASURED)):
            index = model.index(at, position)
            font = model.data(index, Qt.ItemDataRole.FontRole) or self.font()
            yield font, str(model.data(index, Qt.ItemDataRole.DisplayRole) or "")

    def _width_of(self, font: QFont, text: str) -> int:
        """How wide a text is: most of them are there again at the next measurement."""
        key = font.pixelSize(), int(font.weight()), text
        if key not in self._widths_of:
            if len(self._widths_of) > MOST_TEXTS:
                self._widths_of.clear()
            self._widths_of[key] = QFontMetrics(font).horizontalAdvance(text)
        return self._widths_of[key]

    def _share_width(self) -> None:
        if self._is_by_hand or not self._cells:
            return
        seen = [position for position in range(len(self._cells)) if not self.isColumnHidden(position)]
        wanted = [max(self._cells[position]) for position in seen]
        words = [at for at, position in enumerate(seen) if not self._figures[position]]
        least = list(wanted)
        for at in words:
            heading = self._cells[seen[at]][0]
            least[at] = min(wanted[at], max(heading, scaled(LEAST_WORDS if seen[at] else LEAST_FIRST)))
        growing = list(range(len(least))) if self._are_alike or not words else words
        room, cells = self.viewport().width(), [self._cells[position] for position in seen]
        self._is_sharing = True
        for position, width in zip(seen, shared_widths(wanted, least, growing, room, cells), strict=True):
            self.setColumnWidth(position, width)
        self._is_sharing = False

    def show_columns(self, wanted: Callable[[int], bool]) -> None:
        """Show some columns and hide the others; those that are shown share the width."""
        self._is_sharing = True  # to hide a column gives it another width, which nobody gave by hand
        for position in range(self.model().columnCount()):
            self.setColumnHidden(position, not wanted(position))
        self._is_sharing = False
        self._share_width()

    def _resized(self, *_: object) -> None:
        self._is_by_hand = self._is_by_hand or not self._is_sharing

    def break_headings(self) -> None:
        """Headings have lines of their own. Qt counts both lines of one as one, and would cut it where it has room."""
        self.horizontalHeader().setTextElideMode(Qt.TextElideMode.ElideNone)

    def wanted_width(self, position: int) -> int:
        """The width at which nothing in a column is cut."""
        return max(self._column(position)[1])

    def least_width(self, position: int) -> int:
        """The width at which no word of a column's heading is broken."""
        words = str(self.model().headerData(position, Qt.Orientation.Horizontal) or "").split()
        metrics = self.horizontalHeader().fontMetrics()
        return max((metrics.horizontalAdvance(word) for word in words), default=0) + 2 * PADDING + 2

    @plain_numbers()
    def selected_text(self) -> str:
        """What is selected, with tabs between cells and a line for each row; its numbers as programs read them."""
        rows: dict[int, dict[int, str]] = {}
        for index in self.selectedIndexes():
            rows.setdefault(index.row(), {})[index.column()] = plain_figure(str(index.data()))
        return "\n".join("\t".join(cells[column] for column in sorted(cells)) for _, cells in sorted(rows.items()))

    def sizeHint(self) -> QSize:
        """As little as it can be read at: more is what the view has to spare."""
        return QSize(super().sizeHint().width(), max(self.minimumHeight(), scaled(LEAST_ROWS * ROW_HEIGHT)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the width anew."""
        super().resizeEvent(event)
        self._share_width()

    def showEvent(self, event: QShowEvent) -> None:
        """Measure what came while it was not looked at."""
        super().showEvent(event)
        if self._is_stale:
            self._measure()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The cell that the keyboard comes to is in sight."""
        super().focusInEvent(event)
        if event.reason() != Qt.FocusReason.MouseFocusReason and self.currentIndex().isValid():
            self.scrollTo(self.currentIndex())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy what is selected, all of it: Qt's own tables copy one cell."""
        if event.matches(QKeySequence.StandardKey.Copy) and self.selectedIndexes():
            QGuiApplication.clipboard().setText(self.selected_text())
            return
        super().keyPressEvent(event)
