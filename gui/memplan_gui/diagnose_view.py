"""The Diagnose view: paste an out-of-memory message or drop a log, and read what it says of the plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QMimeData, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QComboBox, QPlainTextEdit, QWidget

from memplan import (
    Diagnosis,
    MemplanError,
    Reading,
    Scenario,
    Unit,
    diagnose,
    headline,
    read_message_file,
    read_messages,
    tr,
    tr_later,
    translated,
)
from memplan_gui import dialogs
from memplan_gui.answers import mistake_words
from memplan_gui.background import Background
from memplan_gui.diagnosis_page import DiagnosisPart
from memplan_gui.document import PlanDocument
from memplan_gui.flow_row import FlowRow
from memplan_gui.pieces import column, label, scaled, shown, tool_button
from memplan_gui.presenters.answer import Answer
from memplan_gui.presenters.cells import Amounts, Cells
from memplan_gui.presenters.diagnosis import HOW, diagnosis_cells, diagnosis_page, message_titles, nothing_words
from memplan_gui.presenters.labels import picture_subtitle
from memplan_gui.presenters.levers import toggle_words
from memplan_gui.scroller import Scroller
from memplan_gui.showing import Showing
from memplan_gui.theme import Theme
from memplan_gui.views import AnswerView

PAUSE_MS = 80
"""A burst of typing is read once."""
TEXT_HEIGHT, LOW_TEXT_HEIGHT, LOW_HEIGHT = 108, 60, 480
LEAST_PAGE = 180
MOST_PASTED = 4_000_000
"""Characters that the text box takes; a longer log is read from its file."""


class MessageBox(QPlainTextEdit):
    """Where the message goes; a file that is dropped or pasted is told, not shown."""

    file_given = Signal(object)
    """The file's `Path`."""

    def __init__(self) -> None:
        super().__init__()
        self.setPlaceholderText(translated(HOW))
        self.setAccessibleName(tr("Out-of-memory message"))
        self.setAccessibleDescription(translated(HOW))
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.setFixedHeight(scaled(TEXT_HEIGHT))

    def canInsertFromMimeData(self, source: QMimeData) -> bool:  # noqa: N802  # Qt's name
        """Files as well."""
        return bool(_files(source)) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:  # noqa: N802  # Qt's name
        """Tell a file; take text as it is, so far as the box goes."""
        if files := _files(source):
            self.file_given.emit(files[0])
        else:
            self.insertPlainText(source.text()[:MOST_PASTED])


def _files(source: QMimeData) -> list[Path]:
    return [Path(url.toLocalFile()) for url in source.urls() if url.isLocalFile()]


@dataclass(frozen=True, slots=True)
class _Source:
    """What is read: a text, or a file."""

    text: str = ""
    file: Path | None = None

    def reading(self) -> Reading:
        """Read it."""
        return read_messages(self.text) if self.file is None else read_message_file(self.file)


