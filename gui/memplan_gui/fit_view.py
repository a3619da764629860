"""The Fit view: on which devices the run fits, how many of each it takes, how far it can go."""

from __future__ import annotations

from contextlib import suppress

from PySide6.QtCore import QElapsedTimer, Qt, QTimer
from PySide6.QtGui import QHideEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy

from memplan import (
    Device,
    DeviceAnswer,
    DeviceFit,
    FitWalks,
    MemplanError,
    Scenario,
    Unit,
    catalog,
    device_answer,
    device_fits,
    fit_sentence,
    tr,
    tr_later,
    translated,
)
from memplan_gui.charts.chart_pictures import fit_picture
from memplan_gui.charts.fit_marks import fit_chart
from memplan_gui.computer_look import ComputerLook
from memplan_gui.document import PlanDocument
from memplan_gui.fields import ChoiceEdit, LineEdit
from memplan_gui.fit_table import FitTable
from memplan_gui.flow_row import FlowRow
from memplan_gui.icons import icon
from memplan_gui.pieces import column, label, row, scaled, tip, tool_button
from memplan_gui.presenters import fit as fits
from memplan_gui.presenters.answer import Answer
from memplan_gui.presenters.cells import Amounts, Cells
from memplan_gui.presenters.fit import FitFilter, FitRow
from memplan_gui.presenters.labels import picture_subtitle
from memplan_gui.settings import Settings
from memplan_gui.showing import Showing
from memplan_gui.theme import Theme
from memplan_gui.views import AnswerView

QUIET_MS = 120
"""Searches begin when nothing has been edited for so long."""
SLICE_MS = 4
"""How long they may go on before the window has its turn."""
DETAIL_LINES = 4
FILTER_WIDTH, LEAST_FILTER_WIDTH = 260, 110
LEAST_TABLE = 104


class _PausedError(Exception):
    """A slice of the search is over."""


