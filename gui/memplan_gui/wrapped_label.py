"""A label that breaks its lines, and remembers how high that makes it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize
from PySide6.QtWidgets import QLabel, QSizePolicy

MOST_HEIGHTS = 8
"""A layout asks for a few widths, again and again."""


class WrappedLabel(QLabel):
    """A label that breaks its lines.

    Qt's own lays its text out anew each time a layout asks for a size, several times for each other text: in the
    window that took a sixth of an edit.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self._heights: dict[tuple[str, int], int] = {}
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def heightForWidth(self, width: int) -> int:
        """The height of the lines that a width makes."""
        key = (self.text(), width)
        known = self._heights.get(key)
        if known is None:
            if len(self._heights) >= MOST_HEIGHTS:
                self._heights.clear()
            known = self._heights[key] = super().heightForWidth(width)
        return known

    def minimumSizeHint(self) -> QSize:
        """One line for each that the text has itself: what more there is depends on the width."""
        return QSize(0, self.fontMetrics().lineSpacing() * (self.text().count("\n") + 1))

    def sizeHint(self) -> QSize:
        """As high as at the width that it has."""
        return QSize(self.width(), max(self.heightForWidth(self.width()), self.minimumSizeHint().height()))

    def changeEvent(self, event: QEvent) -> None:
        """Another font, or another style, makes other heights."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._heights.clear()
