"""The contents of Help: pages and headings, on as many lines as they need; a heading that is cut says half of it."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QTreeWidgetItemIterator

from memplan import tr

INDENTATION = 14
AROUND = QSize(8, 8)
"""What the style sheet and Qt put around the words of an item."""


class Contents(QTreeWidget):
    """A tree of words that wrap. Qt's own knows their height only where nothing but the widget's width is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("help_contents")
        self.setHeaderHidden(True)
        self.setIndentation(INDENTATION)
        self.setAccessibleName(tr("Contents"))
        self.setWordWrap(True)
        self.setTextElideMode(Qt.TextElideMode.ElideNone)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def fit(self) -> None:
        """Give every item the height of its words, with the scroll bar or without: that comes and goes with them."""
        metrics, each = self.fontMetrics(), QTreeWidgetItemIterator(self)
        room = self.width() - self.verticalScrollBar().sizeHint().width()
        while (item := each.value()) is not None:
            width = room - INDENTATION * (1 + _depth(item)) - AROUND.width()
            place = QRect(0, 0, max(width, 1), 1)
            words = metrics.boundingRect(place, Qt.TextFlag.TextWordWrap.value, item.text(0))
            item.setSizeHint(0, QSize(width, words.height() + AROUND.height()))
            each += 1  # Qt's iterator, not a count

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Words break elsewhere."""
        super().resizeEvent(event)
        self.fit()


def _depth(item: QTreeWidgetItem) -> int:
    above = item.parent()
    return 0 if above is None else 1 + _depth(above)
