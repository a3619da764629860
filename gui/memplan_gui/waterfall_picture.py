"""The waterfall on screen."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from memplan import tr
from memplan_gui.charts.waterfall_marks import WaterfallMarks, height_of, marks_of, paint_waterfall
from memplan_gui.pieces import tip
from memplan_gui.presenters.waterfall import Waterfall
from memplan_gui.theme import Theme


class WaterfallPicture(QWidget):
    """The way down from today's peak, a bar for each lever."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.chart: Waterfall | None = None
        self.setAccessibleName(tr("From the peak now to the peak then, chart"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_chart(self, chart: Waterfall | None) -> None:
        """Show another way."""
        self.chart = chart
        self.setFixedHeight(self.height_in(self.width()))
        self.setAccessibleDescription(chart.sentence if chart else "")
        self.update()

    def height_in(self, width: int) -> int:
        """The height that it takes in a width."""
        return height_of(self.chart, self._theme.chart_look, width) if self.chart else 0

    def marks(self) -> WaterfallMarks | None:
        """What is painted where."""
        return marks_of(self.chart, self._theme.chart_look, self.width()) if self.chart else None

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Make room for as many lines of the legend as there are."""
        self.setFixedHeight(self.height_in(self.width()))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the bars."""
        if marks := self.marks():
            paint_waterfall(QPainter(self), marks)

    def event(self, event: QEvent) -> bool:
        """Say what a bar is, beside the mouse."""
        marks = self.marks() if isinstance(event, QHelpEvent) else None
        if marks is None or not isinstance(event, QHelpEvent):
            return super().event(event)
        at = marks.row_at(event.pos().toPointF())
        QToolTip.showText(event.globalPos(), tip(marks.chart.rows[at].tip) if at is not None else "", self)
        return True
