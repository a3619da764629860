"""The right side of the window: scenarios, verdict, chart, levers and the views under them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QMenu, QToolButton, QVBoxLayout, QWidget

from memplan import UNIT_NAMES, LeverOffer, Scenario, Unit, tr
from memplan_gui import view_makers
from memplan_gui.answers import Answers
from memplan_gui.chart_panel import ChartPanel
from memplan_gui.charts.stack_marks import Spot
from memplan_gui.details import Details
from memplan_gui.document import PlanDocument
from memplan_gui.lever_menu import list_levers
from memplan_gui.lever_strip import LeverStrip
from memplan_gui.notice_bar import NoticeBar
from memplan_gui.pieces import column, hairline, label, row, scaled, shown, tool_button
from memplan_gui.presenters.answer import Answer
from memplan_gui.presenters.levers import lever_cards, serving_ids, useful_ids
from memplan_gui.presenters.verdict import VerdictView, verdict_view
from memplan_gui.said import Said
from memplan_gui.scenario_tabs import ScenarioTabs
from memplan_gui.scroller import Scroller
from memplan_gui.segmented import Segmented
from memplan_gui.settings import Settings
from memplan_gui.shared_splitter import SharedSplitter
from memplan_gui.showing import Showing
from memplan_gui.theme import Theme
from memplan_gui.verdict_bar import VerdictBar
from memplan_gui.views import MARGIN, AnswerView, Views

GAP = 12
HEAD_HEIGHT = 40
ROOMY, CLOSE = 860, 640
"""Widths below which what stands beside the verdict and the views' tabs makes room for them; the menus have it too."""
UNITS = (("GiB", "gib"), ("GB", "gb"))


