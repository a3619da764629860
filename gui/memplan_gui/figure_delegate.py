"""Paints cells of figures: plain text and a hairline. The style sheet's own way takes several times as long."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QModelIndex, QPersistentModelIndex, QRect, Qt
from PySide6.QtGui import QFont, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from memplan_gui.theme import Theme

PADDING = 11
Index = QModelIndex | QPersistentModelIndex


class FigureDelegate(QStyledItemDelegate):
    """Cells with text at the side, and in the font, that the model says."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint one cell."""
        theme = self._theme
        rect: QRect = option.rect
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if is_selected:
            painter.fillRect(rect, theme.colour("accent_soft"))
        painter.setPen(theme.colour("hairline"))
        painter.drawLine(QLineF(rect.left(), rect.bottom() + 0.5, rect.right() + 1, rect.bottom() + 0.5))
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(theme.colour("accent"))
            painter.drawRect(rect.adjusted(0, 0, -1, -1))
        text = index.data()
        if not text:
            return
        font = index.data(Qt.ItemDataRole.FontRole)
        painter.setFont(font if isinstance(font, QFont) else theme.font("body"))
        painter.setPen(theme.colour("text"))
        inner = rect.adjusted(PADDING, 0, -PADDING, 0)
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, inner.width())
        painter.drawText(inner, index.data(Qt.ItemDataRole.TextAlignmentRole), shown)
