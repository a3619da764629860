"""The hero: the stacked chart with its switch and legend, and what stands in its place until it can be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QCursor, QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolButton, QToolTip, QWidget

from memplan import Estimate, Scenario, Unit, tr, tr_later, translated
from memplan_gui.announcing import announce
from memplan_gui.charts.legend import Entry, legend_height, legend_texts, paint_legend, place_entries
from memplan_gui.charts.look import ChartLook
from memplan_gui.charts.stack_layout import LEAST_CHART
from memplan_gui.charts.stack_marks import Spot
from memplan_gui.charts.stack_picture import stack_picture
from memplan_gui.charts.still_stack import StillStack
from memplan_gui.pieces import column, label, row, scaled, shown, tip, turn
from memplan_gui.presenters.answer import Answer
from memplan_gui.presenters.breakdown import breakdown, breakdown_cells
from memplan_gui.presenters.explanation import hover_words
from memplan_gui.presenters.labels import picture_subtitle
from memplan_gui.presenters.stack import NO_CHART, StackChart, chart_sentence, stack_chart
from memplan_gui.presenters.verdict import band_words, recipe_words, verdict_view
from memplan_gui.segmented import Segmented
from memplan_gui.showing import Showing
from memplan_gui.theme import Theme

if TYPE_CHECKING:
    from memplan_gui.charts.stack_plot import StackPlot

STEPS = ((tr_later("First step"), "first"), (tr_later("Later steps"), "later"))
NARROW = 300


class Legend(QWidget):
    """The legend, as wide as the chart."""

    def __init__(self) -> None:
        super().__init__()
        self._look: ChartLook | None = None
        self._texts: list[str] = []
        self._entries: list[Entry] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def texts(self) -> list[str]:
        """What it names, as it stands in the code."""
        return self._texts

    def show_texts(self, texts: list[str], look: ChartLook) -> None:
        """Show other entries."""
        if (texts, look) == (self._texts, self._look):
            return
        self._texts, self._look = texts, look
        self._place()
        self.update()

    def height_in(self, width: int) -> int:
        """The height that it takes in a width."""
        if self._look is None:
            return 0
        return round(max(legend_height(place_entries(self._texts, self._look, width), self._look), 20))

    def _place(self) -> None:
        if self._look is not None:
            self._entries = place_entries(self._texts, self._look, self.width())
            self.setFixedHeight(self.height_in(self.width()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the entries anew."""
        self._place()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the entries."""
        if self._look is not None:
            paint_legend(QPainter(self), self._entries, QPointF(0, 0), self._look)


class ChartPanel(QWidget):
    """The chart of the scenario that is looked at."""

    pinned = Signal(object)
    """The `Spot` that is to be explained; None when it was let go."""
    step_chosen = Signal()
    """First step or later ones: the chart is another now."""
    first_painted = Signal()
    """Chart, or what is said in its place, is on screen."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._scenario: Scenario | None = None
        self._estimate: Estimate | None = None
        self._unit: Unit = "gib"
        self.chart: StackChart | None = None
        self._is_stale = False
        """Another chart is to be shown once the panel is seen."""
        self.plot: StackPlot | None = None
        self.steps = Segmented(tr("Step"), STEPS)
        self.steps.set_value("later")
        tips = {"first": tr("The first step: optimizer states appear in it."), "later": tr("Every later step.")}
        self.steps.set_tool_tips(tips)
        self.steps.chosen.connect(self._choose_step)
        self._show_all = QPushButton(tr("Show all"))
        self._show_all.hide()
        self._show_all.clicked.connect(self.show_all)
        self._legend = Legend()
        self._nothing = label(translated(NO_CHART), "muted", wraps=True)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._nothing.setMinimumHeight(LEAST_CHART.height())
        still = StillStack(self._theme.chart_look)
        still.first_painted.connect(self.first_painted)
        self._still: StillStack | None = still
        self._column = column(self, spacing=4)
        self._arrange(still)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        theme.changed.connect(self._restyle)

    def _arrange(self, still: StillStack) -> None:
        head = self._head = row(spacing=8)
        head.addWidget(label(tr("Memory on each device, by instant"), "section", wraps=True), 1)
        head.addWidget(self._show_all, 0, Qt.AlignmentFlag.AlignLeft)
        head.addWidget(self.steps, 0, Qt.AlignmentFlag.AlignLeft)
        self._column.addLayout(head)
        self._column.addWidget(still, 1)
        self._column.addWidget(self._nothing, 1)
        self._column.addWidget(self._legend)

    def load_plot(self) -> None:
        """Bring pyqtgraph in. It takes a quarter of a second, so it waits until the rest is on screen."""
        from memplan_gui.charts.stack_plot import StackPlot

        plot = StackPlot(self._theme.chart_look)
        plot.pinned.connect(self.pinned)
        plot.pointed.connect(self._tell)
        plot.need_pointed.connect(self._tell_need)
        plot.zoomed.connect(self._show_all.setVisible)
        self._column.insertWidget(1, plot, 1)
        QWidget.setTabOrder(self.steps.findChildren(QToolButton)[-1], plot)  # made late, it would come last
        self.plot = plot
        if self._still is not None:
            self._still.hide()
            self._still.deleteLater()
            self._still = None
        self._draw()

    def show_answer(self, scenario: Scenario, answer: Answer, unit: Unit) -> None:
        """Show the chart of an estimate, or say that there is none."""
        self._scenario, self._estimate, self._unit = scenario, answer.estimate, unit
        self._draw()

    @property
    def sentence(self) -> str:
        """The chart in one sentence."""
        return chart_sentence(self.chart) if self.chart else translated(NO_CHART)

    def show_all(self) -> None:
        """Undo zooming."""
        if self.plot is not None:
            self.plot.show_all()

    def take_keyboard(self) -> None:
        """Let the arrow keys walk over the segments."""
        if self.plot is not None:
            self.plot.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def zoom(self, factor: float) -> None:
        """Show more or less of the axis."""
        if self.plot is not None:
            self.plot.zoom(factor)

    def pin(self, spot: Spot | None) -> None:
        """Point out what is explained."""
        if self.plot is not None:
            self.plot.pin(spot)

    def choose_step(self, step: str) -> None:
        """Show the first step, or later ones."""
        self.steps.set_value(step)
        self._choose_step(step)

    def showing(self) -> Showing | None:
        """The chart and its table, to be copied and exported; None when there is no chart."""
        chart, estimate = self.chart, self._estimate
        if chart is None or estimate is None or self._scenario is None:
            return None
        step = [tr("first step") if self.steps.value() == "first" else tr("later steps")] if estimate.first_step else []
        return Showing(
            tr_later("memory"),
            picture_subtitle(self._scenario, estimate, *step),
            verdict_view(estimate, self._unit).sentence,
            lambda amounts: breakdown_cells(breakdown(chart), amounts),
            lambda look, head: stack_picture(chart, recipe_words(estimate), look, head),
        )

    def _draw(self) -> None:
        estimate = self._estimate
        first = self.steps.value() == "first"
        self.chart = stack_chart(estimate, self._unit, first_step=first) if estimate else None
        shown(self.steps, estimate is None or bool(estimate.first_step))  # inference has no steps
        self._is_stale = self.plot is not None and not self.isVisible()
        if not self._is_stale:
            self._show_chart()

    def _show_chart(self) -> None:
        """Show the chart as it is; while another view hides it, that waits."""
        shown(self._nothing, self.chart is None)
        if self._still is not None:
            shown(self._still, self.chart is not None)
            self._still.show_chart(self.chart, self._theme.chart_look)
            self._still.setAccessibleDescription(self.sentence)
        self._legend.show_texts(legend_texts(self.chart) if self.chart else [], self._theme.chart_look)
        if self.plot is not None:
            self.plot.setVisible(self.chart is not None)
            self.plot.show_chart(self.chart)
            self.plot.setAccessibleDescription(self.sentence)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The switch stands under the title where both lack room side by side."""
        super().resizeEvent(event)
        turn(self._head, down=self.width() < scaled(NARROW), spacing=8)

    def _restyle(self) -> None:
        if self.plot is not None:
            self.plot.restyle(self._theme.chart_look)
        if self.chart is not None:
            self._legend.show_texts(legend_texts(self.chart), self._theme.chart_look)

    def _choose_step(self, _: str) -> None:
        self._draw()
        self.step_chosen.emit()

    def _tell(self, spot: Spot | None) -> None:
        """Name the segment that is pointed at: beside the mouse, and to a screen reader."""
        if spot is None or self._estimate is None or self.chart is None or self.plot is None:
            QToolTip.hideText()
            return
        title, figure, formula = hover_words(self._estimate, self.chart, spot.row, spot.term)
        if self.plot.underMouse():
            words = "\n".join(line for line in (figure, formula) if line)
            QToolTip.showText(QCursor.pos(), f"<b>{title}</b><br>{tip(words)}", self.plot)
        self.plot.setAccessibleDescription(f"{title}: {figure}. {self.sentence}")
        if self.plot.hasFocus():
            announce(self.plot, f"{title}: {figure}", at_once=True)

    def _tell_need(self, is_pointed: bool) -> None:
        """Say beside the mouse what the band of the need means."""
        if is_pointed and self._estimate is not None:
            QToolTip.showText(QCursor.pos(), tip(band_words(self._estimate.need, self._unit)), self.plot)
        else:
            QToolTip.hideText()

    def showEvent(self, event: QShowEvent) -> None:
        """Show what came while another view was in front."""
        super().showEvent(event)
        if self._is_stale:
            self._is_stale = False
            self._show_chart()
