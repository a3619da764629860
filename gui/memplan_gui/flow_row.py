"""A row of controls that takes another line where one is too short: nothing is squeezed until it cannot be read."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QLabel, QSizePolicy, QWidget

GAP = 8
LEAST_CHOICE = 120
SLACK = 4
"""What a label takes beside its words."""


class FlowRow(QWidget):
    """Controls side by side, some of them at the right end, in as many lines as they take."""

    def __init__(self, left: tuple[QWidget, ...], right: tuple[QWidget, ...] = (), *, line_gap: int = GAP) -> None:
        super().__init__()
        self._left, self._right, self._line_gap = left, right, line_gap
        for widget in (*left, *right):
            widget.setParent(self)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        """The narrower, the more lines."""
        return True

    def heightForWidth(self, width: int) -> int:
        """The height of the lines that a width makes."""
        return max((place.bottom() + 1 for _, place in self._places(width)), default=0)

    def sizeHint(self) -> QSize:
        """All in one line."""
        sizes = [_least(widget) for widget in self._shown((*self._left, *self._right))]
        width = sum(size.width() for size in sizes) + GAP * max(len(sizes) - 1, 0)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSizeHint(self) -> QSize:
        """As narrow as the widest control."""
        widths = [
            LEAST_CHOICE if isinstance(widget, QComboBox) else widget.minimumSizeHint().width()  # a choice may be cut
            for widget in self._shown((*self._left, *self._right))
        ]
        return QSize(max(widths, default=0), self.sizeHint().height())

    def _shown(self, widgets: tuple[QWidget, ...]) -> list[QWidget]:
        return [widget for widget in widgets if not widget.isHidden()]

    def _lines(self, width: int) -> list[list[tuple[QWidget, QSize]]]:
        """Which controls stand in which line, and how large."""
        lines: list[list[tuple[QWidget, QSize]]] = []
        room = 0
        for widget in self._shown((*self._left, *self._right)):
            size = _least(widget)
            size.setWidth(min(size.width(), width))
            if isinstance(widget, QLabel) and widget.wordWrap():
                size.setHeight(widget.heightForWidth(size.width()))
            if not lines or size.width() > room:
                lines.append([])
                room = width
            lines[-1].append((widget, size))
            room -= size.width() + GAP
        return lines

    def _places(self, width: int) -> list[tuple[QWidget, QRect]]:
        """Where each control stands: what belongs at the right ends where its line ends."""
        placed: list[tuple[QWidget, QRect]] = []
        top = 0
        for line in self._lines(width):
            height = max(size.height() for _, size in line)
            left, spare = 0, width - sum(size.width() + GAP for _, size in line) + GAP
            growing = [one for one in line if one[0].sizePolicy().horizontalPolicy() == QSizePolicy.Policy.Expanding]
            for at, (widget, size) in enumerate(growing):  # what is spare is theirs, in equal parts
                grown = min(size.width() + spare // (len(growing) - at), max(widget.maximumWidth(), size.width()))
                spare -= grown - size.width()
                size.setWidth(grown)
            for at, (widget, size) in enumerate(line):
                if widget in self._right and (at == 0 or line[at - 1][0] not in self._right):
                    left = width - sum(other.width() + GAP for _, other in line[at:]) + GAP
                placed.append((widget, QRect(left, top + (height - size.height()) // 2, size.width(), size.height())))
                left += size.width() + GAP
            top += height + self._line_gap
        return placed

    def _place(self) -> None:
        for widget, place in self._places(self.width()):
            widget.setGeometry(place)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fill the lines anew."""
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        """A control that came, went or has another text may need another line."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
            self._place()
        return super().event(event)


def _least(widget: QWidget) -> QSize:
    """The size below which it takes another line; what can grow is content with its least width."""
    if isinstance(widget, QLabel) and widget.wordWrap():
        return QSize(widget.fontMetrics().horizontalAdvance(widget.text()) + SLACK, widget.fontMetrics().height())
    grows = widget.sizePolicy().horizontalPolicy() == QSizePolicy.Policy.Expanding
    size = widget.minimumSizeHint() if grows else widget.sizeHint()
    return size.expandedTo(widget.minimumSize()).boundedTo(widget.maximumSize())
