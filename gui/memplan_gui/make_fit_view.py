"""The view that makes a plan fit: the least costly set of levers, the way down to it, and other ways."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QItemSelectionModel, QSize, Qt
from PySide6.QtGui import QHideEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QPushButton,
    QTabWidget,
)

from memplan import (
    PREFERENCE_TITLES,
    PREFERENCES,
    Candidate,
    Estimate,
    Fall,
    Preference,
    Preferences,
    Proposal,
    Scenario,
    Unit,
    catalog,
    proposal_sentence,
    tr,
    tr_later,
    translated,
    waterfall,
)
from memplan_gui.charts.chart_pictures import front_picture, waterfall_picture
from memplan_gui.document import PlanDocument
from memplan_gui.figure_table import FigureTable
from memplan_gui.fit_search import FitSearch
from memplan_gui.front_picture import FrontPicture
from memplan_gui.keep_row import KeepRow
from memplan_gui.pieces import column, label, row, scaled, shown, tool_button
from memplan_gui.plain_table import PlainModel
from memplan_gui.presenters.answer import Answer
from memplan_gui.presenters.cells import Amounts, Cells
from memplan_gui.presenters.labels import picture_subtitle
from memplan_gui.presenters.make_fit import (
    STEP_TITLES,
    WAY_TIPS,
    WAY_TITLES,
    front_of,
    step_cells,
    step_rows,
    waterfall_chart,
    way_cells,
    way_rows,
)
from memplan_gui.presenters.waterfall import Waterfall
from memplan_gui.scroller import Scroller
from memplan_gui.settings import Settings
from memplan_gui.showing import Showing
from memplan_gui.tab_bar import TabBar
from memplan_gui.theme import Theme
from memplan_gui.views import AnswerView
from memplan_gui.waterfall_picture import WaterfallPicture

CHART_SHARE, TABLE_SHARE = 3, 2
LEAST_TABLE = 96
MISSES = tr_later("This way does not fit either")
SEARCHING = tr_later("Searching for the least costly set of levers that fits …")


class MakeFitView(AnswerView):
    """The least costly set of levers that fits, and the others, each with its way down."""

    def __init__(self, document: PlanDocument, settings: Settings, theme: Theme) -> None:
        super().__init__()
        self._document, self._settings = document, settings
        self._scenario: Scenario | None = None
        self._estimate: Estimate | None = None
        self._asked: tuple[Scenario, Preferences] | None = None
        self._unit: Unit = "gib"
        self.proposal: Proposal | None = None
        self._falls: tuple[Fall, ...] = ()
        self.preferences = Preferences(
            frozenset(one for one in PREFERENCES if one in settings.kept(Preferences().kept))
        )
        self.search = FitSearch(self)
        self.sentence = label("", wraps=True, selectable=True)
        self.apply = QPushButton(tr("Apply"))
        self.apply.setDefault(True)
        self.let_change = QPushButton()
        self.let_change.setToolTip(tr("Search for what fits when this may change as well"))
        self.progress = label("", "caption")
        self.halt = tool_button("flat", tr("Stop searching"), text=tr("Stop"))
        self.keep = KeepRow(theme)
        self.picture = WaterfallPicture(theme)
        self.front = FrontPicture(theme)
        self.ways = PlainModel(WAY_TITLES, theme, WAY_TIPS)
        self.steps = PlainModel(STEP_TITLES, theme)
        self.way_table = FigureTable(tr("Ways from the cheapest to the one that needs least"), self.ways, theme)
        self.step_table = FigureTable(tr("The way lever by lever"), self.steps, theme)
        self._tables = QTabWidget()
        self._tables.setTabBar(TabBar())
        self._arrange()
        self._wire()

    def _arrange(self) -> None:
        self._bars = Scroller(self.picture)
        tables = self._tables
        tables.setDocumentMode(True)
        tables.setMinimumHeight(scaled(LEAST_TABLE))
        tables.setAccessibleName(tr("The ways in figures"))
        tables.tabBar().setAccessibleName(tr("The ways in figures"))
        for table, title in ((self.way_table, tr("Ways")), (self.step_table, tr("Lever by lever"))):
            tables.addTab(table, title)
            table.share_columns()
        tables.addTab(self.front, tr("Memory against time"))
        self.way_table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.way_table.setAccessibleDescription(tr("Enter sets a way that fits in the plan."))
        self.way_table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        whole = self._whole = column(self, spacing=8)
        whole.addLayout(self._head())
        whole.addWidget(self.keep)
        whole.addWidget(self._bars, CHART_SHARE)
        whole.addWidget(tables, TABLE_SHARE)
        self.keyboard = self.way_table

    def _head(self) -> QHBoxLayout:
        policy = self.halt.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # what stands below must not move when the search ends
        self.halt.setSizePolicy(policy)
        head, words, under = row(spacing=12), column(spacing=2), row(spacing=8)
        words.addWidget(self.sentence)
        under.addWidget(label(tr("Must stay as it is:"), "caption"))
        under.addStretch(1)
        under.addWidget(self.progress)
        under.addWidget(self.halt)
        under.addWidget(self.let_change)
        words.addLayout(under)
        head.addLayout(words, 1)
        head.addWidget(self.apply, 0, Qt.AlignmentFlag.AlignTop)
        return head

    def _wire(self) -> None:
        for one, toggle in self.keep.toggles.items():
            toggle.setChecked(one in self.preferences.kept)
            toggle.clicked.connect(lambda _=False, one=one: self._prefer(one))
        self.search.progressed.connect(self._tell_progress)
        self.search.found.connect(self._show_proposal)
        self.search.failed.connect(self._fail)
        self.halt.clicked.connect(self._stop)
        self.apply.clicked.connect(self._apply)
        self.let_change.clicked.connect(self._free)
        self.way_table.activated.connect(lambda _: self.apply.click())  # which does nothing where it is not offered
        self.front.chosen.connect(lambda at: self.way_table.selectRow(at))
        self.way_table.selectionModel().currentRowChanged.connect(lambda *_: self._show_way())
        self._show_state()

    def _tell_progress(self, done: float) -> None:
        self.progress.setText(tr("Searching, {share}").format(share=f"{done:.0%}"))

    def show_answer(self, scenario: Scenario, answer: Answer, unit: Unit) -> None:
        """Search for what makes this scenario fit, unless that is known."""
        changed, self._unit = unit != self._unit, unit
        self._scenario, self._estimate = scenario, answer.estimate
        if answer.estimate is None and answer.problem:
            self._asked = None
            self._fail(answer.problem)
        elif self._asked != (scenario, self.preferences) or not (self.proposal or self.search.is_running):
            self._begin()
        elif changed and self.proposal is not None:
            self._show_proposal(self.proposal)

    def finish(self) -> None:
        """Search to the end at once."""
        self.search.finish()
        self._whole.activate()
        self._share()
        self._whole.activate()

    def showing(self) -> Showing | None:
        """The way down, or the ways against time where their tab is in front; with the table of that tab."""
        proposal, way = self.proposal, self.way
        if proposal is None or way is None or self._scenario is None or self._estimate is None:
            return None
        falls, at, tab = self._falls, self.way_table.currentIndex().row(), self._tables.currentWidget()
        subtitle = picture_subtitle(self._scenario, self._estimate)

        def cells(amounts: Amounts) -> Cells:
            return step_cells(falls, amounts) if tab is self.step_table else way_cells(proposal, amounts)

        if tab is self.front:
            front = front_of(proposal, self._unit)
            picture = partial(front_picture, front, at)
            return Showing(tr_later("memory against time"), subtitle, front.sentence, cells, picture)
        chart = self._way_down(falls, way)
        return Showing(tr_later("make it fit"), subtitle, chart.sentence, cells, partial(waterfall_picture, chart))

    @property
    def way(self) -> Candidate | None:
        """The way that is looked at."""
        at = self.way_table.currentIndex().row()
        return self.proposal.front[at] if self.proposal is not None and 0 <= at < len(self.proposal.front) else None

    def _begin(self) -> None:
        if self._scenario is None:
            return
        self._asked = self._scenario, self.preferences
        self.proposal = None
        self.search.start(self._scenario, self.preferences)
        self.sentence.setText(translated(SEARCHING))
        self._offer(None)
        self._show_state()

    def _prefer(self, preference: Preference) -> None:
        self.preferences = self.preferences.toggled(preference)
        self._settings.set_kept(self.preferences.kept)
        self._begin()

    def _free(self) -> None:
        """Keep no longer what would help most."""
        if self.proposal is not None and self.proposal.freed is not None:
            self.keep.toggles[self.proposal.freed.preference].click()

    def _stop(self) -> None:
        self.search.stop()
        self._fail(tr("The search was stopped. Change what must stay, or anything in the plan, to search again."))

    def _fail(self, words: str) -> None:
        self.search.stop()
        self.proposal = None
        self.ways.show(None)
        self._show_way()
        self.sentence.setText(words)
        self._show_state()

    def _show_proposal(self, proposal: Proposal) -> None:
        self.proposal = proposal
        self.sentence.setText(proposal_sentence(proposal, self._unit))
        self.setAccessibleDescription(self.sentence.text())
        unit = self._unit
        self.ways.show(lambda: way_rows(proposal, unit))
        at = proposal.front.index(proposal.best) if proposal.best in proposal.front else len(proposal.front) - 1
        flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self.way_table.selectionModel().setCurrentIndex(self.ways.index(at, 0), flags)
        self.way_table.scrollTo(self.ways.index(at, 0))
        self._show_way()
        self._show_state()

    def _show_way(self) -> None:
        """Show the way that is pointed at, lever by lever."""
        way, ways = self.way, self.proposal
        self.front.show_front(front_of(ways, self._unit) if ways else None, self.way_table.currentIndex().row())
        if way is None or self._scenario is None:
            self.picture.show_chart(None)
            self.steps.show(None)
            self._offer(None)
            self._share()
            return
        falls = self._falls = waterfall(self._scenario, way)
        self.picture.show_chart(self._way_down(falls, way))
        unit = self._unit
        self.steps.show(lambda: step_rows(falls, unit))
        self._offer(way)
        self._share()

    def _way_down(self, falls: tuple[Fall, ...], way: Candidate) -> Waterfall:
        device = catalog.device(way.scenario.hardware.device).name
        return waterfall_chart(falls, way.usable_bytes, device, self._unit)

    def _offer(self, way: Candidate | None) -> None:
        """Offer a way only where it makes the run fit."""
        misses = way is not None and bool(way.uses) and not way.fits
        self.apply.setEnabled(way is not None and bool(way.uses) and way.fits)
        self.apply.setToolTip(
            translated(MISSES) if misses else tr("Set this in the plan, as one step that can be undone")
        )

    def _show_state(self) -> None:
        running = self.search.is_running
        shown(self.halt, running)
        freed = self.proposal.freed if self.proposal is not None else None
        shown(self.let_change, freed is not None)
        title = translated(PREFERENCE_TITLES[freed.preference]).lower() if freed else ""
        self.let_change.setText(tr("Let the {what} change").format(what=title) if freed else "")
        self.progress.setText(tr("Searching") if running else "")

    def _apply(self) -> None:
        """Set what the way says, as one step."""
        if self.way is not None and self.way.uses:
            self._document.end_gesture()
            self._document.edit(f"scenarios[{self._document.current}]", self.way.scenario, text=tr("Make it fit"))
            self._document.end_gesture()

    def _share(self) -> None:
        wanted = self.picture.height_in(self._bars.viewport().width())
        self._bars.setMaximumHeight(wanted)

    def sizeHint(self) -> QSize:
        """As much as there is."""
        return QSize(600, 400)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the height anew."""
        super().resizeEvent(event)
        self._share()

    def hideEvent(self, event: QHideEvent) -> None:
        """Search for nothing that nobody sees; it begins anew when the view comes back."""
        if self.search.is_running:
            self.search.stop()
            self._asked = None
            self._show_state()
        super().hideEvent(event)
