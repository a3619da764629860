"""The Compare view: every scenario's fullest instant on one scale, and a table of answers and of what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QEvent, QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHeaderView, QSizePolicy, QStackedWidget, QToolTip, QWidget

from memplan import Scenario, Unit, once_a_style, tr, tr_later, translated
from memplan_gui.answers import Answers
from memplan_gui.changes_pane import ChangesPane, ScenarioPair
from memplan_gui.chart_panel import Legend
from memplan_gui.charts.chart_pictures import compare_picture
from memplan_gui.charts.compare_marks import CompareMarks, height_of, legend_of, marks_of, paint_comparison
from memplan_gui.charts.still_picture import paint_focus
from memplan_gui.document import PlanDocument
from memplan_gui.figure_table import FigureTable
from memplan_gui.flow_row import FlowRow
from memplan_gui.pieces import column, label, scaled, tool_button
from memplan_gui.presenters.answer import Answer
from memplan_gui.presenters.compare import Comparison, bar_words, comparison, comparison_cells
from memplan_gui.scenario_edits import duplicate_scenario
from memplan_gui.scroller import Scroller
from memplan_gui.segmented import Segmented
from memplan_gui.showing import Showing
from memplan_gui.tables import LEFT, RIGHT, ROOT, Swatches
from memplan_gui.theme import Theme
from memplan_gui.views import AnswerView

Index = QModelIndex | QPersistentModelIndex
KINDS = ((tr_later("Side by side"), "bars"), (tr_later("Change by change"), "changes"))
DUPLICATE_TIP = tr_later("Put a copy beside the scenario that is looked at, to try a change in it (Ctrl+D)")
MOST_CHART_SHARE = 0.5
"""How much of the view the bars may take before they scroll."""
LEAST_TABLE = 104
LEAST_CHART = 80
LEGEND_GAP = 4


HOW = tr_later("Arrow keys look at another scenario.")


class CompareChart(QWidget):
    """A bar for each scenario; a click looks at one."""

    chosen = Signal(int)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._compared: Comparison | None = None
        self.setAccessibleName(tr("Scenarios side by side, chart"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        theme.changed.connect(self.update)

    def show_comparison(self, compared: Comparison) -> None:
        """Show another comparison."""
        self._compared = compared
        self.setFixedHeight(height_of(compared, self._theme.chart_look))
        looked_at = bar_words(compared.scenarios[compared.current], compared.unit)
        self.setAccessibleDescription(f"{looked_at}. {compared.sentence} {translated(HOW)}")
        self.update()

    def _marks(self) -> CompareMarks | None:
        return marks_of(self._compared, self._theme.chart_look, self.width()) if self._compared else None

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the bars."""
        if marks := self._marks():
            painter = QPainter(self)
            paint_comparison(painter, marks)
            if self.hasFocus() and self._compared is not None:
                paint_focus(painter, marks.look, marks.row_rect(self._compared.current).adjusted(4, 3, -4, -3))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrow keys look at the next scenario, Home and End at the first and the last."""
        compared = self._compared
        if compared is None:
            return
        last = len(compared.scenarios) - 1
        goals = {
            Qt.Key.Key_Up: compared.current - 1,
            Qt.Key.Key_Down: compared.current + 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        goal = goals.get(Qt.Key(event.key()))
        if goal is None:
            super().keyPressEvent(event)
        else:
            self.chosen.emit(min(max(goal, 0), last))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Look at the scenario that was clicked."""
        marks = self._marks()
        row = marks.row_at(event.position()) if marks and event.button() == Qt.MouseButton.LeftButton else None
        if row is not None:
            self.chosen.emit(row)

    def event(self, event: QEvent) -> bool:
        """Say what a bar comes to, beside the mouse."""
        marks = self._marks() if isinstance(event, QHelpEvent) else None
        if marks is None or self._compared is None or not isinstance(event, QHelpEvent):
            return super().event(event)
        row = marks.row_at(event.pos().toPointF())
        if row is None:
            QToolTip.hideText()
        else:
            one = self._compared.scenarios[row]
            QToolTip.showText(event.globalPos(), bar_words(one, self._compared.unit), self)
        return True