class DiagnoseView(AnswerView):
    """A message, and what it says of the scenario that is looked at."""

    explain_wanted = Signal(str, str)
    """An instant and a term to explain."""

    def __init__(self, document: PlanDocument, theme: Theme) -> None:
        super().__init__()
        self._document = document
        self._scenario: Scenario | None = None
        self._answer = Answer(None)
        self._unit: Unit = "gib"
        self._source = _Source()
        self._read: tuple[_Source, Reading] | None = None
        self._given: tuple[object, ...] = ()
        """What the diagnosis that is shown was made of."""
        self._applied: tuple[Scenario, str] | None = None
        """The scenario that a lever was applied to last, with it, and the lever's title."""
        self._since_applied = QElapsedTimer()
        self.found: Diagnosis | None = None
        self.background = Background(self)
        self.box = MessageBox()
        self.open_button = tool_button(
            "button", tr("Open a log"), text=tr("Open a log…"), tip=tr("Read a log of any length")
        )
        self.clear_button = tool_button("button", tr("Clear the message"), text=tr("Clear"))
        self.which = QComboBox()
        self.which.setAccessibleName(tr("Which message of the text"))
        self.state = label("", "muted", wraps=True, selectable=True)
        self.part = DiagnosisPart(theme)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._arrange()
        self._wire()
        self._show(None, "")

    def _arrange(self) -> None:
        whole = column(self, spacing=8)
        whole.addWidget(self.box)
        whole.addWidget(FlowRow((self.open_button, self.clear_button, self.which)))
        whole.addWidget(self.state)
        content = QWidget()
        content.setObjectName("answer")
        column(content).addWidget(self.part)
        scroll = Scroller(content)
        scroll.setMinimumHeight(scaled(LEAST_PAGE))
        whole.addWidget(scroll, 1)
        self.keyboard = self.box

    def _wire(self) -> None:
        self.box.textChanged.connect(self._pause.start)
        self._pause.timeout.connect(lambda: self.read_text(self.box.toPlainText()))
        self.box.file_given.connect(self.read_file)
        self.open_button.clicked.connect(self._choose_file)
        self.clear_button.clicked.connect(self.clear)
        self.which.activated.connect(lambda _: self._ask())
        self.part.lever_wanted.connect(self._apply)
        self.part.explain_wanted.connect(self.explain_wanted)

    def show_answer(self, scenario: Scenario, answer: Answer, unit: Unit) -> None:
        """Hold the message against another scenario."""
        self._scenario, self._answer, self._unit = scenario, answer, unit
        self._ask()

    def read_text(self, text: str) -> None:
        """Read what was pasted."""
        if text or self._source.file is None:
            self._take(_Source(text=text))

    def read_file(self, path: Path) -> None:
        """Read a log."""
        self.box.clear()
        self._pause.stop()
        self._take(_Source(file=path))

    def clear(self) -> None:
        """Begin anew."""
        self.box.clear()
        self._pause.stop()
        self._take(_Source())
        self.box.setFocus(Qt.FocusReason.OtherFocusReason)

    def finish(self) -> None:
        """Wait for the answer."""
        if self._pause.isActive():
            self._pause.stop()
            self.read_text(self.box.toPlainText())
        self.background.finish()

    def showing(self) -> Showing | None:
        """The answers and the levers as a table; the bar of the card has no more than they say."""
        found, scenario, estimate, own = self.found, self._scenario, self._answer.estimate, self._unit
        if found is None or self._read is None or scenario is None:
            return None
        reading, against = self._read[1], scenario if estimate is not None else None

        def cells(amounts: Amounts) -> Cells:
            unit = amounts.unit or own  # sentences have a unit in any case
            again = diagnose(found.message, against, models=reading.models, unit=unit)  # in the numbers of the place
            return diagnosis_cells(diagnosis_page(again, estimate, unit))

        subtitle = picture_subtitle(scenario, estimate) if estimate is not None else ""
        return Showing(tr_later("diagnosis"), subtitle, headline(found), cells)

    def _choose_file(self) -> None:
        path = dialogs.ask_open(self, tr("Open a log"), dialogs.LOG_KINDS, "")
        if path is not None:
            self.read_file(path)

    def _take(self, source: _Source) -> None:
        if source != self._source:
            self._source = source
            self.which.setCurrentIndex(0)
            self._ask()

    def _ask(self) -> None:
        """Ask for the diagnosis, where it is not there already."""
        source, scenario, unit = self._source, self._scenario, self._unit
        if source == _Source():
            self._given = ()
            self._show(None, "")
            return
        against = scenario if self._answer.estimate is not None else None
        known = self._read[1] if self._read is not None and self._read[0] == source else None
        position = max(0, self.which.currentIndex()) if known is not None else 0
        wanted = (source, against, unit, position)
        if wanted == self._given:
            return

        def answer() -> tuple[Reading, Diagnosis | None]:
            reading = known or source.reading()
            if not reading.messages:
                return reading, None
            message = reading.messages[min(position, len(reading.messages) - 1)]
            return reading, diagnose(message, against, models=reading.models, unit=unit)

        self.background.ask(answer, lambda result: self._answered(wanted, result))

    def _answered(self, wanted: tuple[object, ...], result: object) -> None:
        self._given = wanted
        if isinstance(result, tuple):
            reading, found = result
            self._read = self._source, reading
            self._fill_choices(reading)
            self._show(found, "" if found is not None else nothing_words(reading))
        elif isinstance(result, MemplanError):
            self._show(None, str(result))
        elif isinstance(result, Exception):
            self._show(None, mistake_words(result))

    def _fill_choices(self, reading: Reading) -> None:
        titles = message_titles(reading)
        if titles != tuple(self.which.itemText(index) for index in range(self.which.count())):
            self.which.clear()
            self.which.addItems(titles)

    def _show(self, found: Diagnosis | None, words: str) -> None:
        self.found = found
        page = diagnosis_page(found, self._answer.estimate, self._unit) if found is not None else None
        is_applied = self._applied is not None and self._applied[0] == self._scenario
        self.part.show_page(page, self._applied[1] if self._applied is not None and is_applied else "")
        file = self._source.file
        read = tr("Read from {file}.").format(file=file) if file is not None else ""
        self.state.setText(" ".join(part for part in (read, words) if part))
        shown(self.state, bool(self.state.text()))
        shown(self.which, found is not None and self.which.count() > 1)
        self.clear_button.setEnabled(self._source != _Source())

    def _apply(self, lever_id: str) -> None:
        """Apply a lever, as one undoable step. Another then stands in its place: a double click applies one alone."""
        if self._since_applied.isValid() and self._since_applied.elapsed() < QApplication.doubleClickInterval():
            return
        offers = (one.offer for one in self.found.levers) if self.found is not None else ()
        offer = next((one for one in offers if one.lever.id == lever_id), None)
        if offer is not None and offer.scenario is not None:
            document = self._document
            document.end_gesture()
            document.edit(f"scenarios[{document.current}]", offer.scenario, text=toggle_words(offer))
            document.end_gesture()
            self._applied = document.scenario, translated(offer.lever.title)
            self._since_applied.start()

    def sizeHint(self) -> QSize:
        """As much as there is."""
        return QSize(600, 400)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a low window the answer gets the room."""
        self.box.setFixedHeight(scaled(TEXT_HEIGHT if self.height() > LOW_HEIGHT else LOW_TEXT_HEIGHT))
