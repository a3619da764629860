"""A line that searches a catalog: hits pop up while one types; Enter or a click takes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QAction, QFocusEvent, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QCompleter,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from memplan import tr, tr_later, translated
from memplan_gui.catalog_hits import Hit
from memplan_gui.fields import LineEdit
from memplan_gui.icons import icon
from memplan_gui.pieces import scaled, tip
from memplan_gui.theme import Theme

MOST_HITS = 200
POPUP_WIDTH = 460
NOTHING = tr_later("Nothing found for “{query}”")
NOTE_ROLE = Qt.ItemDataRole.UserRole + 1
Index = QModelIndex | QPersistentModelIndex


class HitModel(QAbstractListModel):
    """The hits for the list that pops up."""

    def __init__(self) -> None:
        super().__init__()
        self.hits: Sequence[Hit] = ()

    def show(self, hits: Sequence[Hit]) -> None:
        """Exchange the hits."""
        self.beginResetModel()
        self.hits = hits
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own default
        """How many hits there are."""
        return 0 if parent.isValid() else len(self.hits)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, note, and both for a screen reader."""
        hit = self.hits[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return hit.text
        if role == NOTE_ROLE:
            return hit.note
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{hit.text}, {hit.note}"
        return None


class HitDelegate(QStyledItemDelegate):
    """Paints the text at the left and the note at the right."""

    def __init__(self, theme: Theme, parent: QListView) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint one hit."""
        rect: QRect = option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, self._theme.colour("accent_soft"))
        painter.save()
        inner = rect.adjusted(8, 0, -8, 0)
        note = index.data(NOTE_ROLE)
        note_width = painter.fontMetrics().horizontalAdvance(note) + 12
        painter.setPen(self._theme.colour("text"))
        text = painter.fontMetrics().elidedText(
            index.data(), Qt.TextElideMode.ElideMiddle, inner.width() - (note_width if note else 0)
        )
        painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        painter.setPen(self._theme.colour("muted"))
        painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, note)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Rows of an even height."""
        return QSize(super().sizeHint(option, index).width(), scaled(26))


class SearchEdit(LineEdit):
    """Shows the entry that the plan names; typing searches."""

    edited = Signal(object)
    finished = Signal()
    unreadable = Signal(str)
    counted = Signal(int)
    """How many of the entry were asked for."""

    def __init__(
        self,
        search: Callable[[str], Sequence[Hit]],
        title_of: Callable[[str], str],
        nothing: str,
        theme: Theme,
        problem_of: Callable[[str], str] = lambda _: "",
    ) -> None:
        super().__init__()
        self._search, self._title_of, self._nothing, self._problem_of = search, title_of, nothing, problem_of
        self._value = self._about = ""
        self._is_refused = False
        self._hits = HitModel()
        self._completer = QCompleter(self._hits, self)
        self._completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self._completer.setMaxVisibleItems(12)
        self._list = QListView()
        self._list.setObjectName("hits")
        self._list.setUniformItemSizes(True)
        self._list.setMinimumWidth(scaled(POPUP_WIDTH))
        self._list.setAccessibleName(tr("Matches"))
        self._completer.setPopup(self._list)
        self._list.setItemDelegate(HitDelegate(theme, self._list))
        self._completer.setWidget(self)
        self._completer.activated[QModelIndex].connect(self._picked)  # type: ignore[index]  # one of two overloads
        self.textEdited.connect(self._typed)
        self._glass = QAction(self)
        self.addAction(self._glass, QLineEdit.ActionPosition.LeadingPosition)
        self._theme = theme
        theme.changed.connect(self._draw)
        self._draw()

    def value(self) -> str:
        """The entry's name in the plan."""
        return self._value

    @property
    def is_refused(self) -> bool:
        """Whether the text names nothing that the plan could take: it stays, to be mended."""
        return self._is_refused

    def end_typing(self) -> None:
        """Show the plan's entry instead of what was typed."""
        self._give_up()
        if self._is_refused:
            self._show_title()

    def set_value(self, value: str | None) -> None:
        """Show an entry."""
        if self._is_refused and (value or "") == self._value:
            return
        self._value = value or ""
        self._show_title()

    def explain(self, about: str) -> None:
        """Say under the entry's whole name what the field is."""
        self._about = about
        self._show_title()

    def hits(self) -> Sequence[Hit]:
        """The hits for what is typed."""
        return self._hits.hits

    def _draw(self) -> None:
        self._glass.setIcon(icon("search", self._theme.colour("muted")))

    def _show_title(self) -> None:
        self._is_refused = False
        self.setText(self._title_of(self._value) if self._value else "")
        self.setCursorPosition(0)
        self.setToolTip(tip("\n".join(part for part in (self.text(), self._about) if part)))

    def _typed(self, text: str) -> None:
        self._is_refused = False
        self._pop_up(text)

    def _pop_up(self, query: str) -> None:
        found = self._search(query)[:MOST_HITS]
        self._hits.show(found or [Hit("", translated(NOTHING).format(query=query.strip()))])
        self._completer.complete()
        self._point_at(-1 if not found else 0 if query.strip() else self._row_of_entry())

    def _row_of_entry(self) -> int:
        """The row of the entry that the plan has: -1 when the list lacks it."""
        return next((row for row, hit in enumerate(self._hits.hits) if hit.value == self._value), -1)

    def _point_at(self, row: int) -> None:
        index = self._completer.completionModel().index(row, 0)  # invalid, hence no row, for -1
        self._list.setCurrentIndex(index)
        self._list.scrollTo(index, QListView.ScrollHint.PositionAtCenter)

    def _picked(self, index: QModelIndex) -> None:
        # The completer hands out an index of its own proxy; rows are the same, for it filters nothing.
        self._take(self._hits.hits[index.row()])

    def _step(self, rows: int) -> None:
        """Move to another hit; a window system that gives the list no keyboard leaves that to the line."""
        row = min(max(self._list.currentIndex().row() + rows, 0), len(self._hits.hits) - 1)
        self._list.setCurrentIndex(self._completer.completionModel().index(row, 0))

    def _take(self, hit: Hit) -> None:
        self._list.hide()
        value = hit.value
        if not value:
            self._say_nothing_found()
            return
        problem = self._problem_of(value)
        if problem:
            self._is_refused = True
            self.unreadable.emit(problem)
            self.finished.emit()
            return
        self.setModified(False)
        if value != self._value:
            self.edited.emit(value)
        if hit.devices:
            self.counted.emit(hit.devices)
        self._show_title()
        self.finished.emit()

    def _say_nothing_found(self) -> None:
        self._is_refused = True
        self.unreadable.emit(translated(self._nothing).format(query=self.text().strip()))

    def _give_up(self) -> None:
        self._list.hide()
        if self.isModified():
            self.setModified(False)
            self._show_title()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter takes the row that is pointed at, else the best hit; Down opens the list, Escape gives up."""
        key = event.key()
        is_enter = key in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and self._list.isVisible() and self._list.currentIndex().isValid():
            self._picked(self._list.currentIndex())
            return
        if is_enter and not self.isModified():
            self._list.hide()
            return
        if is_enter:
            hits = self._search(self.text())
            if hits:
                self._take(hits[0])
            else:
                self._say_nothing_found()
            return
        if key in (Qt.Key.Key_Down, Qt.Key.Key_Up) and self._list.isVisible():
            self._step(1 if key == Qt.Key.Key_Down else -1)
            return
        if key == Qt.Key.Key_Down:
            self._pop_up(self.text() if self.isModified() else "")
            return
        if key == Qt.Key.Key_Escape and (self.isModified() or self._list.isVisible()):
            was_refused = self._is_refused
            self._give_up()  # the list hands its keys to the line first
            if was_refused:
                self.edited.emit(self._value)  # what was refused is no news any more
            return
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click selects all, so that typing begins a search, and shows what there is."""
        super().mousePressEvent(event)
        if not self.isModified():
            self.selectAll()
            self._pop_up("")

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Text that nothing was picked for gives way to the entry that the plan has; what names nothing is said."""
        super().focusOutEvent(event)
        if event.reason() == Qt.FocusReason.PopupFocusReason:
            return
        self._list.hide()
        if self.isModified() and self.text().strip() and not self._is_refused and not self._search(self.text()):
            self._say_nothing_found()
        if not self._is_refused:
            self._give_up()
