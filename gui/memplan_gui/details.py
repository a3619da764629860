"""The views under the levers: the breakdown as a table, and the explanation of one segment."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import (
    QHeaderView,
    QLabel,
    QTabWidget,
    QWidget,
)

from memplan import Estimate, LedgerRow, tr, translated
from memplan_gui.charts.stack_marks import Spot
from memplan_gui.figure_table import PADDING, FigureTable
from memplan_gui.pieces import column, label, row, scaled
from memplan_gui.presenters.breakdown import TOTAL, breakdown
from memplan_gui.presenters.explanation import NOTHING_PINNED, explanation
from memplan_gui.presenters.stack import StackChart
from memplan_gui.tab_bar import TabBar
from memplan_gui.tables import BreakdownModel, LedgerModel, swatch
from memplan_gui.theme import Theme

LEDGER_WIDTHS = (260, 190, 72, 72, 100)
HEADING_ROOM = 17
WIDEST_FIGURE = "8888"


class BreakdownView(FigureTable):
    """The chart's numbers; Enter or a double click explains one."""

    wanted = Signal(object)
    """The `Spot` to explain."""

    def __init__(self, theme: Theme) -> None:
        self.figures = BreakdownModel(theme)
        super().__init__(tr("Breakdown: terms by instants"), self.figures, theme)
        self.setObjectName("breakdown")
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setStretchLastSection(False)
        self.break_headings()
        self.verticalHeader().setVisible(True)
        self.verticalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.clicked.connect(self._ask)
        self.activated.connect(self._ask)
        self.figures.modelReset.connect(self._share_width)
        self.figures.headerDataChanged.connect(self._share_width)

    def show_chart(self, chart: StackChart | None) -> None:
        """Show the chart's numbers."""
        self.figures.show(breakdown(chart) if chart else None)

    def _share_width(self) -> None:
        """Columns of equal width. Where that would cut a heading, each as wide as its own, in two lines if need be."""
        header, room = self.horizontalHeader(), self.viewport().width()
        count = header.count()
        if not count:
            return
        for narrow in (False, True):
            own = [self._heading_width(place, narrow=narrow) for place in range(count)]
            if sum(own) <= room:
                break
        self.figures.set_narrow(narrow)
        widths = [room // count] * count if max(own, default=0) * count <= room else own
        spare = max(0, room - sum(widths))
        for place, width in enumerate(widths):
            header.resizeSection(place, width + spare // count + (place < spare % count))

    def _heading_width(self, place: int, *, narrow: bool) -> int:
        font = self.figures.headerData(place, Qt.Orientation.Horizontal, Qt.ItemDataRole.FontRole)
        lines = self.figures.heading(place, narrow=narrow).split("\n")
        metrics = QFontMetrics(font)
        figure = metrics.horizontalAdvance(WIDEST_FIGURE) + 2 * PADDING
        return max(figure, *(metrics.horizontalAdvance(line) + HEADING_ROOM for line in lines))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the width anew."""
        super().resizeEvent(event)
        self._share_width()

    def _ask(self, index: QModelIndex) -> None:
        table = self.figures.table
        if table is not None and table.terms[index.row()] != TOTAL and table.cells[index.row()][index.column()]:
            self.wanted.emit(Spot(index.column(), table.terms[index.row()]))


class ExplanationView(QWidget):
    """Why a segment is as large as it is."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._swatch, self._title, self._figure = QLabel(), label("", "section"), label("", "muted")
        self._formula = label(wraps=True, selectable=True)
        self._source = label("", "caption", wraps=True, selectable=True)
        self.tensors = LedgerModel(theme)
        self.ledger = FigureTable(tr("Tensors of this term"), self.tensors, theme)
        for column_of_ledger, width in enumerate(LEDGER_WIDTHS):
            self.ledger.setColumnWidth(column_of_ledger, scaled(width))
        self._nothing = label(translated(NOTHING_PINNED), "muted", wraps=True)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._arrange()
        self.show_explanation(None, None, None)

    def _arrange(self) -> None:
        head = row(spacing=8)
        for widget in (self._swatch, self._title, self._figure):
            head.addWidget(widget)
        head.addStretch(1)
        whole = column(self, spacing=4, margins=(0, 8, 0, 0))
        whole.addLayout(head)
        whole.addWidget(self._formula)
        whole.addWidget(self._source)
        whole.addWidget(self.ledger, 1000)
        whole.addWidget(self._nothing, 1000)
        whole.addStretch(1)

    @property
    def text(self) -> str:
        """What is explained, in words."""
        return "\n".join(part.text() for part in (self._title, self._figure, self._formula, self._source))

    def show_explanation(self, estimate: Estimate | None, chart: StackChart | None, spot: Spot | None) -> None:
        """Explain a segment; without one, say how to choose one."""
        found = explanation(estimate, chart, spot.row, spot.term) if estimate and chart and spot else None
        for widget in (self._swatch, self._title, self._figure, self._formula, self._source):
            widget.setVisible(found is not None)
        self.ledger.setVisible(found is not None and bool(found.tensors))
        self._nothing.setVisible(found is None)
        if found is None or estimate is None or chart is None or spot is None:
            self.tensors.show(tuple, "gib")  # what is hidden must not come back with another term's tensors
            for part in (self._title, self._figure, self._formula, self._source):
                part.clear()
            return
        self._swatch.setPixmap(swatch(found.term, self._theme.colour("outline")))
        self._title.setText(found.title)
        self._figure.setText(found.figure)
        self._figure.setToolTip(found.exact)
        self._formula.setText(found.formula)
        self._source.setText(tr("Source: {source}").format(source=found.source) if found.source else "")
        self._source.setVisible(bool(found.source))
        self.tensors.show(partial(_tensors, estimate, chart, spot), chart.unit)
        self.setAccessibleDescription(self.text)


def _tensors(estimate: Estimate, chart: StackChart, spot: Spot) -> tuple[LedgerRow, ...]:
    found = explanation(estimate, chart, spot.row, spot.term)
    return found.tensors if found else ()


class Details(QTabWidget):
    """Breakdown and explanation, one at a time."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setTabBar(TabBar())
        self.setDocumentMode(True)
        self.breakdown = BreakdownView(theme)
        self.explanation = ExplanationView(theme)
        self.addTab(self.breakdown, tr("Breakdown"))
        self.addTab(self.explanation, tr("Explanation"))
        self.setAccessibleName(tr("Breakdown and explanation"))
        self.tabBar().setAccessibleName(tr("Breakdown and explanation"))
        self.setMinimumHeight(100)

    def show_view(self, view: QWidget) -> None:
        """Bring one view to the front, and the keyboard into it."""
        self.setCurrentWidget(view)
        view.setFocus(Qt.FocusReason.ShortcutFocusReason)