class AnswerPanel(QWidget):
    """Everything that answers."""

    spot_changed = Signal(object)
    """The `Spot` that is explained now."""

    def __init__(self, document: PlanDocument, answers: Answers, settings: Settings, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("answer")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._document, self._theme = document, theme
        self._answer = Answer(None)
        self._scenario: Scenario | None = None
        self._offers: tuple[LeverOffer, ...] = ()
        self._offers_problem = ""
        self._unit: Unit = "gib"
        self._spot: Spot | None = None
        self._has_levers = False
        self._lever_kinds: list[QMenu] = []
        self.tabs = ScenarioTabs(document, answers, theme)
        self.unit_switch = Segmented(tr("Unit"), UNITS)
        self.unit_switch.set_tool_tips({"gib": tr("1 GiB is 2³⁰ bytes."), "gb": tr("1 GB is 10⁹ bytes.")})
        tip = tr("Write what is in front as PNG, SVG, PDF, CSV or Markdown (Ctrl+E)")
        self.export_button = tool_button("button", tr("Export chart"), text=tr("Export chart…"), tip=tip)
        self.fit_button = tool_button("button", tr("Make it fit"), text=tr("Make it fit"))
        self.fit_button.setToolTip(tr("Search for the least costly set of levers that fits (Ctrl+M)"))
        self._said = Said(self, QPoint(MARGIN, GAP))
        self.notice = NoticeBar(theme)
        self.file_notice = NoticeBar(theme)
        self.verdict = VerdictBar(theme)
        self.chart = ChartPanel(theme)
        self.levers = LeverStrip(theme)
        self._levers_title = label("", "section", wraps=True)
        self._more_levers = tool_button("flat", tr("More levers"), text=tr("More levers ▾"))
        self._more_levers.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._more_levers.setMenu(QMenu(self._more_levers))
        self._more_levers.menu().setToolTipsVisible(True)
        self._more_levers.menu().aboutToShow.connect(self._list_levers)
        self.details = Details(theme)
        self.splitter = self._memory()
        self.views = Views("Memory", self.splitter)
        self.views.add_view("Timeline", lambda: view_makers.timeline_view(theme))
        self.views.add_view("Fit", lambda: view_makers.fit_view(document, settings, theme))
        self.views.add_view("Make it fit", lambda: view_makers.make_fit_view(document, settings, theme))
        self.views.add_view("Map", lambda: view_makers.map_view(document, theme))
        self.views.add_view("Compare", lambda: view_makers.compare_view(document, answers, theme))
        self.views.add_view("Diagnose", self._diagnose_view)
        self.views.add_view("Evidence", lambda: view_makers.evidence_view(theme))
        self._tabs_width = 0
        self._arrange()
        self.views.currentChanged.connect(lambda index: answers.want_offers(index == 0))
        self.fit_button.clicked.connect(lambda: self.views.show_view("Make it fit"))
        self.verdict.basis_wanted.connect(lambda: self.views.show_view("Evidence"))
        self.chart.pinned.connect(self.explain)
        self.chart.step_chosen.connect(self._show_details)
        self.details.breakdown.wanted.connect(self.explain)

    def _diagnose_view(self) -> AnswerView:
        """The doctor, which few people need on most days."""
        from memplan_gui.diagnose_view import DiagnoseView

        view = DiagnoseView(self._document, self._theme)
        view.explain_wanted.connect(self._explain_at)
        return view

    def _explain_at(self, instant: str, term: str) -> None:
        """Show how a term comes about at an instant."""
        chart = self.chart.chart
        row = next((row for row, bar in enumerate(chart.bars) if bar.instant == instant), None) if chart else None
        if row is not None:
            self.views.setCurrentIndex(0)
            self.explain(Spot(row, term))

    def _memory(self) -> SharedSplitter:
        """The first view: chart and levers, and under them the chart in figures and words."""
        upper = QWidget()
        upper.setObjectName("answer")
        parts = column(upper, spacing=GAP, margins=(MARGIN, GAP, MARGIN, GAP))
        parts.addWidget(self.chart, 1)
        parts.addLayout(self._titled_levers())
        lower = QWidget()
        foot = column(lower, margins=(MARGIN, 0, MARGIN, 8))
        foot.addWidget(self.details)
        return SharedSplitter(upper, lower, self._theme)

    def _arrange(self) -> None:
        band = QWidget()
        band.setFixedHeight(scaled(HEAD_HEIGHT, 1.4))
        head = row(band, spacing=8, margins=(MARGIN - 12, 0, MARGIN, 0))
        head.addWidget(self.tabs, 1, Qt.AlignmentFlag.AlignBottom)
        verdict = row(spacing=12)
        verdict.addWidget(self.verdict, 1)
        verdict.addWidget(self.fit_button, 0, Qt.AlignmentFlag.AlignTop)
        corner = QWidget()
        beside_views = row(corner, spacing=8, margins=(0, 0, MARGIN, 2))
        beside_views.addWidget(self.unit_switch)
        beside_views.addWidget(self.export_button)
        self.views.setCornerWidget(corner)
        top = column(spacing=GAP, margins=(MARGIN, GAP, MARGIN, 4))
        for bar in (self.file_notice, self.notice):
            bar.going.connect(self._take_keyboard)
            top.addWidget(bar)
        top.addLayout(verdict)
        body = QWidget()
        answered = column(body)
        answered.addLayout(top)
        answered.addWidget(self.views, 1)
        whole = column(self)
        whole.addWidget(band)
        whole.addWidget(hairline())
        whole.addWidget(Scroller(body), 1)

    def _titled_levers(self) -> QVBoxLayout:
        parts, head = column(spacing=6), row(spacing=8)
        head.addWidget(self._levers_title, 1)
        head.addWidget(self._more_levers)
        parts.addLayout(head)
        parts.addWidget(self.levers)
        return parts

    def _list_levers(self) -> None:
        list_levers(self._more_levers.menu(), self._lever_kinds, self.levers.others, self.levers.toggled.emit)

    def _take_keyboard(self) -> None:
        """Give the keyboard to what is looked at."""
        view = self.views.current_view
        (view if view is not None else self.chart).take_keyboard()

    @property
    def verdict_words(self) -> VerdictView | None:
        """The verdict that is shown; None where there is no estimate."""
        return verdict_view(self._answer.estimate, self._unit) if self._answer.estimate else None

    def showing(self) -> Showing | None:
        """What the view in front has to be copied and exported; None where it has nothing."""
        if self.views.currentIndex() == 0:
            return self.chart.showing()
        view = self.views.current_view
        return view.showing() if view else None

    def set_outgoing(self, actions: Sequence[QAction], show_all: QAction) -> None:
        """Put what copies and exports into the menus of the right button."""
        self.views.set_outgoing(actions)
        self.chart.addActions([*actions, show_all])

    @property
    def spot(self) -> Spot | None:
        """What is explained."""
        return self._spot

    def show_answer(self, scenario: Scenario, answer: Answer) -> None:
        """Show the answer to a scenario."""
        self._scenario, self._answer = scenario, answer
        view = self.verdict_words
        if view is not None:
            self.verdict.show_verdict(view)
        else:
            self.verdict.show_problem(answer.problem)
            self.show_offers(())  # the cards of what stood here before are no answer
        self._make_room()
        self.chart.show_answer(scenario, answer, self._unit)
        self._show_details()
        self.views.show_answer(scenario, answer, self._unit)

    def show_offers(self, offers: tuple[LeverOffer, ...], problem: str = "") -> None:
        """Show what each lever would do, or why that is not known."""
        self._offers, self._offers_problem = offers, problem
        estimate = self._answer.estimate
        shown(self._levers_title, estimate is not None)
        title = tr("Levers: what each changes of the need now, in {unit}").format(unit=UNIT_NAMES[self._unit])
        self._levers_title.setText(tr("Levers: {problem}").format(problem=problem) if problem else title)
        cards = lever_cards(offers, estimate.verdict, self._unit) if estimate else ()
        useful = useful_ids(offers, self.levers.kept, self._scenario)
        serving = serving_ids(offers, self._scenario)
        left = (card for card in cards if card.id in serving and card.id not in useful)
        others = tuple(sorted(left, key=lambda card: not card.applies))
        self.levers.show_cards(tuple(card for card in cards if card.id in useful), others)
        shown(self._more_levers, bool(others))
        for before, after in pairwise((self._more_levers, *self.levers.buttons, self.splitter.handle(1))):
            QWidget.setTabOrder(before, after)  # cards are made late, and would come last
        if cards and not self._has_levers:
            self._has_levers = True
            self.splitter.share_soon()  # what the upper part needs is known now; from here on edits move nothing

    def set_unit(self, unit: Unit) -> None:
        """Show amounts in another unit."""
        self._unit = unit
        self.unit_switch.set_value(unit)
        if self._scenario is not None:
            self.show_answer(self._scenario, self._answer)
        self.show_offers(self._offers, self._offers_problem)

    @property
    def said(self) -> str:
        """What was said last, while it stands there."""
        return self._said.text()

    def say(self, text: str) -> None:
        """Say that something was done, for a while."""
        self._said.say(text)

    def explain(self, spot: Spot | None) -> None:
        """Show how a segment comes about."""
        if spot == self._spot:
            if spot is not None:
                self.details.setCurrentWidget(self.details.explanation)
            return
        self._spot = spot
        self.chart.pin(spot)
        self._show_details()
        if spot is not None:
            self.details.setCurrentWidget(self.details.explanation)
        self.spot_changed.emit(spot)

    def _show_details(self) -> None:
        chart = self.chart.chart
        self.details.breakdown.show_chart(chart)
        self.details.explanation.show_explanation(self._answer.estimate, chart, self._spot)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """What is said stays in its corner."""
        super().resizeEvent(event)
        self._tabs_width = self.views.tabBar().sizeHint().width() + 2 * MARGIN
        self._make_room()
        self._said.place()

    def _make_room(self) -> None:
        """Show what there is room for, and the way out where there is something to get out of."""
        room, found = self.width(), self._answer.estimate
        beside = room - self._tabs_width
        switch, button = (widget.sizeHint().width() + GAP for widget in (self.unit_switch, self.export_button))
        shown(self.unit_switch, room >= scaled(ROOMY) and beside >= switch + button)
        shown(self.export_button, room >= scaled(CLOSE) and beside >= button)
        shown(self.fit_button, room >= scaled(CLOSE) and found is not None and found.verdict != "fits")
