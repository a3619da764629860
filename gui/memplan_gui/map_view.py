"""The Map view: the need for every micro-batch and sequence length, and the frontier of what fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtWidgets import QStackedWidget

from memplan import (
    Estimate,
    MemoryMap,
    MemplanError,
    Scenario,
    Unit,
    estimate,
    memory_map,
    once_a_style,
    tr,
    tr_later,
    translated,
)
from memplan_gui.announcing import announce
from memplan_gui.answers import mistake_words
from memplan_gui.background import Background
from memplan_gui.charts.chart_pictures import map_picture
from memplan_gui.document import PlanDocument
from memplan_gui.figure_table import FigureTable
from memplan_gui.flow_row import FlowRow
from memplan_gui.map_chart import MapPlot
from memplan_gui.pieces import column, label, tool_button
from memplan_gui.presenters import memory_map as words
from memplan_gui.presenters.answer import Answer
from memplan_gui.presenters.labels import picture_subtitle
from memplan_gui.presenters.memory_map import NO_TABLE, MapChart, MapTable
from memplan_gui.segmented import Segmented
from memplan_gui.showing import Showing
from memplan_gui.tables import LEFT, RIGHT, ROOT
from memplan_gui.theme import Theme
from memplan_gui.views import AnswerView

Index = QModelIndex | QPersistentModelIndex
HOW = tr_later("Point at a place, or use the arrow keys, for its estimate; a click or Enter takes it into the plan.")
KINDS = ((tr_later("Chart"), "chart"), (tr_later("Table"), "table"))


class MapModel(QAbstractTableModel):
    """The map at powers of two: sequence lengths by micro-batches."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._make: Callable[[], MapTable] = _no_table

    @property
    def table(self) -> MapTable:
        """What is shown, with numbers in the style in force."""
        return self._make()

    def show(self, make: Callable[[], MapTable]) -> None:
        """Show the table that `make` makes, for the screen or to be copied."""
        self.beginResetModel()
        self._make = once_a_style(make)
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        """Sequence lengths."""
        return 0 if parent.isValid() else len(self.table.rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        """The sequence length, what fits, and each micro-batch."""
        return 0 if parent.isValid() else len(self.table.titles)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        if not index.isValid():
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.table.rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if index.column() else LEFT
        if role == Qt.ItemDataRole.FontRole:
            return self._theme.font("body", bold=index.column() < 2)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """What the columns are."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.table.titles[section]
        return (RIGHT if section else LEFT) if role == Qt.ItemDataRole.TextAlignmentRole else None


def _no_table() -> MapTable:
    """Nothing to show."""
    return NO_TABLE


class MapView(AnswerView):
    """How far micro-batch and sequence length can go, for the scenario that is looked at."""

    def __init__(self, document: PlanDocument, theme: Theme) -> None:
        super().__init__()
        self._document, self._theme = document, theme
        self._scenario: Scenario | None = None
        self._estimate: Estimate | None = None
        self._unit: Unit = "gib"
        self._mapped: tuple[Scenario, int, tuple[int, ...]] | None = None
        """What the map that is shown was asked for: the scenario but for its place, the limit, the sequences."""
        self._found: MemoryMap | None = None
        self.chart: MapChart | None = None
        self.background = Background(self)
        self.sentence = label(wraps=True, selectable=True)
        self.words = label("", wraps=True, selectable=True)
        self.plot = MapPlot(theme)
        self.figures = MapModel(theme)
        self.table = FigureTable(tr("Map of micro-batch and sequence length, in figures"), self.figures, theme)
        self.table.share_columns(alike=True)
        self.limits = Segmented(tr("Micro-batch up to"), [(str(limit), str(limit)) for limit in words.BATCH_LIMITS])
        self.kinds = Segmented(tr("Show the map as"), KINDS)
        self.kinds.set_value("chart")
        self.copy = tool_button(
            "button", tr("Copy the table"), text=tr("Copy table"), tip=tr("Copy the table, with tabs between cells")
        )
        self._stack = QStackedWidget()
        self._arrange()
        self._wire()

    def _arrange(self) -> None:
        whole = column(self, spacing=8)
        named = label(tr("Micro-batch up to"), "caption")
        whole.addWidget(FlowRow((named, self.limits), (self.kinds, self.copy)))
        whole.addWidget(self.sentence)
        self._stack.addWidget(self.plot)
        self._stack.addWidget(self.table)
        whole.addWidget(self._stack, 1)
        self.words.setMinimumHeight(2 * self.words.fontMetrics().lineSpacing())
        self.words.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        whole.addWidget(self.words)
        self.keyboard = self.plot

    def _wire(self) -> None:
        self.plot.pointed.connect(self._say)
        self.plot.taken.connect(self._take)
        self.limits.chosen.connect(lambda _: self._ask())
        self.kinds.chosen.connect(self._choose_kind)
        self.copy.clicked.connect(self.copy_wanted)

    def show_answer(self, scenario: Scenario, answer: Answer, unit: Unit) -> None:
        """Map the scenario; where only its place on the map is another, the map stays."""
        self._scenario, self._estimate, self._unit = scenario, answer.estimate, unit
        if answer.estimate is None:
            self._show(None, answer.problem)
            return
        self._ask()

    def finish(self) -> None:
        """Wait for the map that was asked for."""
        self.background.finish()

    def showing(self) -> Showing | None:
        """The map and its table, of the scenario as it is now."""
        self.background.finish()
        chart, estimate = self.chart, self._estimate
        if chart is None or estimate is None or self._scenario is None:
            return None
        return Showing(
            tr_later("map"),
            picture_subtitle(self._scenario, estimate),
            words.map_sentence(chart),
            lambda amounts: words.map_cells(chart, amounts),
            lambda look, head: map_picture(chart, look, head),
        )

    def _ask(self) -> None:
        """Ask for the map, where it is not there already."""
        scenario = self._scenario
        if scenario is None:
            return
        own, sequences = scenario.training, words.sequence_axis(scenario.training.sequence_length)
        limit = int(self.limits.value() or words.limit_for(own.micro_batch, ()))
        wanted = words.with_place(scenario, 1, 1), limit, sequences
        if wanted == self._mapped:
            self._draw()
            return
        batches = words.batch_axis(limit)
        self.background.ask(
            lambda: memory_map(scenario, batches, sequences), lambda found: self._take_map(wanted, found)
        )

    def _take_map(self, wanted: tuple[Scenario, int, tuple[int, ...]], found: object) -> None:
        if isinstance(found, MemoryMap):
            self._mapped, self._found = wanted, found
            if not self.limits.value():  # the first map shows where the frontier is; from then on the person chooses
                limit = words.limit_for(wanted[1], found.frontier)
                self.limits.set_value(str(limit))
                if limit != wanted[1]:
                    self._ask()
                    return
            self._draw()
        elif isinstance(found, MemplanError):
            self._show(None, str(found))
        elif isinstance(found, Exception):
            self._show(None, mistake_words(found))

    def _draw(self) -> None:
        if self._found is not None and self._scenario is not None:
            chart = words.map_chart(self._found, self._scenario, self._unit)
            self._show(chart, words.map_sentence(chart))

    def _show(self, chart: MapChart | None, sentence: str) -> None:
        self.chart = chart
        self.sentence.setText(sentence)
        self.plot.show_chart(chart)
        self.figures.show((lambda: words.map_table(chart)) if chart else _no_table)
        self._say(self.plot.cursor_place)

    def _choose_kind(self, kind: str) -> None:
        """Show the map as a chart or as a table."""
        self._stack.setCurrentIndex(int(kind == "table"))
        self.keyboard = self.table if kind == "table" else self.plot
        self._say(None if kind == "table" else self.plot.cursor_place)

    def _say(self, place: tuple[int, int] | None) -> None:
        """The estimate for the place under the cursor, made for it alone."""
        if place is None or self._scenario is None:
            self.words.setText(self._hint() if self.chart else "")
            self.plot.setAccessibleDescription(f"{self.sentence.text()} {translated(HOW)}")
            return
        answer = estimate(words.with_place(self._scenario, *place))
        self.words.setText(words.cell_words(answer, *place, self._unit))
        self.plot.setAccessibleDescription(self.words.text())
        if self.plot.hasFocus():
            announce(self.plot, self.words.text(), at_once=True)

    def _hint(self) -> str:
        return translated(HOW) if self.kinds.value() == "chart" else self.figures.table.note

    def _take(self, batch: int, sequence: int) -> None:
        """Give the plan the place's batch and sequence, as one step."""
        document = self._document
        document.end_gesture()
        place = {"training.micro_batch": batch, "training.sequence_length": sequence}
        values = {document.full_path(path): value for path, value in place.items()}
        document.edit_together(values, text=words.place_text(batch, sequence))
        document.end_gesture()

    def sizeHint(self) -> QSize:
        """As much as there is."""
        return QSize(600, 400)