class FitView(AnswerView):
    """Every device against the scenario that is looked at."""

    def __init__(self, document: PlanDocument, settings: Settings, theme: Theme) -> None:
        super().__init__()
        self._document, self._settings, self._theme = document, settings, theme
        self._scenario: Scenario | None = None
        self._told = Answer(None)
        self._unit: Unit = "gib"
        self._fits: tuple[DeviceFit, ...] = ()
        self._walks: FitWalks | None = None
        self._answers: dict[str, DeviceAnswer | None] = {}
        self._clock, self._is_first_walk = QElapsedTimer(), True
        self._search = QTimer(self)
        self._search.setSingleShot(True)
        self._search.timeout.connect(self._search_on)
        self.computer = ComputerLook(self)
        self.sentence = label("", "section", wraps=True, selectable=True)
        self.problems = label("", "advice", wraps=True, selectable=True)
        self.table = FitTable(theme)
        self.table.setMinimumHeight(scaled(LEAST_TABLE))
        self.detail_title = label("", "section")
        self.detail = label("", "caption", wraps=True, selectable=True)
        self.adopt = tool_button("button", tr("Use this device in the plan"), text=tr("Use in the plan"))
        self._build_filters()
        self._arrange()
        self._wire()

    def _build_filters(self) -> None:
        self.text = LineEdit()
        self.text.setPlaceholderText(tr("Filter devices"))
        self.text.setAccessibleName(tr("Filter devices"))
        self.text.setClearButtonEnabled(True)
        self.text.setMinimumWidth(scaled(LEAST_FILTER_WIDTH))
        self.text.setMaximumWidth(scaled(FILTER_WIDTH))
        self.text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        vendors = sorted({device.vendor for device in catalog.devices()})
        self.vendor = ChoiceEdit([(tr("Every vendor"), ""), *((name, name) for name in vendors)])
        self.vendor.setAccessibleName(tr("Vendor"))
        self.kind = ChoiceEdit(
            [(tr("Every class"), ""), *((translated(title), name) for name, title in fits.CLASSES.items())]
        )
        self.kind.setAccessibleName(tr("Class"))
        for choice in (self.vendor, self.kind):
            choice.setSizeAdjustPolicy(ChoiceEdit.SizeAdjustPolicy.AdjustToContents)
        self.favourites = tool_button("button", tr("Favourites only"), checkable=True)
        self.favourites.setToolTip(tr("Show the devices that you marked with a star"))
        self.copy = tool_button("button", tr("Copy the table"), text=tr("Copy table"))
        self.copy.setToolTip(tr("Copy the rows that are shown, with tabs between cells"))
        self.count = label("", "caption")

    def _arrange(self) -> None:
        whole = column(self, spacing=8)
        whole.addWidget(self.sentence)
        whole.addWidget(self.problems)
        filters = (self.text, self.vendor, self.kind, self.favourites, self.count)
        whole.addWidget(FlowRow(filters, (self.copy,)))
        whole.addWidget(self.table, 1)
        head = row(spacing=8)
        head.addWidget(self.detail_title, 1)
        head.addWidget(self.adopt)
        whole.addLayout(head)
        self.detail.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.detail.setMinimumHeight(DETAIL_LINES * self.detail.fontMetrics().lineSpacing())
        whole.addWidget(self.detail)
        self.keyboard = self.table

    def _wire(self) -> None:
        self.text.textChanged.connect(self._filter)
        self.vendor.edited.connect(self._filter)
        self.kind.edited.connect(self._filter)
        self.favourites.toggled.connect(self._filter)
        self.copy.clicked.connect(self.copy_wanted)
        self.adopt.clicked.connect(self._adopt)
        self.table.wanted.connect(self._take)
        self.table.marked.connect(self._mark)
        self.table.moved.connect(self._moved)
        self.computer.found.connect(self._show_again)
        self._theme.changed.connect(self._draw)
        self._draw()

    def show_answer(self, scenario: Scenario, answer: Answer, unit: Unit) -> None:
        """Hold the scenario against every device; what is searched for follows when nothing has been edited a while."""
        self.computer.start()
        if catalog.refresh_custom_devices() or scenario is not self._scenario:
            self._walks, self._answers = FitWalks(scenario, self._pause), {}
        self._scenario, self._told, self._unit = scenario, answer, unit
        try:
            own = catalog.known_computer()
            self._fits = device_fits(scenario, (own.devices if own else ()) + catalog.devices())
            self.sentence.setText(fit_sentence(self._fits, scenario.hardware, unit))
        except MemplanError:
            self._fits = ()
            self.sentence.setText(answer.problem)  # the verdict says it as well
        problems = [str(problem) for problem in catalog.custom_devices().problems]
        self.problems.setText("\n".join(problems))
        self.problems.setVisible(bool(problems))
        self._show_rows()
        self._search.start(QUIET_MS)

    def showing(self) -> Showing | None:
        """The devices that are shown, in their order."""
        scenario, estimate, rows = self._scenario, self._told.estimate, self.table.devices.rows
        if scenario is None or estimate is None or not rows:
            return None
        return Showing(
            tr_later("devices"),
            picture_subtitle(scenario, estimate),
            fit_sentence(self._fits, scenario.hardware, self._unit),
            self._cells,
            lambda look, head: fit_picture(fit_chart(rows, self._unit), look, head),
        )

    def finish(self) -> None:
        """Search at once for what would follow later."""
        while self._next() is not None:
            self._search_on()

    def _cells(self, amounts: Amounts) -> Cells:
        """The rows that are shown, searched for to the end: what leaves the window is whole."""
        walks = self._walks
        for one in tuple(self.table.devices.rows) if walks else ():
            while walks and one.device.id not in self._answers:
                self._search_one(one, walks)
        return fits.fit_cells(self.table.devices.rows, amounts)

    def _show_again(self) -> None:
        if self._scenario is not None and self.isVisible():
            self.show_answer(self._scenario, self._told, self._unit)

    def _show_rows(self) -> None:
        scenario = self._scenario
        if scenario is None:
            return
        made = fits.fit_rows(self._fits, _id_of(scenario.hardware.device), self._settings.favourites)
        known = self._answers
        rows = tuple(_answered(one, known.get(one.device.id)) for one in made)
        self.table.devices.show(rows, self._unit)
        self.table.point_at_own()
        self.setAccessibleDescription(self.sentence.text())

    def _filter(self, *_: object) -> None:
        wanted = FitFilter(
            self.text.text(), self.vendor.value() or "", self.kind.value() or "", self.favourites.isChecked()
        )
        self.table.devices.choose(wanted)

    def _moved(self) -> None:
        shown, every = len(self.table.devices.rows), len(self.table.devices.every_row)
        self.count.setText(fits.shown_words(shown, every, self._unit))
        self._show_detail()
        if not self._search.isActive() and self._next() is not None:
            self._search.start(0)

    def _show_detail(self) -> None:
        one = self._detailed()
        self.detail_title.setText(one.device.name if one else "")
        self.detail.setText(fits.detail(one, self._unit) if one else "")
        self.detail.setToolTip(tip(self.detail.text()))
        self.adopt.setEnabled(one is not None and not one.is_own)

    def _detailed(self) -> FitRow | None:
        """The row that is pointed at; otherwise that of the plan's own device."""
        own = (one for one in self.table.devices.every_row if one.is_own)
        return self.table.current or next(own, None)

    def _next(self) -> FitRow | None:
        """The row that is searched for next: first what is told in words, then what is in sight."""
        one = self._detailed()
        costly = self.table.devices.sorted_by in fits.COSTLY
        rows = self.table.devices.every_row if costly else self.table.rows_in_sight()
        wanted = [*([one] if one else []), *self.table.rows_in_sight(), *(rows if costly else ())]
        return next((one for one in wanted if one.device.id not in self._answers), None)

    def _search_on(self) -> None:
        """Search for a slice of time, and go on after the window has had its turn."""
        self._clock.start()
        while self._walks is not None and (one := self._next()) is not None:
            self._search_one(one, self._walks)
            if self._clock.elapsed() >= SLICE_MS:
                break
        if self._next() is not None:
            self._search.start(0)
        elif self.table.devices.sorted_by in fits.COSTLY:
            self.table.devices.choose(self.table.devices.wanted)  # now that all are known, they can be ordered

    def _search_one(self, one: FitRow, walks: FitWalks) -> None:
        """Search for one device, or for as much of it as the slice allows."""
        self._is_first_walk = True
        with suppress(_PausedError):
            self._answer(one, walks)

    def _answer(self, one: FitRow, walks: FitWalks) -> None:
        try:
            answer = self._answers[one.device.id] = device_answer(one.fit, walks)
        except MemplanError:
            self._answers[one.device.id] = None  # the scenario has no estimate; the sentence says why
            return
        self.table.devices.change(fits.with_answer(one, answer))
        shown = self._detailed()
        if shown is not None and shown.device is one.device:
            self._show_detail()

    def _pause(self) -> None:
        """Called before each walk: one is made in each slice, however little time there is."""
        if not self._is_first_walk and self._clock.elapsed() >= SLICE_MS:
            raise _PausedError
        self._is_first_walk = False

    def _adopt(self) -> None:
        if self.table.current is not None:
            self._take(self.table.current.device)

    def _take(self, device: Device) -> None:
        """Take a device into the plan, as one step."""
        self._document.end_gesture()
        path = self._document.full_path("hardware.device")
        self._document.edit(path, device.id, text=tr("Device {name}").format(name=device.name))
        self._document.end_gesture()

    def _mark(self, device: Device) -> None:
        marked = self._settings.favourites
        left = [one for one in marked if one != device.id]
        self._settings.favourites = left if len(left) < len(marked) else [*marked, device.id]
        self._show_rows()

    def _draw(self) -> None:
        self.favourites.setIcon(icon("star-filled", self._theme.colour("accent")))
        self.table.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """More rows may be in sight."""
        super().resizeEvent(event)
        self._moved()

    def hideEvent(self, event: QHideEvent) -> None:
        """Search for nothing that nobody sees."""
        self._search.stop()
        super().hideEvent(event)


def _id_of(name: str) -> str:
    try:
        return catalog.device(name).id
    except MemplanError:
        return name


def _answered(one: FitRow, answer: DeviceAnswer | None) -> FitRow:
    return one if answer is None else fits.with_answer(one, answer)
