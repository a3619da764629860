"""The plan panel: what is trained, how, on what. Every edit goes through the document; every answer comes from it."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from memplan import Estimate, Scenario, Unit, facts_at, tr, translated, usable_words
from memplan_gui.advice_foot import AdviceFoot
from memplan_gui.binding import Binding
from memplan_gui.catalog_hits import (
    NO_DEVICE,
    NO_MODEL,
    device_hits,
    device_problem,
    device_title,
    model_hits,
    model_title,
)
from memplan_gui.devices_edit import DevicesEdit
from memplan_gui.document import PlanDocument
from memplan_gui.field_help import FieldHelp
from memplan_gui.fields import BytesEdit, ParsedEdit, TextEdit
from memplan_gui.flow_row import FlowRow
from memplan_gui.forms import INSET, FieldRow, Fold, RejectionLine, editor_for
from memplan_gui.help_topics import TOPIC, topic_of_field
from memplan_gui.model_source import ModelSource
from memplan_gui.notes_edit import NotesEdit
from memplan_gui.pieces import MOST_WIDER, column, label, row, scaled, shown
from memplan_gui.plan_fields import MODEL, SECTIONS, FieldSpec, FoldSpec, SectionSpec, all_fields, num_changed
from memplan_gui.presenters.advice import advice_by_path, model_caption
from memplan_gui.presenters.field_help import field_help
from memplan_gui.presenters.words import nodes_words
from memplan_gui.recipe_row import RecipeRow
from memplan_gui.scroller import Scroller
from memplan_gui.search_field import SearchEdit
from memplan_gui.theme import Theme
from memplan_gui.window import PANEL_WIDTH

MARGIN = 8
SCROLL_MARGIN = 11
"""At the right: the scroll bar stands in it, and must not cut the frame of what has the keyboard."""
SECTION_GAP = 16
CAPTION_GAP = 8
"""Under a caption, before the next field: it belongs to the one above."""
NEEDED = ("model.catalog", "model.parameters")
"""Fields that a plan may lack and that the form shows only where it cannot: they are not said to be left empty."""


class PlanPanel(QFrame):
    """All fields of the scenario that is looked at."""

    config_wanted = Signal()
    """The person wants to choose a config.json."""

    def __init__(self, document: PlanDocument, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("plan_panel")
        self.setFixedWidth(scaled(PANEL_WIDTH, MOST_WIDER))
        self._document, self._theme = document, theme
        self.rows: dict[str, FieldRow] = {}
        self.rejections: dict[str, RejectionLine] = {}
        """Of the plan's own fields, which no scenario has."""
        self._bindings: list[Binding] = []
        self._folds: list[tuple[FoldSpec, Fold]] = []
        self._applying: tuple[Scenario, frozenset[str]] | None = None
        self._advice: dict[str, str] = {}
        self._estimate: Estimate | None = None
        self._unit: Unit = "gib"
        self._source = ModelSource(document)
        self._source.config_wanted.connect(self.config_wanted)
        self._column = self._scrolled_column()
        self._build_title()
        for section in SECTIONS:
            self._build_section(section)
        self._build_notes()
        self._column.addStretch(1)
        document.changed.connect(lambda _: self.show_plan())
        document.current_changed.connect(lambda _: self._show_another())
        document.replaced_whole.connect(self._show_another_plan)
        self.show_plan()

    def show_plan(self) -> None:
        """Show the plan's values, and only the fields that apply."""
        scenario = self._document.scenario
        for binding in self._bindings:
            binding.show()
        present = self._present()
        for path, line in self.rows.items():
            shown(line, path in present)
        for spec, fold in self._folds:
            shown(fold, spec.applies(scenario))
            self._summarise(spec, fold)
        if (note := self.rows["hardware.devices_per_node"].note) is not None:
            note.setText(nodes_words(scenario.hardware))
        self._source.show_plan()
        self._show_config()
        self._recipe.show_plan()

    def _show_another(self) -> None:
        """Show another scenario: no field keeps what was typed, or refused, in the one before."""
        for line in self.rows.values():
            line.show_rejection("")
            if isinstance(line.editor, ParsedEdit | SearchEdit):
                line.editor.end_typing()
        self.show_plan()

    def _show_another_plan(self) -> None:
        for line in self.rejections.values():
            line.show_rejection("")
        self.title.end_typing()
        self._show_another()

    def show_answer(self, estimate: Estimate | None) -> None:
        """Show what the estimate says of the model, and its advice with the fields it speaks of."""
        self._model_caption.setText(model_caption(estimate) if estimate else "")
        self._estimate = estimate
        self._show_usable()
        self.advice.show_answer(estimate)
        before, self._advice = self._advice, advice_by_path(estimate, self._present()) if estimate else {}
        if self._advice == before:
            return
        for path, line in self.rows.items():
            line.show_advice(self._advice.get(path, ""))
        for spec, fold in self._folds:
            self._summarise(spec, fold)

    def set_unit(self, unit: Unit) -> None:
        """Show amounts of memory in another unit."""
        self._unit = unit
        self._show_usable()
        for line in self.rows.values():
            if isinstance(line.editor, BytesEdit):
                line.editor.set_unit(unit)

    def build_folds(self) -> None:
        """Make what is folded away, so that opening a fold takes no time; called when all else is on screen."""
        for spec, fold in self._folds:
            self._build_fold(spec, fold)

    def open_fold(self, title: str) -> None:
        """Open a fold by its title."""
        for spec, fold in self._folds:
            if spec.title == title:
                fold.open()

    def focus_first(self) -> None:
        """Give the keyboard to the model."""
        line = next(line for line in self.rows.values() if not line.isHidden())
        line.editor.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def choose_title(self) -> None:
        """Give the keyboard to the title, all of it chosen: what is typed replaces it."""
        self.title.setFocus(Qt.FocusReason.OtherFocusReason)
        self.title.selectAll()

    def _scrolled_column(self) -> QVBoxLayout:
        content = QWidget()
        content.setObjectName("plan_fields")
        # The scroll bar comes and goes over the margin: no field moves.
        content.setFixedWidth(scaled(PANEL_WIDTH, MOST_WIDER) - 1)
        whole, scroller = column(self, margins=(0, 0, 1, 0)), Scroller(content)
        whole.addWidget(scroller, 1)
        self.advice = AdviceFoot()
        whole.addWidget(self.advice)
        whole.addWidget(FieldHelp(self, scroller))
        return column(content, margins=(MARGIN, 12, SCROLL_MARGIN, 2 * MARGIN))

    def _build_title(self) -> None:
        self.title = title = TextEdit(placeholder=tr("Untitled"))
        title.setObjectName("plan_title")
        title.setAccessibleName(tr("Plan title"))
        title.setAccessibleDescription(tr("What the plan is about."))
        title.setToolTip(tr("What the plan is about."))
        self._column.addWidget(title)
        self._column.addWidget(self._bind_plans_own("title", title))

    def _build_section(self, section: SectionSpec) -> None:
        self._column.addSpacing(SECTION_GAP)
        title, inset = label(translated(section.title), "section"), column(margins=(INSET, 0, INSET, 0))
        inset.addWidget(FlowRow((title,), (self._source,)) if section is MODEL else title)
        self._column.addLayout(inset)
        self._column.addSpacing(8)
        for spec in section.fields:
            self._column.addWidget(self._row(spec))
            if spec.path == "hardware.device":
                self._column.addLayout(self._build_usable())
            if spec.path == "training.method":
                self._recipe = RecipeRow(self._document)
                self._recipe.setProperty(TOPIC, "recipes")
                self._recipe.custom_wanted.connect(lambda: self.open_fold("Precision"))
                self._column.addWidget(self._recipe)
        if section is MODEL:
            self._column.addWidget(self._build_config())
            self._build_captions()
        for fold_spec in section.folds:
            fold = Fold(translated(fold_spec.title), self._theme)
            fold.toggled.connect(lambda _, fold_spec=fold_spec, fold=fold: self._fold_toggled(fold_spec, fold))
            self._folds.append((fold_spec, fold))
            self._column.addWidget(fold)

    def _build_config(self) -> QWidget:
        """Under the name of a model from a config.json: its file, and the way to another one."""
        self._config_line = QWidget()
        self._config_name = label("", "caption")
        self._config_name.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.open_another = QPushButton(tr("Open another…"))
        self.open_another.setToolTip(tr("Choose another config.json as the model (Ctrl+Shift+O)"))
        self.open_another.clicked.connect(self.config_wanted)
        line = row(self._config_line, spacing=8, margins=(INSET, 0, INSET, 4))
        line.addWidget(self._config_name, 1)
        line.addWidget(self.open_another)
        return self._config_line

    def _show_config(self) -> None:
        path = self._document.config_file
        shown(self._config_line, self._document.scenario.model.kind == "config")
        self._config_name.setText(f"{path.parent.name}/{path.name}" if path else tr("config.json, kept in the plan"))
        self._config_name.setToolTip(str(path or ""))

    def _build_usable(self) -> QVBoxLayout:
        """Under the device: what a process can get of it, and what is taken off for that."""
        self.usable_caption = label("", "caption", wraps=True, selectable=True)
        caption = column(margins=(INSET, 0, INSET, CAPTION_GAP))
        caption.addWidget(self.usable_caption)
        return caption

    def _show_usable(self) -> None:
        self.usable_caption.setText(usable_words(self._estimate, self._unit) if self._estimate else "")

    def _build_captions(self) -> None:
        self._model_caption = label("", "caption", wraps=True, selectable=True)
        captions = column(margins=(INSET, 0, INSET, 0))
        captions.addWidget(self._model_caption)
        self._column.addLayout(captions)

    def _build_notes(self) -> None:
        self._column.addSpacing(SECTION_GAP)
        fold = Fold(tr("Notes"), self._theme)
        notes = NotesEdit()
        notes.setAccessibleName(tr("Notes"))
        notes.setAccessibleDescription(tr("Anything worth keeping beside the numbers."))
        notes.setFixedHeight(scaled(120))
        inset = column(margins=(INSET, 0, INSET, 0))
        inset.addWidget(notes)
        inset.addWidget(self._bind_plans_own("notes", notes))
        fold.rows.addLayout(inset)
        self._column.addWidget(fold)

    def _bind_plans_own(self, field: str, editor: TextEdit | NotesEdit) -> RejectionLine:
        """Bind a field that is the whole plan's; what it gives says why an edit was not taken."""
        line = self.rejections[field] = RejectionLine(editor)
        binding = Binding(self._document, field, editor, self, in_scenario=False)
        binding.said.connect(line.show_rejection)
        self._bindings.append(binding)
        return line

    def _build_fold(self, spec: FoldSpec, fold: Fold) -> None:
        if fold.rows.count():
            return
        for field in spec.fields:
            line = self._row(field)
            fold.rows.addWidget(line)  # shown before, it would be a window of its own for a moment
            shown(line, field.applies(self._document.scenario))
            line.show_advice(self._advice.get(field.path, ""))

    def _fold_toggled(self, spec: FoldSpec, fold: Fold) -> None:
        self._build_fold(spec, fold)
        self._summarise(spec, fold)

    def _row(self, spec: FieldSpec) -> FieldRow:
        facts = facts_at(Scenario, spec.path)
        name = spec.path.rpartition(".")[2]
        editor = self._own_field(spec.path) or editor_for(name, facts, doubling=spec.doubling)
        if isinstance(editor, BytesEdit):
            editor.set_unit(self._unit)
        about = ""
        if spec.path in NEEDED:
            about = field_help(replace(facts, optional=False))
        if isinstance(editor, DevicesEdit):
            about = " ".join((field_help(facts, ()), tr('"2x8" is read as 2 nodes of 8 devices.')))
        line = FieldRow(facts, editor, about=about, noted=spec.path == "hardware.devices_per_node")
        line.setProperty(TOPIC, topic_of_field(spec.path))
        self.rows[spec.path] = line
        binding = Binding(self._document, spec.path, editor, line)  # type: ignore[arg-type]  # all have its protocol
        binding.said.connect(line.show_rejection)
        self._bindings.append(binding)
        return line

    def _own_field(self, path: str) -> SearchEdit | DevicesEdit | None:
        """The editor of a field that no other is like."""
        if path == "hardware.devices":
            devices = DevicesEdit()
            devices.shaped.connect(
                lambda count: self._document.edit(self._document.full_path("hardware.devices_per_node"), count)
            )
            return devices
        if path == "model.catalog":
            return SearchEdit(model_hits, model_title, NO_MODEL, self._theme)
        if path == "hardware.device":
            editor = SearchEdit(
                lambda query: device_hits(query, self._unit), device_title, NO_DEVICE, self._theme, device_problem
            )
            editor.counted.connect(
                lambda count: self._document.edit(self._document.full_path("hardware.devices"), count)
            )
            return editor
        return None

    def _present(self) -> frozenset[str]:
        """The paths of the fields that apply, worked out once for a scenario."""
        scenario = self._document.scenario
        if self._applying is None or self._applying[0] is not scenario:
            self._applying = scenario, frozenset(path for path, spec in all_fields().items() if spec.applies(scenario))
        return self._applying[1]

    def _summarise(self, spec: FoldSpec, fold: Fold) -> None:
        num_advised = sum(field.path in self._advice for field in spec.fields)
        fold.summarise(num_changed(spec, self._document.scenario, self._present()), num_advised)