class CompareModel(QAbstractTableModel):
    """The comparison in figures and words: a row for each answer, term and difference, a column for each scenario."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._swatches = Swatches(theme)
        self._make: Callable[[], Comparison] | None = None

    @property
    def compared(self) -> Comparison | None:
        """What is compared, with numbers in the style in force."""
        return self._make() if self._make else None

    def show(self, make: Callable[[], Comparison]) -> None:
        """Show what `make` makes, once a style of numbers; of the same shape, only figures are painted anew."""
        old, self._make = self.compared, make
        if old is not None and _shape(old) == _shape(self._make()):
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, self.columnCount() - 1))
        else:
            self.beginResetModel()
            self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        """Answers, terms, differences."""
        return 0 if parent.isValid() or self.compared is None else len(self.compared.rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Scenarios."""
        return 0 if parent.isValid() or self.compared is None else len(self.compared.scenarios)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        compared = self.compared
        if compared is None or not index.isValid():
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return compared.rows[index.row()].cells[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT
        if role == Qt.ItemDataRole.FontRole:
            return self._theme.font("body", bold=index.column() == compared.current)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Names of scenarios and of what is compared; each term with its colour."""
        compared = self.compared
        if compared is None:
            return None
        across = orientation == Qt.Orientation.Horizontal
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return compared.scenarios[section].name if across else compared.rows[section].title
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if across else LEFT
        if role == Qt.ItemDataRole.FontRole:
            return self._theme.font("body", bold=across and section == compared.current)
        if role == Qt.ItemDataRole.DecorationRole and not across and (term := compared.rows[section].term):
            return self._swatches.of(term)
        return None


def _shape(compared: Comparison) -> tuple[object, ...]:
    """What stands in the table's headers."""
    names, titles = [one.name for one in compared.scenarios], [(row.title, row.term) for row in compared.rows]
    return names, titles, compared.current


class CompareView(AnswerView):
    """All scenarios of the plan side by side."""

    def __init__(self, document: PlanDocument, answers: Answers, theme: Theme) -> None:
        super().__init__()
        self._document, self._answers, self._theme = document, answers, theme
        self._unit: Unit = "gib"
        self._height = 0
        self.sentence = label(wraps=True, selectable=True)
        self.chart = CompareChart(theme)
        self.figures = CompareModel(theme)
        self.table = FigureTable(tr("Scenarios side by side"), self.figures, theme)
        self.table.verticalHeader().setVisible(True)
        self.table.verticalHeader().setDefaultAlignment(LEFT)
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.table.horizontalHeader().setStretchLastSection(False)
        self.table.horizontalHeader().setTextElideMode(Qt.TextElideMode.ElideRight)
        self.table.horizontalHeader().setMinimumSectionSize(scaled(110))
        self.legend = Legend()
        self._bars = Scroller(self._chart_and_legend())
        self.table.setMinimumHeight(scaled(LEAST_TABLE, 1.5))
        self.kinds = Segmented(tr("Compare"), KINDS)
        self.kinds.set_value("bars")
        self.pair = ScenarioPair()
        self.changes = ChangesPane(self.pair, theme)
        self.duplicate = tool_button(
            "button", tr("Duplicate the scenario"), text=tr("Duplicate"), tip=translated(DUPLICATE_TIP)
        )
        self.copy = tool_button(
            "button", tr("Copy the table"), text=tr("Copy table"), tip=tr("Copy the table, with tabs between cells")
        )
        self._stack = QStackedWidget()
        self._arrange()
        self.kinds.chosen.connect(lambda _: self._show())
        self.pair.chosen.connect(self._show)
        self.duplicate.clicked.connect(lambda: duplicate_scenario(document))
        self.copy.clicked.connect(self.copy_wanted)
        self.chart.chosen.connect(document.show_scenario)
        self.table.horizontalHeader().sectionClicked.connect(document.show_scenario)
        self.table.activated.connect(lambda index: document.show_scenario(index.column()))
        answers.others_answered.connect(self._others_answered)
        theme.changed.connect(self._show_legend)

    def _chart_and_legend(self) -> QWidget:
        """They scroll together: where height is short, the bars come first."""
        both = QWidget()
        parts = column(both, spacing=LEGEND_GAP)
        parts.addWidget(self.chart)
        parts.addWidget(self.legend)
        parts.addStretch(1)
        return both

    def _arrange(self) -> None:
        side_by_side = QWidget()
        parts = column(side_by_side, spacing=8)
        parts.addWidget(self.sentence)
        parts.addWidget(self._bars)
        parts.addWidget(self.table, 1)
        self._stack.addWidget(side_by_side)
        self._stack.addWidget(self.changes)
        whole = self._whole = column(self, spacing=8)
        self._head = FlowRow((self.kinds,), (self.duplicate, self.copy))
        whole.addWidget(self._head)
        whole.addWidget(self._stack, 1)
        self.keyboard = self.table

    def show_answer(self, scenario: Scenario, answer: Answer, unit: Unit) -> None:
        """Compare the scenario that is looked at with the others, as far as they are answered."""
        self._unit = unit
        self._show()

    def finish(self) -> None:
        """Wait for the way between two scenarios."""
        self.changes.finish()

    def showing(self) -> Showing | None:
        """The bars and their table, or the waterfall and its."""
        if self._stack.currentWidget() is self.changes:
            return self.changes.showing()
        compared = self.figures.compared
        if compared is None or not compared.longest:
            return None
        return Showing(
            tr_later("comparison"),
            "",
            compared.sentence,
            partial(comparison_cells, compared),
            partial(compare_picture, compared),
            of_plan=True,
        )

    def _others_answered(self) -> None:
        if self.isVisible():
            self._show()

    def _show(self) -> None:
        scenarios = self._document.plan.scenarios
        several = len(scenarios) > 1
        self.pair.show_names([one.name for one in scenarios], self._document.current)
        self.kinds.setEnabled(several)
        as_changes = several and self.kinds.value() == "changes"
        self._stack.setCurrentIndex(int(as_changes))
        self.keyboard = self.changes.table if as_changes else self.table
        if as_changes:
            self.changes.show_scenarios(scenarios, self._unit)
        else:
            self._show_side_by_side(scenarios)

    def _show_side_by_side(self, scenarios: Sequence[Scenario]) -> None:
        known = [self._answers.answer_for(position) for position in range(len(scenarios))]
        estimates = [answer.estimate if answer else None for answer in known]
        current, unit = self._document.current, self._unit
        make = once_a_style(lambda: comparison(scenarios, estimates, current, unit))
        compared = make()
        if compared == self.figures.compared:
            return
        self.sentence.setText(compared.sentence)
        self.chart.show_comparison(compared)
        self._show_legend(compared)
        self.figures.show(make)
        self._share()

    def _show_legend(self, compared: Comparison | None = None) -> None:
        """Name the colours under the bars."""
        if (found := compared or self.figures.compared) is not None:
            self.legend.show_texts(legend_of(found), self._theme.chart_look)

    def share(self, height: int) -> None:
        """Bars get the height they need, up to half of it all, as long as the table keeps its own."""
        self._height = height
        self._share()
        self.changes.share(height - self._head.height() - self._whole.spacing())

    def _share(self) -> None:
        above = self._head.height() + self.sentence.heightForWidth(self.width()) + 3 * self._whole.spacing()
        wanted = self.chart.height() + LEGEND_GAP + self.legend.height_in(self.width())
        room = min(round(self._height * MOST_CHART_SHARE), self._height - above - self.table.minimumHeight())
        self._bars.setFixedHeight(max(min(wanted, room), scaled(LEAST_CHART)))

    def sizeHint(self) -> QSize:
        """As much as there is."""
        return QSize(600, 400)

    def resizeEvent(self, event: Any) -> None:
        """The sentence may take another number of lines."""
        super().resizeEvent(event)
        self._share()
