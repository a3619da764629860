"""The waterfall between two scenarios of a plan: which two, the chart, its sentence, its table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from memplan import CHANGES_ORDER, Change, MemplanError, Scenario, Unit, changes_between, tr, tr_later, translated
from memplan_gui.answers import mistake_words
from memplan_gui.background import Background
from memplan_gui.charts.chart_pictures import waterfall_picture
from memplan_gui.figure_table import FigureTable
from memplan_gui.flow_row import FlowRow
from memplan_gui.name_choice import NameChoice
from memplan_gui.pieces import column, label, row, scaled, tip, tool_button
from memplan_gui.plain_table import PlainModel
from memplan_gui.presenters.cells import Amounts
from memplan_gui.presenters.changes import CHANGE_TITLES, change_cells, change_rows, change_waterfall, telling
from memplan_gui.presenters.waterfall import Waterfall
from memplan_gui.scroller import Scroller
from memplan_gui.showing import Showing
from memplan_gui.theme import Theme
from memplan_gui.waterfall_picture import WaterfallPicture

LEAST_TABLE = 96
LEAST_CHART = 80
CHART_SHARE, TABLE_SHARE = 3, 2
NAME_LETTERS = 17
"""Of a name at least; where there is room, the field takes as much as its longest name does."""
BESIDE_NAME = 48
"""The field's margins and its arrow."""


class ScenarioPair(QWidget):
    """Which two scenarios: the one that is looked at, and what it is held against, until the person chooses."""

    chosen = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = NameChoice(()), NameChoice(())
        self.turn = tool_button("button", tr("Turn the two around"), text="⇄", tip=tr("Turn the two around"))
        parts: list[QWidget] = []
        for field, name, whole in (
            (self.first, tr("From"), tr("From scenario")),
            (self.second, tr("To"), tr("To scenario")),
        ):
            field.setAccessibleName(whole)
            field.setMinimumContentsLength(NAME_LETTERS)
            title = label(name, "caption")
            title.setBuddy(field)
            named = QWidget()  # a line never ends with the title of what stands in the next
            named_row = row(named, spacing=8)
            named_row.addWidget(title)
            named_row.addWidget(field, 1)
            named.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
            parts.append(named)
            field.edited.connect(lambda _: self.chosen.emit())
        column(self).addWidget(FlowRow((*parts, self.turn)))
        self.turn.clicked.connect(self._turn)
        self._names: tuple[str, ...] = ()
        self._current = -1

    @property
    def positions(self) -> tuple[int, int]:
        """Of the two in the plan; the same where there is one alone."""
        return int(self.first.value() or 0), int(self.second.value() or 0)

    def show_names(self, names: Sequence[str], current: int) -> None:
        """Offer these scenarios. A new one is held against the one before it, any other against the first."""
        before, old, known = self._names, self._current, self.positions
        self._names, self._current = tuple(names), current
        if self._names != before:
            choices = [(name.strip() or tr("unnamed"), str(position)) for position, name in enumerate(names)]
            for field in (self.first, self.second):
                field.set_choices(choices)
                self._widen(field, [name for name, _ in choices])
        if len(names) != len(before):
            is_new = 0 < len(before) < len(names) and current > 0
            self._show(current - 1 if is_new else 0, current or min(1, len(names) - 1))
        elif current not in (old, known[0]):
            self._show(known[0], current)
        else:
            self._show(*known)

    def _widen(self, field: NameChoice, names: Sequence[str]) -> None:
        """A field grows to its longest name where there is room, and no further."""
        longest = max(map(field.fontMetrics().horizontalAdvance, names), default=0)
        whole, named = longest + scaled(BESIDE_NAME), field.parentWidget()
        if named is not None:
            named.setMaximumWidth(
                max(named.sizeHint().width(), named.sizeHint().width() - field.sizeHint().width() + whole)
            )

    def _show(self, first: int, second: int) -> None:
        self.first.set_value(str(first))
        self.second.set_value(str(second))
        for field, position in ((self.first, first), (self.second, second)):
            field.setToolTip(tip(self._names[position]) if position < len(self._names) else "")

    def _turn(self) -> None:
        first, second = self.positions
        self._show(second, first)
        self.chosen.emit()


