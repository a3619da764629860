"""The Timeline view: memory over one step, layer by layer, and what is held at the moment under the cursor."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, QTimer
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QStackedWidget, QStyleOptionViewItem, QWidget

from memplan import TERM_LOOKS, Estimate, Scenario, Unit, tr, tr_later, translated
from memplan_gui.announcing import announce
from memplan_gui.chart_panel import Legend
from memplan_gui.charts.chart_pictures import timeline_picture
from memplan_gui.charts.legend import BEYOND
from memplan_gui.charts.look import fill_term
from memplan_gui.figure_table import PADDING, FigureDelegate, FigureTable, Index
from memplan_gui.flow_row import FlowRow
from memplan_gui.pieces import column, label, row, scaled, shown, tool_button
from memplan_gui.plain_table import PlainModel
from memplan_gui.presenters import timeline as words
from memplan_gui.presenters.answer import Answer
from memplan_gui.presenters.labels import picture_subtitle, term_title
from memplan_gui.presenters.stack import NO_CHART
from memplan_gui.presenters.timeline import TimelineChart
from memplan_gui.segmented import Segmented
from memplan_gui.showing import Showing
from memplan_gui.theme import Theme
from memplan_gui.timeline_plot import TimelinePlot
from memplan_gui.views import AnswerView

STEPS = ((tr_later("Both"), "both"), (tr_later("First step"), "first"), (tr_later("Later steps"), "later"))
KINDS = ((tr_later("Chart"), "chart"), (tr_later("Table"), "table"))
PAGES = {"chart": 0, "table": 1, "nothing": 2}
HOW = tr_later("Arrow keys move through the step, with Ctrl from part to part; Enter goes to the peak.")
FIGURES_SHARE, LOW_SHARE, LEAST_FIGURES, MOST_FIGURES = 0.38, 0.32, 100, 300
"""How much of the height the figures under the chart take, also where that is low; pixels between which it stays."""
TERMS_WIDTH, NARROW_TERMS_WIDTH = 352, 256
NARROW = 700
LOW = 480
"""Below this height the squares of the figures are legend enough."""
SWATCH = 11
BETWEEN = 16
TERM_TITLES = (tr_later("Held"), tr_later("Bytes"), tr_later("Share"))
TERM_WIDTHS = (0, 92, 62)
TENSOR_WIDTHS = (0, 134, 62, 66, 92, 124)
"""Of each column; 0 takes what is left. Of tensors it is what a column must have to be shown."""
PLACE_WIDTHS, WIDEST_PLACE, FIGURE_WIDTH = (64, 96, 110), 240, 96
"""Of the table: step, instant and where; then each figure."""
TENSOR_COLUMNS = (4, 1, 3, 5, 2)
"""In which order columns beside the name are shown, as far as there is room."""
LEAST_NAME = 150
TENSOR_TITLES = (
    *(tr_later("Largest tensors"), tr_later("Shape"), "dtype"),
    *(tr_later("Count"), tr_later("Bytes"), tr_later("Term")),
)


class TermDelegate(FigureDelegate):
    """A term's name behind a square of its colour."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme)
        self.setParent(parent)
        self._terms = {term_title(term): term for term in TERM_LOOKS}

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint one cell."""
        self.paint_ground(painter, option)
        name, inner = str(index.data()), option.rect.adjusted(PADDING, 0, -PADDING, 0)
        square = QRectF(inner.left() + 0.5, inner.center().y() - SWATCH // 2 + 0.5, SWATCH, SWATCH)
        fill_term(painter, square, self._terms[name], self._theme.colour("outline"))
        self.write(painter, inner.adjusted(SWATCH + 8, 0, 0, 0), name)


class TimelineView(AnswerView):
    """Memory over a step of the scenario that is looked at."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._scenario: Scenario | None = None
        self._estimate: Estimate | None = None
        self._unit: Unit = "gib"
        self.chart: TimelineChart | None = None
        self.sentence = label(wraps=True, selectable=True)
        self.steps = Segmented(tr("Steps"), STEPS)
        self.steps.set_value("both")
        self.kinds = Segmented(tr("Show the timeline as"), KINDS)
        self.kinds.set_value("chart")
        self.copy = tool_button(
            "button", tr("Copy the table"), text=tr("Copy table"), tip=tr("Copy the table, with tabs between cells")
        )
        self.plot = TimelinePlot(theme)
        self.legend = Legend()
        self.place = label("", "section", wraps=True, selectable=True)
        self.terms = PlainModel(TERM_TITLES, theme)
        self.terms_table = FigureTable(tr("What is held at the moment under the cursor"), self.terms, theme)
        self.terms_table.setItemDelegateForColumn(0, TermDelegate(theme, self.terms_table))
        self.tensors = PlainModel(TENSOR_TITLES, theme)
        self.tensors_table = FigureTable(tr("Largest tensors at the moment under the cursor"), self.tensors, theme)
        self.figures = PlainModel(words.PLACE_TITLES, theme)
        self.table = FigureTable(tr("Memory over a step, in figures"), self.figures, theme)
        self._stack = QStackedWidget()
        self._below = QWidget()
        self._arrange()
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.timeout.connect(self._tell)
        self.steps.chosen.connect(lambda _: self._draw())
        self.kinds.chosen.connect(self._choose_kind)
        self.copy.clicked.connect(self.copy_wanted)
        self.plot.pointed.connect(self._tell)
        theme.changed.connect(self._show_legend)

    def _arrange(self) -> None:
        whole = column(self, spacing=8)
        whole.addWidget(FlowRow((self.steps,), (self.kinds, self.copy)))
        whole.addWidget(self.sentence)
        chart = QWidget()
        parts = column(chart, spacing=6)
        parts.addWidget(self.plot, 1)
        parts.addWidget(self.legend)
        parts.addWidget(self.place)
        parts.addWidget(self._figures())
        self._stack.addWidget(chart)
        self._stack.addWidget(self.table)
        self._stack.addWidget(QWidget())
        whole.addWidget(self._stack, 1)
        _set_widths(self.terms_table, TERM_WIDTHS)
        self.tensors_table.share_columns()
        self.table.horizontalHeader().setStretchLastSection(False)
        self.table.horizontalHeader().setDefaultSectionSize(scaled(FIGURE_WIDTH))
        self.table.break_headings()
        self.keyboard = self.plot

    def _figures(self) -> QWidget:
        figures = row(self._below, spacing=BETWEEN)
        for table in (self.terms_table, self.tensors_table):
            table.setMinimumHeight(scaled(LEAST_FIGURES))
            figures.addWidget(table)
        self.terms_table.setFixedWidth(scaled(TERMS_WIDTH))
        return self._below

    def show_answer(self, scenario: Scenario, answer: Answer, unit: Unit) -> None:
        """Show the course of the scenario's step."""
        self._scenario = scenario
        if (answer.estimate, unit) == (self._estimate, self._unit) and self.chart is not None:
            return
        self._estimate, self._unit = answer.estimate, unit
        self._draw()

    def share(self, height: int) -> None:
        """Figures get their part of the height, the legend a place where there is one, the chart the rest."""
        is_low = height < scaled(LOW)
        wanted = height * (LOW_SHARE if is_low else FIGURES_SHARE)
        self._below.setFixedHeight(round(min(max(wanted, scaled(LEAST_FIGURES)), scaled(MOST_FIGURES))))
        shown(self.legend, not is_low)

    def finish(self) -> None:
        """Tell at once what is held."""
        if self._rest.isActive():
            self._tell()

    def showing(self) -> Showing | None:
        """The chart and its table."""
        estimate = self._estimate
        chart = words.timeline_chart(estimate, self._unit, self.steps.value()) if estimate else None
        if chart is None or estimate is None or self._scenario is None:
            return None
        return Showing(
            tr_later("timeline"),
            picture_subtitle(self._scenario, estimate),
            chart.sentence,
            lambda amounts: words.timeline_cells(chart, amounts),
            lambda look, head: timeline_picture(chart, look, head),
        )

    def _draw(self) -> None:
        estimate = self._estimate
        self.chart = chart = words.timeline_chart(estimate, self._unit, self.steps.value()) if estimate else None
        shown(self.steps, bool(estimate and estimate.first_step))
        self._stack.setCurrentIndex(PAGES[self.kinds.value()] if chart else PAGES["nothing"])
        self.sentence.setText(chart.sentence if chart else translated(NO_CHART))
        self.plot.show_chart(chart)
        self._show_legend()
        self._show_table()
        self._rest.start(0)  # the chart is painted first

    def _show_legend(self) -> None:
        self.legend.show_texts(_legend_texts(self.chart) if self.chart else [], self._theme.chart_look)

    def _show_table(self) -> None:
        """The table waits until it is looked at: it has a line for each layer."""
        chart = self.chart
        if chart is not None and self.kinds.value() == "table":
            # Broken where two words are, so that more figures stand side by side.
            titles = tuple(title.replace(" ", "\n", 1) for title in words.table_titles(chart))
            self.figures.show(lambda: words.table_rows(chart), titles)
            for position, width in enumerate(PLACE_WIDTHS):
                wanted = min(self.table.wanted_width(position), scaled(WIDEST_PLACE))
                self.table.horizontalHeader().resizeSection(position, max(wanted, scaled(width)))
            for position in range(len(PLACE_WIDTHS), self.figures.columnCount()):
                self.table.setColumnWidth(position, max(scaled(FIGURE_WIDTH), self.table.least_width(position)))

    def _choose_kind(self, kind: str) -> None:
        """Show the step as a chart or as a table."""
        self._stack.setCurrentIndex(PAGES[kind] if self.chart else PAGES["nothing"])
        self.keyboard = self.table if kind == "table" else self.plot
        self._show_table()

    def _tell(self) -> None:
        """What is held at the moment under the cursor, and which tensors are the largest of it."""
        self._rest.stop()
        chart, moment, estimate = self.chart, self.plot.moment, self._estimate
        if chart is None or moment is None or estimate is None:
            return
        self.place.setText(words.moment_title(moment, chart))
        unit = self._unit
        self.terms.show(lambda: words.term_rows(moment, chart))
        self.tensors.show(lambda: words.tensor_rows(estimate, moment, unit))
        self.plot.setAccessibleDescription(f"{self.place.text()}. {chart.sentence} {translated(HOW)}")
        if self.plot.hasFocus():
            announce(self.plot, self.place.text(), at_once=True)

    def sizeHint(self) -> QSize:
        """As much as there is."""
        return QSize(600, 400)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where it is narrow, tensors go without what is said elsewhere."""
        super().resizeEvent(event)
        narrow = self.width() < scaled(NARROW)
        self.terms_table.setFixedWidth(scaled(NARROW_TERMS_WIDTH if narrow else TERMS_WIDTH))
        self.terms_table.setColumnHidden(2, narrow)
        room = self.width() - self.terms_table.width() - BETWEEN - scaled(LEAST_NAME)
        seen = {0}
        for position in TENSOR_COLUMNS:
            room -= scaled(TENSOR_WIDTHS[position])
            if room >= 0:
                seen.add(position)
        self.tensors_table.show_columns(lambda position: position in seen)


def _set_widths(table: FigureTable, widths: tuple[int, ...]) -> None:
    header = table.horizontalHeader()
    header.setStretchLastSection(False)
    for position, width in enumerate(widths):
        if width:
            header.resizeSection(position, scaled(width))
        else:
            header.setSectionResizeMode(position, QHeaderView.ResizeMode.Stretch)


def _legend_texts(chart: TimelineChart) -> list[str]:
    """What the legend names, in stack order."""
    return [*chart.terms, *([BEYOND] if chart.overflows else [])]
