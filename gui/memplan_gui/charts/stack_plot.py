"""The stacked chart on screen: pyqtgraph gives axes, zoom and hover; the marks are painted as in every export."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QEasingCurve, QEvent, QPointF, QRectF, QSize, Qt, QTimer, QVariantAnimation, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QGraphicsObject, QStyle, QStyleOptionGraphicsItem, QWidget

from memplan import Unit, tr
from memplan_gui.charts.axis import AXIS_HEIGHT, PIXELS_PER_TICK
from memplan_gui.charts.look import ChartLook
from memplan_gui.charts.scale import Scale, is_far_too_wide, is_too_wide, value_ticks
from memplan_gui.charts.stack_layout import LEAST_CHART, RIGHT_MARGIN, TOP_MARGIN
from memplan_gui.charts.stack_marks import (
    Spot,
    StackMarks,
    end_of_axis,
    paint_stack,
    row_labels_width,
)
from memplan_gui.charts.still_picture import paint_focus
from memplan_gui.pieces import scaled
from memplan_gui.presenters.stack import StackChart

CALM_MS = 1200
"""How long the chart rests before a scale that became too wide is narrowed."""
MOVE_MS = 140


class ByteAxis(pg.AxisItem):
    """The value axis: bytes, ticked at round values of the unit."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.unit: Unit = "gib"
        self.enableAutoSIPrefix(False)
        self.setHeight(scaled(AXIS_HEIGHT))
        self._labels: dict[float, str] = {}

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N803  # pyqtgraph's names
        """Where the ticks are; their labels are kept for `tickStrings`."""
        ticks = value_ticks(minVal, maxVal, self.unit, int(size / PIXELS_PER_TICK)) if maxVal > minVal else []
        self._labels = {tick.num_bytes: tick.label for tick in ticks}
        spacing = ticks[1].num_bytes - ticks[0].num_bytes if len(ticks) > 1 else 1.0
        return [(spacing, [tick.num_bytes for tick in ticks])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """What is written at the ticks."""
        return [self._labels.get(value, "") for value in values]


class StackItem(QGraphicsObject):
    """Hands pyqtgraph's geometry to the paint function."""

    def __init__(self, plot: StackPlot) -> None:
        super().__init__(plot.getPlotItem())
        self._plot = plot
        self.setZValue(10)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)

    def boundingRect(self) -> QRectF:
        """The whole plot: names of the instants stand left of the axes."""
        return self._plot.getPlotItem().boundingRect()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint the marks."""
        marks = self._plot.marks()
        if marks is not None:
            paint_stack(painter, marks, clip=True)
            if self._plot.hasFocus():
                paint_focus(painter, marks.look, marks.area)


class StackPlot(pg.PlotWidget):
    """A stacked bar for each instant, that can be zoomed, pointed at and asked."""

    pointed = Signal(object)
    """The `Spot` under the mouse or the arrow keys; None when there is none."""
    pinned = Signal(object)
    """The `Spot` that was clicked, or chosen with Enter; None when it was let go."""
    need_pointed = Signal(bool)
    """Whether the mouse is on the band of the need."""
    zoomed = Signal(bool)
    """Whether the chart shows a part of its axis only."""

    def __init__(self, look: ChartLook) -> None:
        self._axis = ByteAxis()
        super().__init__(background=look.roles.window, axisItems={"bottom": self._axis}, enableMenu=False)
        self._look = look
        self._chart: StackChart | None = None
        self._pointed: Spot | None = None
        self._pinned: Spot | None = None
        self._end = 1.0
        self._is_zoomed = False
        self._is_on_need = False
        self.setMinimumSize(LEAST_CHART.width(), scaled(LEAST_CHART.height()))
        self._prepare_axes()
        self._item = StackItem(self)
        self._calm = QTimer(self)
        self._calm.setSingleShot(True)
        self._calm.setInterval(CALM_MS)
        self._calm.timeout.connect(self._narrow)
        self._move = QVariantAnimation(self)
        self._move.setDuration(MOVE_MS)
        self._move.setEasingCurve(QEasingCurve(QEasingCurve.Type.OutCubic))
        self._move.valueChanged.connect(self._set_end)
        self.getViewBox().sigRangeChanged.connect(lambda *_: self._item.update())
        self.getViewBox().sigRangeChangedManually.connect(self._note_zoom)
        self.scene().sigMouseMoved.connect(self._mouse_moved)
        self.scene().sigMouseClicked.connect(self._mouse_clicked)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Memory by instant, chart"))
        self.viewport().setAccessibleName(tr("Memory by instant, chart"))
        self.restyle(look)

    def _prepare_axes(self) -> None:
        plot = self.getPlotItem()
        plot.hideButtons()
        # The menu that is never shown belongs to nobody: it would outlive the window.
        plot.ctrlMenu.deleteLater()
        plot.ctrlMenu = None
        plot.hideAxis("left")
        for side in ("left", "top", "right"):  # never seen, yet each would lay its name out again at another range
            plot.getAxis(side).enableAutoSIPrefix(False)
        view = self.getViewBox()
        view.setMouseEnabled(x=True, y=False)
        view.setDefaultPadding(0)
        view.setLimits(xMin=0, minXRange=2**20)
        view.disableAutoRange()
        view.setYRange(0, 1, padding=0)

    @property
    def chart(self) -> StackChart | None:
        """What is shown."""
        return self._chart

    @property
    def pinned_spot(self) -> Spot | None:
        """The segment that the explanation is about."""
        return self._pinned

    def marks(self) -> StackMarks | None:
        """What is painted now and where; None before there is a chart."""
        if self._chart is None:
            return None
        view, plot = self.getViewBox(), self.getPlotItem()
        area = view.mapRectToItem(plot, view.rect())
        low, high = view.viewRange()[0]
        scale = Scale(low, high, area.left(), area.right())
        return StackMarks(self._chart, area, scale, self._look, self._pinned, self._pointed)

    def restyle(self, look: ChartLook) -> None:
        """Take other colours; pyqtgraph ignores its global options once a plot exists."""
        self._look = look
        self.setBackground(look.roles.window)
        self._axis.setPen(pg.mkPen(look.roles.border))
        self._axis.setTextPen(pg.mkPen(look.roles.muted))
        self._axis.setStyle(tickFont=look.fonts["caption"], tickLength=4, tickTextOffset=6, hideOverlappingLabels=False)
        self._item.update()

    def show_chart(self, chart: StackChart | None) -> None:
        """Show another chart. A wider scale stays for a moment, so that the eye sees what changed; then it follows."""
        previous, self._chart = self._chart, chart
        if chart is None:
            self._item.update()
            return
        if self._axis.unit != chart.unit:
            self._axis.unit = chart.unit
            self._axis.picture = None
            self._axis.update()
        left = round(row_labels_width(chart, self._look))
        self.getPlotItem().layout.setContentsMargins(left, scaled(TOP_MARGIN), RIGHT_MARGIN, 0)
        self._calm.stop()
        end = self._wanted_end(chart)
        if previous is None or end > self._end * 1.001 or is_far_too_wide(self._end, end):
            self._jump(end)
        elif is_too_wide(self._end, end):
            self._calm.start()
        self._item.update()

    def show_all(self) -> None:
        """Undo zooming."""
        self._is_zoomed = False
        self.zoomed.emit(False)
        if self._chart is not None:
            self._jump(self._wanted_end(self._chart))

    def zoom(self, factor: float) -> None:
        """Show more (factor below 1) or less of the axis, about its middle."""
        low, high = self.getViewBox().viewRange()[0]
        middle, half = (low + high) / 2, (high - low) / 2 * factor
        self.getViewBox().setXRange(max(middle - half, 0), middle + half, padding=0)
        self._note_zoom()

    def pin(self, spot: Spot | None) -> None:
        """Point out the segment that the explanation is about."""
        if spot != self._pinned:
            self._pinned = spot
            self._item.update()
            self.pinned.emit(spot)

    def _wanted_end(self, chart: StackChart) -> float:
        width = self.width() - row_labels_width(chart, self._look) - RIGHT_MARGIN
        return end_of_axis(chart, self._look, width)

    def _jump(self, end: float) -> None:
        self._move.stop()
        self._set_end(end)

    def _set_end(self, end: Any) -> None:
        self._end = float(end)
        if not self._is_zoomed:
            self.getViewBox().setXRange(0, self._end, padding=0)

    def _narrow(self) -> None:
        if self._chart is None:
            return
        end = self._wanted_end(self._chart)
        if self.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, self) == 0:
            self._jump(end)
            return
        self._move.setStartValue(self._end)
        self._move.setEndValue(end)
        self._move.start()

    def _note_zoom(self, *_: object) -> None:
        low, high = self.getViewBox().viewRange()[0]
        self._is_zoomed = low > 0 or abs(high - self._end) > 0.001 * self._end
        self.zoomed.emit(self._is_zoomed)

    def _point(self, spot: Spot | None) -> None:
        if spot != self._pointed:
            self._pointed = spot
            self._item.update()
            self.pointed.emit(spot)

    def _mouse_moved(self, position: QPointF) -> None:
        marks, point = self.marks(), self._item.mapFromScene(position)
        self._point(marks.spot_at(point) if marks else None)
        is_on_need = marks is not None and self._pointed is None and marks.is_on_need(point)
        if is_on_need != self._is_on_need:
            self._is_on_need = is_on_need
            self.need_pointed.emit(is_on_need)

    def _mouse_clicked(self, event: Any) -> None:
        marks = self.marks()
        if marks is None or event.button() != Qt.MouseButton.LeftButton:
            return
        if event.double():
            self.show_all()
            return
        spot = marks.spot_at(self._item.mapFromScene(event.scenePos()))
        self.pin(spot)

    def _step(self, rows: int, terms: int) -> None:
        chart = self._chart
        if chart is None:
            return
        if self._pointed is None:
            row = next((at for at, bar in enumerate(chart.bars) if bar.is_peak), 0)
            self._point(Spot(row, chart.bars[row].segments[0].term))
            return
        row = min(max(self._pointed.row + rows, 0), len(chart.bars) - 1)
        names = [segment.term for segment in chart.bars[row].segments]
        at = names.index(self._pointed.term) if self._pointed.term in names else 0
        self._point(Spot(row, names[min(max(at + terms, 0), len(names) - 1)]))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows walk from segment to segment, Enter and Space pin, Escape lets go."""
        steps = {
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
        }
        key = Qt.Key(event.key())
        if key in steps:
            self._step(*steps[key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._pointed is not None:
            self.pin(self._pointed)
        elif key == Qt.Key.Key_Escape:
            self.pin(None)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show that the keyboard is here."""
        super().focusInEvent(event)
        self._item.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Show that it left."""
        super().focusOutEvent(event)
        if not self.closed:  # a plot that closes has no item any more
            self._item.update()

    def sizeHint(self) -> QSize:
        """As little as it can be read at: more is what the window has to spare."""
        return LEAST_CHART

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        """Totals need the same room in pixels at every width."""
        super().resizeEvent(event)
        # pyqtgraph resizes it while it is still being made, and after it was closed.
        chart = getattr(self, "_chart", None)
        if chart is not None and self.plotItem is not None:
            self._jump(self._wanted_end(chart))
            self.show_chart(chart)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Ctrl and the wheel zoom; the wheel alone scrolls what is around, and never changes what is shown."""
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().wheelEvent(event)
        else:
            event.ignore()

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is pointed at any more."""
        self._point(None)
        super().leaveEvent(event)
