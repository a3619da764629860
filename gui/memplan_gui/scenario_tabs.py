"""Scenarios in tabs: each with the sign of its verdict; they can be moved, renamed, closed and added to."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QSizePolicy, QTabBar, QWidget

from memplan import tr, verdict_tone
from memplan_gui.answers import Answers
from memplan_gui.document import PlanDocument
from memplan_gui.icons import icon
from memplan_gui.pieces import MOST_WIDER, row, scaled, tip, tool_button
from memplan_gui.presenters.labels import tab_text
from memplan_gui.presenters.verdict import ICONS
from memplan_gui.scenario_edits import move_scenario, remove_scenario
from memplan_gui.tab_bar import TabBar
from memplan_gui.theme import Theme

CROSS = 20
"""What closes a tab, with the room around its sign."""


class RenamingTabBar(TabBar):
    """A double click wants another name."""

    rename_wanted = Signal(int)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Ask for another name."""
        position = self.tabAt(event.position().toPoint())
        if position >= 0:
            self.rename_wanted.emit(position)


class ScenarioTabs(QWidget):
    """One tab for each scenario, and a button that adds one."""

    rename_wanted = Signal(int)
    add_wanted = Signal()

    def __init__(self, document: PlanDocument, answers: Answers, theme: Theme) -> None:
        super().__init__()
        self._document, self._answers, self._theme = document, answers, theme
        self.bar = RenamingTabBar()
        self.bar.setMovable(True)
        self.bar.setExpanding(False)
        self.bar.setUsesScrollButtons(True)
        self.bar.setElideMode(Qt.TextElideMode.ElideMiddle)
        self.bar.setDrawBase(False)
        self.bar.setAccessibleName(tr("Scenarios"))
        self.bar.setIconSize(QSize(scaled(14), scaled(14)))
        self.bar.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._add = tool_button("flat", tr("Duplicate scenario"), tip=tr("Add a scenario: a copy of this one (Ctrl+D)"))
        self._add.clicked.connect(self.add_wanted)
        line = row(self, spacing=4)
        line.addWidget(self.bar)
        line.addWidget(self._add)
        line.addStretch(1)
        self._listen()
        self.show_scenarios()

    def _listen(self) -> None:
        self.bar.currentChanged.connect(self._document.show_scenario)
        self.bar.tabCloseRequested.connect(lambda position: remove_scenario(self._document, position))
        self.bar.tabMoved.connect(self._moved)
        self.bar.rename_wanted.connect(self.rename_wanted)
        self._document.changed.connect(self._changed)
        self._document.current_changed.connect(self.show_scenarios)
        self._document.replaced_whole.connect(self.show_scenarios)
        self._answers.answered.connect(self._show_verdicts)
        self._answers.others_answered.connect(self._show_verdicts)
        self._theme.changed.connect(self._restyle)

    def show_scenarios(self, *_: object) -> None:
        """Show the scenarios' names, and which one is looked at."""
        bar, scenarios = self.bar, self._document.plan.scenarios
        bar.blockSignals(True)  # what the document says must not come back as an edit
        while bar.count() > len(scenarios):
            bar.removeTab(bar.count() - 1)
        while bar.count() < len(scenarios):
            bar.addTab("")
        bar.setTabsClosable(len(scenarios) > 1)
        for position, scenario in enumerate(scenarios):
            if (cross := bar.tabButton(position, QTabBar.ButtonPosition.RightSide)) is not None:
                cross.setFixedSize(
                    scaled(CROSS, MOST_WIDER), scaled(CROSS, MOST_WIDER)
                )  # Qt's own does not grow with the text
            bar.setTabText(position, tab_text(scenario.name).replace("&", "&&"))
            bar.setTabToolTip(position, tip(scenario.name))
        bar.setCurrentIndex(self._document.current)
        bar.blockSignals(False)
        self._show_verdicts()
        self._restyle()

    def _changed(self, paths: frozenset[str]) -> None:
        if any(path == "scenarios" or path.endswith("].name") for path in paths):
            self.show_scenarios()

    def _moved(self, start: int, end: int) -> None:
        move_scenario(self._document, start, end)

    def _show_verdicts(self, *_: object) -> None:
        for position in range(min(self.bar.count(), len(self._document.plan.scenarios))):
            answer = self._answers.answer_for(position)
            estimate = answer.estimate if answer else None
            role = verdict_tone(estimate) if estimate else "muted"
            name = ICONS[verdict_tone(estimate)] if estimate else "verdict-unknown"
            key = (name, self._theme.colour(role).name())
            if self.bar.tabData(position) != key:
                self.bar.setTabData(position, key)
                self.bar.setTabIcon(position, icon(name, self._theme.colour(role)))

    def _restyle(self) -> None:
        self._add.setIcon(icon("plus", self._theme.colour("muted")))
        self._show_verdicts()
        for position in range(self.bar.count()):
            button = self.bar.tabButton(position, QTabBar.ButtonPosition.RightSide)
            if button is not None:
                button.setAccessibleName(tr("Remove scenario"))
                button.setToolTip(tr("Remove this scenario"))
