"""What files were understood to say, shown before it is taken; what they leave open is asked here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtWidgets import (
    QCompleter,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from memplan import (
    NOTE_TITLES,
    Imported,
    ImportNote,
    MemplanError,
    Scenario,
    catalog,
    facts_at,
    import_files,
    model_answer,
    parse_count,
    tr,
    tr_later,
    translated,
)
from memplan_gui.pieces import column, label, scaled, shown, tip, window_size
from memplan_gui.presenters.exchange import note_words

SIZE = QSize(920, 640)
PADDING = 20
LINE_GAP = 8
WIDEST_SOURCE = 280
ABOVE_GROUP = 10


class WrappingDelegate(QStyledItemDelegate):
    """Makes a row as high as its words need at the column's width."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """As high as the words are once they are broken into lines."""
        hint, tree = super().sizeHint(option, index), self.parent()
        if isinstance(tree, QTreeWidget) and index.parent().isValid():
            width = max(60, tree.columnWidth(index.column()) - PADDING)
            room = QRect(0, 0, width, 10_000)
            needed = option.fontMetrics.boundingRect(room, Qt.TextFlag.TextWordWrap, str(index.data() or ""))
            hint.setHeight(max(hint.height(), needed.height() + LINE_GAP))
        elif index.row():
            hint.setHeight(hint.height() + ABOVE_GROUP)
        return hint


class ImportDialog(QDialog):
    """Shows an import and takes the person's answers; `wish` says what becomes of it."""

    def __init__(
        self, parent: QWidget | None, paths: Sequence[Path], imported: Imported, *, begins: bool = False
    ) -> None:
        """Show what was read.

        Args:
            parent: the window.
            paths: the files.
            imported: what they were understood to say.
            begins: whether a new plan is what a person most likely wants.
        """
        super().__init__(parent)
        self.wish: Literal["scenario", "plan", "cancel"] = "cancel"
        self.imported = imported
        self._paths = paths
        self._fields: dict[str, QLineEdit] = {}
        self.setWindowTitle(tr("Import"))
        self.resize(window_size(SIZE))
        layout = column(self, spacing=12, margins=(16, 16, 16, 16))
        files = "\n".join(f"{Path(file).name}: {title}" for file, title in imported.files)
        layout.addWidget(label(files, "section", wraps=True))
        self._form = QFormLayout()
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        layout.addLayout(self._form)
        self._problem = label("", "error", wraps=True)
        layout.addWidget(self._problem)
        self._tree = _tree()
        layout.addWidget(self._tree, 1)
        self._buttons = QDialogButtonBox()
        self._take = self._button(tr("Add as scenario"), "scenario")
        self._begin = self._button(tr("New plan"), "plan")
        self._usual = self._begin if begins else self._take
        self._buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self._buttons.rejected.connect(self.reject)
        self._usual.setDefault(True)
        layout.addWidget(self._buttons)
        for question in imported.questions:
            self._ask(question)
        self._show(imported, "")
        first = next(iter(self._fields.values()), None)
        (first or self._usual).setFocus()

    def _button(self, text: str, wish: Literal["scenario", "plan"]) -> QPushButton:
        button = self._buttons.addButton(text, QDialogButtonBox.ButtonRole.AcceptRole)
        button.clicked.connect(lambda: self._end(wish))
        return button

    def _end(self, wish: Literal["scenario", "plan"]) -> None:
        self.wish = wish
        self.accept()

    def _ask(self, question: ImportNote) -> None:
        field = QLineEdit()
        field.setAccessibleName(translated(question.title))
        field.setAccessibleDescription(question.words)
        example = _EXAMPLES.get(question.path, "8k")
        field.setPlaceholderText(tr("for example {value}").format(value=translated(example)))
        names = _names(question.path)
        if names:
            completer = QCompleter(names, field)
            completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
            completer.setFilterMode(Qt.MatchFlag.MatchContains)
            field.setCompleter(completer)
        field.textChanged.connect(self._answered)
        self._fields[question.path] = field
        self._form.addRow(label(question.words, wraps=True))
        self._form.addRow(label(translated(question.title)), field)

    def _answered(self) -> None:
        """Read the files again with what is answered so far; what cannot be taken is told, and nothing is lost."""
        try:
            answers = {
                path: _answer(path, field.text()) for path, field in self._fields.items() if field.text().strip()
            }
            self._show(import_files(self._paths, answers), "")
        except (MemplanError, ValueError) as problem:
            self._show(None, str(problem))

    def _show(self, imported: Imported | None, problem: str) -> None:
        if imported is not None:
            self.imported = imported
            _fill(self._tree, imported)
        complete = imported is not None and imported.scenario is not None
        self._take.setEnabled(complete)
        self._usual.setDefault(complete)
        self._begin.setEnabled(complete)
        self._problem.setText(problem)
        shown(self._problem, bool(problem))


_EXAMPLES = {
    "model": tr_later("meta-llama/Llama-3.1-8B, 7B, or a config.json"),
    "hardware.device": "A100 SXM4 80 GB",
    "hardware.devices": "8",
    "training.micro_batch": "1",
}


def _names(path: str) -> list[str]:
    if path == "model":
        return [one.id for one in catalog.models()]
    return [one.name for one in catalog.devices()] if path == "hardware.device" else []


def _answer(path: str, text: str) -> Any:
    if path == "model":
        return model_answer(text.strip(), "Model")
    if path == "hardware.device":
        return _device_id(text.strip())
    return parse_count(text, facts_at(Scenario, path).unit)


def _device_id(text: str) -> str:
    """The id of a device that is named as lists name it, or by its id."""
    named = (one.id for one in catalog.devices() if one.name.casefold() == text.casefold())
    return next(named, None) or catalog.device(text).id


def _tree() -> QTreeWidget:
    tree = QTreeWidget()
    tree.setObjectName("understood")
    tree.setAccessibleName(tr("What was understood"))
    tree.setHeaderLabels(["", tr("Value, or why"), tr("Where")])
    tree.setRootIsDecorated(False)
    tree.setItemDelegate(WrappingDelegate(tree))
    tree.setWordWrap(True)
    tree.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    tree.setSelectionMode(QTreeWidget.SelectionMode.NoSelection)
    header = tree.header()
    header.setStretchLastSection(False)
    header.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
    header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
    header.setSectionResizeMode(2, QHeaderView.ResizeMode.Fixed)
    tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    header.sectionResized.connect(lambda: tree.scheduleDelayedItemsLayout())  # lines break anew at another width
    return tree


def _fill(tree: QTreeWidget, imported: Imported) -> None:
    tree.clear()
    own = f" in {Path(imported.files[0][0]).name}" if len(imported.files) == 1 else ""  # of one file the key says where
    for kind, title in NOTE_TITLES.items():
        notes = [note for note in imported.notes if note.kind == kind]
        if kind == "asked" or not notes:
            continue
        group = QTreeWidgetItem(tree, [translated(title)])
        font = group.font(0)
        font.setBold(True)
        group.setFont(0, font)
        group.setFirstColumnSpanned(True)
        group.setTextAlignment(0, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)
        for note in notes:
            words = note_words(note)
            where = note.source.removesuffix(own)
            item = QTreeWidgetItem(group, [translated(note.title), words, where])
            item.setToolTip(1, tip(words))
            item.setToolTip(2, tip(note.source))
        group.setExpanded(True)
    tree.header().resizeSection(2, min(tree.sizeHintForColumn(2) + PADDING, scaled(WIDEST_SOURCE)))