class ChangesPane(QWidget):
    """What each change between the two did to the peak."""

    def __init__(self, pair: ScenarioPair, theme: Theme) -> None:
        super().__init__()
        self._pair = pair
        self._height = 0
        self._asked: tuple[Scenario, Scenario, Unit] | None = None
        self.way: tuple[Change, ...] = ()
        self.background = Background(self)
        self.sentence = label(wraps=True, selectable=True)
        self.picture = WaterfallPicture(theme)
        self.picture.setAccessibleName(tr("From one scenario's peak to the other's, chart"))
        self.steps = PlainModel(CHANGE_TITLES, theme)
        self.table = FigureTable(tr("What each change contributes to the peak"), self.steps, theme)
        self.table.setMinimumHeight(scaled(LEAST_TABLE))
        self.table.share_columns()
        self._bars = Scroller(self.picture)
        self._order = label(translated(CHANGES_ORDER), "caption", wraps=True)
        whole = self._whole = column(self, spacing=8)
        whole.addWidget(pair)
        whole.addWidget(self.sentence)
        whole.addWidget(self._bars, CHART_SHARE)
        whole.addWidget(self._order)
        whole.addWidget(self.table, TABLE_SHARE)

    @property
    def chart(self) -> Waterfall | None:
        """The waterfall that is shown."""
        return self.picture.chart

    def show_scenarios(self, scenarios: Sequence[Scenario], unit: Unit) -> None:
        """Go from the one to the other, where that was not done yet."""
        first, second = (scenarios[position] for position in self._pair.positions)
        asked = first, second, unit
        if self._asked is not None and all(old is new for old, new in zip(self._asked, asked, strict=True)):
            return
        self._asked = asked
        self.background.ask(lambda: changes_between(first, second), lambda found: self._take(asked, found))

    def finish(self) -> None:
        """Wait for the way that was asked for."""
        self.background.finish()

    def _take(self, asked: tuple[Scenario, Scenario, Unit], found: object) -> None:
        first, second, unit = asked
        if isinstance(found, tuple):
            way = telling(found, first, second)
            chart = change_waterfall(way, (first.name, second.name), unit)
            self._show(way, chart, chart.sentence, unit)
        elif isinstance(found, MemplanError):
            self._show((), None, tr("There is no way between them: {problem}").format(problem=found), unit)
        elif isinstance(found, Exception):
            self._show((), None, mistake_words(found), unit)

    def showing(self) -> Showing | None:
        """The waterfall and its table, of the scenarios as they are now."""
        self.finish()
        if self.chart is None or self._asked is None:
            return None
        first, second, unit = self._asked
        chart = change_waterfall(self.way, (first.name, second.name), unit)
        table = partial(change_cells, self.way)
        return Showing(tr_later("changes"), "", chart.sentence, table, partial(waterfall_picture, chart), of_plan=True)

    def _show(self, way: tuple[Change, ...], chart: Waterfall | None, sentence: str, unit: Unit) -> None:
        self.way = way
        self.sentence.setText(sentence)
        self.picture.show_chart(chart)
        titles = change_cells(way, Amounts(unit)).titles if way else ()
        self.steps.show((lambda: change_rows(way, unit)) if way else None, titles)
        self._share()

    def share(self, height: int) -> None:
        """The chart is seen whole where the height allows."""
        self._height = height
        self._share()

    def _share(self) -> None:
        wanted = max(0, self.picture.height_in(self._bars.viewport().width()))
        words = sum(one.heightForWidth(self.width()) for one in (self.sentence, self._order))
        room = self._height - self._pair.height() - words - self.table.minimumHeight() - 4 * self._whole.spacing()
        self._bars.setMinimumHeight(min(wanted, max(room, scaled(LEAST_CHART))))
        self._bars.setMaximumHeight(wanted)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the height anew."""
        super().resizeEvent(event)
        self._share()
