"""The Evidence view: the cases nearest to the scenario, how far off estimates were there, and all cases in groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QAbstractItemView

from memplan import MemplanError, Scenario, Unit, once_a_style, tr, tr_later
from memplan_gui.figure_table import FigureTable
from memplan_gui.flow_row import FlowRow
from memplan_gui.pieces import column, label, scaled, tip, tool_button
from memplan_gui.presenters.answer import Answer
from memplan_gui.presenters.evidence import (
    MODES,
    EvidenceLine,
    EvidenceTable,
    Mode,
    all_sentence,
    evidence_cells,
    evidence_table,
    nearest_rows,
    own_sentence,
)
from memplan_gui.presenters.labels import picture_subtitle
from memplan_gui.segmented import Segmented
from memplan_gui.showing import Showing
from memplan_gui.tables import LEFT, RIGHT, ROOT
from memplan_gui.theme import Theme
from memplan_gui.views import AnswerView

Index = QModelIndex | QPersistentModelIndex
DETAIL_LINES = 4
LEAST_TABLE = 104


class EvidenceModel(QAbstractTableModel):
    """Cases or groups."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._make = once_a_style(_no_table)

    @property
    def table(self) -> EvidenceTable:
        """What is shown, with numbers in the style in force."""
        return self._make()

    def show(self, make: Callable[[], EvidenceTable]) -> bool:
        """Show the table that `make` makes, for the screen or to be copied; says whether it is another one."""
        old, self._make = self.table, once_a_style(make)
        if old == self.table:
            return False
        self.beginResetModel()
        self.endResetModel()
        return True

    def texts_of(self, position: int) -> Iterator[tuple[QFont, str]]:
        """Each text of a column, with its font."""
        plain, bold = self._theme.font("body"), self._theme.font("body", bold=True)
        yield from ((bold if line.is_own else plain, line.cells[position]) for line in self.table.lines)

    def rowCount(self, parent: Index = ROOT) -> int:
        """Cases or groups."""
        return 0 if parent.isValid() else len(self.table.lines)

    def columnCount(self, parent: Index = ROOT) -> int:
        """What is told of each."""
        return 0 if parent.isValid() else len(self.table.headers)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        line = self.table.lines[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return line.cells[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(f"{line.cells[index.column()]}\n{line.detail}")
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{line.title}: {self.table.headers[index.column()]} {line.cells[index.column()]}"
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if index.column() in self.table.figures else LEFT
        if role == Qt.ItemDataRole.FontRole:
            return self._theme.font("body", bold=line.is_own)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The columns' names."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self.table.headers[section]
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if section in self.table.figures else LEFT
        return None


def _no_table() -> EvidenceTable:
    """Nothing to show."""
    return EvidenceTable((), (), ())


class EvidenceView(AnswerView):
    """What the estimate rests on."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._scenario: Scenario | None = None
        self._answer, self._unit = Answer(None), "gib"
        self.sentence = label(wraps=True, selectable=True)
        self.every = label("", "caption", wraps=True, selectable=True)
        self.modes = Segmented(tr("Cases"), MODES)
        self.modes.set_value("nearest")
        self.copy = tool_button("button", tr("Copy the table"), text=tr("Copy table"))
        self.copy.setToolTip(tr("Copy the table with tabs between cells"))
        self.cases = EvidenceModel(theme)
        self.table = FigureTable(tr("Evidence"), self.cases, theme)
        self.table.setObjectName("devices")
        self.table.setMinimumHeight(scaled(LEAST_TABLE))
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.horizontalHeader().setMinimumSectionSize(50)
        self.table.share_columns()
        self.detail_title = label("", "section", wraps=True)
        self.detail = label("", "caption", wraps=True, selectable=True)
        self._arrange()
        self.modes.chosen.connect(lambda _: self._show())
        self.copy.clicked.connect(self.copy_wanted)
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._show_detail())

    def _arrange(self) -> None:
        self.detail.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.detail.setMinimumHeight(DETAIL_LINES * self.detail.fontMetrics().lineSpacing())
        whole = column(self, spacing=8)
        whole.addWidget(self.sentence)
        whole.addWidget(self.every)
        whole.addWidget(FlowRow((self.modes,), (self.copy,)))
        whole.addWidget(self.table, 1)
        whole.addWidget(self.detail_title)
        whole.addWidget(self.detail)
        self.keyboard = self.table

    def show_answer(self, scenario: Scenario, answer: Answer, unit: Unit) -> None:
        """Show what the estimate of the scenario rests on."""
        self._scenario, self._answer, self._unit = scenario, answer, unit
        self._show()

    def showing(self) -> Showing | None:
        """The table; it has no chart."""
        scenario, estimate, table = self._scenario, self._answer.estimate, self.cases.table
        if scenario is None or estimate is None or not table.lines:
            return None
        subtitle = picture_subtitle(scenario, estimate)
        sentence = own_sentence(estimate, nearest_rows(scenario), scenario)
        return Showing(tr_later("evidence"), subtitle, sentence, lambda _: evidence_cells(self.cases.table))

    def _show(self) -> None:
        scenario = self._scenario
        if scenario is None:
            return
        mode = _mode_of(self.modes.value())
        try:
            nearest = nearest_rows(scenario)
            self.sentence.setText(own_sentence(self._answer.estimate, nearest, scenario))
            self.every.setText(all_sentence())
            unit: Unit = "gb" if self._unit == "gb" else "gib"
            is_other = self.cases.show(lambda: evidence_table(scenario, mode, unit, nearest))
        except MemplanError:
            self.sentence.setText(self._answer.problem)
            is_other = self.cases.show(_no_table)
        if is_other:
            self._point_at_own()
        self.setAccessibleDescription(self.sentence.text())

    def _point_at_own(self) -> None:
        own = next((at for at, line in enumerate(self.cases.table.lines) if line.is_own), 0)
        self.table.setCurrentIndex(self.cases.index(own, 0))
        self.table.scrollTo(self.cases.index(own, 0), QAbstractItemView.ScrollHint.PositionAtCenter)
        self._show_detail()

    def _show_detail(self) -> None:
        line = self._current()
        self.detail_title.setText(line.title if line else "")
        self.detail.setText(line.detail if line else "")

    def _current(self) -> EvidenceLine | None:
        index = self.table.currentIndex()
        lines = self.cases.table.lines
        return lines[index.row()] if index.isValid() and index.row() < len(lines) else None


def _mode_of(value: str) -> Mode:
    return next((mode for _, mode in MODES if mode == value), "nearest")
