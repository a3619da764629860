"""The stacked chart as it stands before pyqtgraph is there: the same marks and the same axis, at the same places."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from memplan import tr
from memplan_gui.charts.axis import axis_height, paint_axis
from memplan_gui.charts.look import ChartLook
from memplan_gui.charts.scale import Scale
from memplan_gui.charts.stack_layout import LEAST_CHART, RIGHT_MARGIN, TOP_MARGIN
from memplan_gui.charts.stack_marks import StackMarks, end_of_axis, paint_stack, row_labels_width
from memplan_gui.pieces import scaled
from memplan_gui.presenters.stack import StackChart


class StillStack(QWidget):
    """A chart to look at, for the moment until one can point at it."""

    first_painted = Signal()
    """The chart is on screen."""

    def __init__(self, look: ChartLook) -> None:
        super().__init__()
        self._look = look
        self._chart: StackChart | None = None
        self._was_painted = False
        self.setMinimumSize(LEAST_CHART.width(), scaled(LEAST_CHART.height()))
        self.setAccessibleName(tr("Memory by instant, chart"))

    def show_chart(self, chart: StackChart | None, look: ChartLook) -> None:
        """Show another chart."""
        self._chart, self._look = chart, look
        self.update()

    def sizeHint(self) -> QSize:
        """As little as it can be read at."""
        return LEAST_CHART

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint marks and axis."""
        if self._chart is not None:
            left = row_labels_width(self._chart, self._look)
            width = self.width() - left - RIGHT_MARGIN
            top = scaled(TOP_MARGIN)
            area = QRectF(left, top, width, self.height() - top - axis_height(self._look))
            end = end_of_axis(self._chart, self._look, width)
            scale = Scale(0.0, end, area.left(), area.right())
            painter = QPainter(self)
            paint_stack(painter, StackMarks(self._chart, area, scale, self._look), clip=True)
            paint_axis(painter, self._chart.unit, area, scale, self._look)
            painter.end()
        if not self._was_painted:
            self._was_painted = True
            self.first_painted.emit()
