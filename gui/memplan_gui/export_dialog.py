"""A scenario as a trainer's configuration: what it will say and what it cannot, seen before it is saved."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QHeaderView,
    QPlainTextEdit,
    QWidget,
)

from memplan import EXPORT_FORMATS, Exported, MemplanError, Scenario, export_scenario, tr, translated
from memplan_gui.fields import ChoiceEdit
from memplan_gui.figure_table import FigureTable
from memplan_gui.keyboard_splitter import KeyboardSplitter
from memplan_gui.name_choice import NameChoice
from memplan_gui.pieces import column, fixed_font, label, row, scaled, shown, window_size
from memplan_gui.plain_table import PlainModel
from memplan_gui.presenters.exchange import NOT_SAID_TITLES, about_words, unsaid_rows, unsaid_sentence
from memplan_gui.presenters.make_fit import FigureRows
from memplan_gui.theme import Theme

SIZE = QSize(1000, 660)
TEXT_SHARE, LIST_SHARE = 3, 2
FIELD_WIDTH = 170
LEAST_LIST = 330


class ExportDialog(QDialog):
    """Shows the file as it will be written; `is_wanted` says whether it is to be saved."""

    def __init__(
        self, parent: QWidget | None, scenarios: Sequence[Scenario], current: int, format_id: str, theme: Theme
    ) -> None:
        super().__init__(parent)
        self._scenarios, self._theme = scenarios, theme
        self.found: Exported | None = None
        self.is_wanted = False
        self.setWindowTitle(tr("Export configuration"))
        self.resize(window_size(SIZE))
        self.scenario = NameChoice([(one.name or tr("unnamed"), str(at)) for at, one in enumerate(scenarios)])
        self.format = ChoiceEdit([(translated(form.title), key) for key, form in EXPORT_FORMATS.items()])
        self.scenario.set_value(str(current))
        self.format.set_value(format_id)
        self.about = label("", "caption", wraps=True)
        self.problem = label("", "error", wraps=True)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setFont(fixed_font())
        self.text.setAccessibleName(tr("The file"))
        self.unsaid_title = label("", "section", wraps=True)
        self.unsaid = PlainModel(NOT_SAID_TITLES, theme)
        self.table = FigureTable(tr("What the format cannot say"), self.unsaid, theme)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.table.setColumnWidth(0, scaled(FIELD_WIDTH))
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.save = self.buttons.addButton(tr("Save…"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.copy = self.buttons.addButton(tr("Copy"), QDialogButtonBox.ButtonRole.ActionRole)
        self._arrange()
        self._wire()
        self._show()

    @property
    def chosen(self) -> tuple[Scenario, str]:
        """The scenario and the format that are chosen."""
        return self._scenarios[int(self.scenario.value())], str(self.format.value())

    def _arrange(self) -> None:
        about = tr("Line between the file and what it cannot say")
        halves = KeyboardSplitter(Qt.Orientation.Horizontal, about, self._theme)
        right = QWidget()
        words = column(right, spacing=8, margins=(8, 0, 0, 0))
        words.addWidget(self.unsaid_title)
        words.addWidget(self.table, 1000)
        words.addStretch(1)
        right.setMinimumWidth(scaled(LEAST_LIST))
        halves.addWidget(self.text)
        halves.addWidget(right)
        halves.setStretchFactor(0, TEXT_SHARE)
        halves.setStretchFactor(1, LIST_SHARE)
        QWidget.setTabOrder(self.text, halves.handle(1))
        whole = column(self, spacing=12, margins=(16, 16, 16, 16))
        whole.addLayout(self._head())
        whole.addWidget(self.about)
        whole.addWidget(self.problem)
        whole.addWidget(halves, 1)
        whole.addWidget(self.buttons)

    def _head(self) -> QHBoxLayout:
        head = row(spacing=8)
        for field, name, title in (
            (self.format, tr("Format"), tr("&Format")),
            (self.scenario, tr("Scenario"), tr("&Scenario")),
        ):
            words = label(title)
            words.setBuddy(field)
            field.setAccessibleName(name)
            field.setMinimumContentsLength(20)
            head.addWidget(words)
            head.addWidget(field)
            head.addSpacing(8)
        head.addStretch(1)
        return head

    def _wire(self) -> None:
        for field in (self.scenario, self.format):
            field.edited.connect(lambda _: self._show())
        self.save.clicked.connect(self._take)
        self.copy.clicked.connect(self._copy)
        self.buttons.rejected.connect(self.reject)
        self.save.setDefault(True)
        self.format.setFocus()

    def _show(self) -> None:
        scenario, format_id = self.chosen
        problem, self.found = "", None
        try:
            self.found = export_scenario(scenario, format_id)
        except MemplanError as refusal:
            problem = str(refusal)
        found, about = self.found, about_words(format_id)
        self.about.setText(about)
        shown(self.about, bool(about))
        self.problem.setText(problem)
        shown(self.problem, bool(problem))
        self.text.setPlainText(found.text if found else "")
        self.unsaid_title.setText(unsaid_sentence(found, format_id) if found else "")
        self.unsaid.show((lambda: FigureRows(unsaid_rows(scenario, found), frozenset())) if found else None)
        shown(self.table, bool(found and found.unsaid))
        self.setAccessibleDescription(problem or self.unsaid_title.text())
        for button in (self.save, self.copy):
            button.setEnabled(found is not None)

    def _copy(self) -> None:
        if self.found is not None:
            QGuiApplication.clipboard().setText(self.found.text)
            self.copy.setText(tr("Copied"))

    def _take(self) -> None:
        self.is_wanted = True
        self.accept()
