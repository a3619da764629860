"""Two parts, one above the other: the upper gets the height it needs, until the person shares it by hand."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from memplan import tr
from memplan_gui.keyboard_splitter import KeyboardSplitter
from memplan_gui.scroller import Scroller
from memplan_gui.theme import Theme

LEAST_UPPER_HEIGHT = 200
LEAST_LOWER_HEIGHT = 150
LOWER_SHARE = 0.34
COMFORT = 56
"""What the upper part likes to have beyond the least that it can be read at."""


class SharedSplitter(KeyboardSplitter):
    """The upper part and most of what is left go to the chart; the views under it get a third at most."""

    def __init__(self, upper: QWidget, lower: QWidget, theme: Theme) -> None:
        super().__init__(Qt.Orientation.Vertical, tr("Line between the chart and its figures"), theme)
        self._upper = upper
        self._is_shared_by_hand = False
        scroll = Scroller(upper)
        scroll.setMinimumHeight(LEAST_UPPER_HEIGHT)
        self.addWidget(scroll)
        self.addWidget(lower)
        self.setStretchFactor(0, 1)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self.share)
        self.splitterMoved.connect(lambda *_: self._keep())
        self.reset_wanted.connect(self._share_anew)

    def restore(self, state: QByteArray) -> None:
        """Share the height as the person did last time."""
        if self.restoreState(state):
            self._keep()

    def share(self) -> None:
        """Share the height by need, where the person has not done so."""
        if not self._is_shared_by_hand:
            whole = self.height() - self.handleWidth()
            needed = self._upper.heightForWidth(self.width()) + COMFORT
            lower = min(max(whole - needed, LEAST_LOWER_HEIGHT), round(whole * LOWER_SHARE))
            self.setSizes([whole - lower, lower])

    def share_soon(self) -> None:
        """Share it when the upper part has been laid out: something came that it needs room for."""
        self._soon.start()

    def _keep(self) -> None:
        self._is_shared_by_hand = True

    def _share_anew(self) -> None:
        self._is_shared_by_hand = False
        self.share()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the new height."""
        super().resizeEvent(event)
        self.share()
