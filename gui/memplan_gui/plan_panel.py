"""The plan panel: what is trained, how, on what. Every edit goes through the document; every answer comes from it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from memplan import Estimate, Scenario, Unit, facts_at, value_at
from memplan_gui.binding import Binding
from memplan_gui.catalog_hits import NO_DEVICE, NO_MODEL, device_hits, device_title, model_hits, model_title
from memplan_gui.document import NEW_PLAN_MODEL, PlanDocument
from memplan_gui.fields import BytesEdit, ChoiceEdit, NotesEdit, TextEdit
from memplan_gui.forms import FieldRow, Fold, editor_for
from memplan_gui.pieces import PANEL_WIDTH, column, label, row, shown
from memplan_gui.plan_fields import SECTIONS, FieldSpec, FoldSpec, SectionSpec
from memplan_gui.presenters.advice import advice_by_path, model_caption
from memplan_gui.recipes import CUSTOM, PRESETS, edits_for, preset_of
from memplan_gui.search_field import SearchEdit
from memplan_gui.segmented import Segmented
from memplan_gui.theme import Theme

MARGIN = 16
SECTION_GAP = 20
RECIPE_PATH = "training.weights_dtype"
"""The recipe stands for the fields around this one: advice about it goes there."""


class PlanPanel(QFrame):
    """All fields of the scenario that is looked at."""

    config_wanted = Signal()
    """The person wants to choose a config.json."""

    def __init__(self, document: PlanDocument, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("plan_panel")
        self.setFixedWidth(PANEL_WIDTH)
        self._document, self._theme = document, theme
        self.rows: dict[str, FieldRow] = {}
        self._specs: dict[str, FieldSpec] = {}
        self._bindings: list[Binding] = []
        self._folds: list[tuple[FoldSpec, Fold]] = []
        self._unit: Unit = "gib"
        self._column = self._scrolled_column()
        self._build_title()
        for section in SECTIONS:
            self._build_section(section)
        self._build_notes()
        self._column.addStretch(1)
        document.changed.connect(lambda _: self.show_plan())
        document.current_changed.connect(lambda _: self.show_plan())
        document.replaced_whole.connect(self.show_plan)
        self.show_plan()

    def show_plan(self) -> None:
        """Show the plan's values, and only the fields that apply."""
        scenario = self._document.scenario
        for binding in self._bindings:
            binding.show()
        for path, line in self.rows.items():
            spec = self._specs.get(path)
            if spec is not None:
                shown(line, spec.applies(scenario))
        for fold_spec, fold in self._folds:
            shown(fold, fold_spec.applies(scenario))
            self._summarise(fold_spec, fold)
        shown(self.recipe, scenario.training.method != "qlora")  # its base has a format of its own
        self._source.set_value(scenario.model.kind)
        preset = preset_of(scenario)
        self.recipe.editor.set_value(preset.title if preset else CUSTOM)  # type: ignore[attr-defined]  # a ChoiceEdit

    def show_answer(self, estimate: Estimate | None) -> None:
        """Show what the estimate says of the model, and its advice under the fields it speaks of."""
        self._model_caption.setText(model_caption(estimate) if estimate else "")
        visible = [path for path, line in self.rows.items() if not line.isHidden()]
        advice = advice_by_path(estimate, visible) if estimate else {}
        self._general_advice.setText(advice.get("", ""))
        shown(self._general_advice, "" in advice)
        for path, line in self.rows.items():
            line.show_advice(advice.get(path, ""))
        for spec, fold in self._folds:
            self._summarise(spec, fold)

    def set_unit(self, unit: Unit) -> None:
        """Show amounts of memory in another unit."""
        self._unit = unit
        for line in self.rows.values():
            if isinstance(line.editor, BytesEdit):
                line.editor.set_unit(unit)

    def focus_first(self) -> None:
        """Give the keyboard to the model."""
        line = next(line for line in self.rows.values() if not line.isHidden())
        line.editor.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _scrolled_column(self) -> QVBoxLayout:
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        content = QWidget()
        content.setObjectName("plan_fields")
        content.setFixedWidth(PANEL_WIDTH - 1)  # the scroll bar comes and goes over the margin: no field moves
        scroll.setWidget(content)
        column(self, margins=(0, 0, 1, 0)).addWidget(scroll)
        return column(content, margins=(MARGIN, 12, MARGIN, MARGIN))

    def _build_title(self) -> None:
        title = TextEdit(placeholder="Untitled")
        title.setObjectName("plan_title")
        title.setAccessibleName("Plan title")
        title.setAccessibleDescription("What the plan is about.")
        title.setToolTip("What the plan is about.")
        self._bindings.append(Binding(self._document, lambda: "title", title, self))
        self._column.addWidget(title)

    def _build_section(self, section: SectionSpec) -> None:
        self._column.addSpacing(SECTION_GAP - 4)
        head = row()
        head.addWidget(label(section.title, "section"), 1)
        self._column.addLayout(head)
        self._column.addSpacing(8)
        for spec in section.fields:
            self._column.addWidget(self._row(spec))
            if spec.path == "training.method":
                self._column.addWidget(self._recipe_row())
        if section.title == "Model":
            self._build_source(head)
        for fold_spec in section.folds:
            fold = Fold(fold_spec.title, self._theme, opened=fold_spec.opened)
            for spec in fold_spec.fields:
                fold.rows.addWidget(self._row(spec))
            fold.toggled.connect(lambda _, fold_spec=fold_spec, fold=fold: self._summarise(fold_spec, fold))
            self._folds.append((fold_spec, fold))
            self._column.addWidget(fold)

    def _build_source(self, head: QHBoxLayout) -> None:
        """How the model is named: three ways, one at a time."""
        ways = (("Catalog", "catalog"), ("config.json", "config"), ("Size", "size"))
        self._source = Segmented("Model from", ways)
        tips = {
            "catalog": "Search the models that come with memplan.",
            "config": "Open a model's Hugging Face config.json.",
            "size": "Give the number of parameters alone.",
        }
        self._source.set_tool_tips(tips)
        self._source.chosen.connect(self._choose_source)
        head.addWidget(self._source)
        self._model_caption = label("", "caption", wraps=True, selectable=True)
        self._column.addWidget(self._model_caption)
        self._general_advice = label("", "advice", wraps=True, selectable=True)
        self._general_advice.hide()
        self._column.addWidget(self._general_advice)

    def _build_notes(self) -> None:
        self._column.addSpacing(SECTION_GAP - 4)
        fold = Fold("Notes", self._theme)
        notes = NotesEdit()
        notes.setAccessibleName("Notes")
        notes.setAccessibleDescription("Anything worth keeping beside the numbers.")
        notes.setFixedHeight(120)
        self._bindings.append(Binding(self._document, lambda: "notes", notes, self))
        fold.rows.addWidget(notes)
        self._column.addWidget(fold)

    def _row(self, spec: FieldSpec) -> FieldRow:
        facts = facts_at(Scenario, spec.path)
        editor = self._search_field(spec.path) or editor_for(
            spec.path.rpartition(".")[2], facts, doubling=spec.doubling
        )
        line = FieldRow(facts, editor)
        self.rows[spec.path], self._specs[spec.path] = line, spec
        binding = Binding(self._document, lambda: self._document.full_path(spec.path), editor, line)  # type: ignore[arg-type]  # every editor has what the protocol asks
        binding.said.connect(line.show_rejection)
        self._bindings.append(binding)
        return line

    def _search_field(self, path: str) -> SearchEdit | None:
        if path == "model.catalog":
            return SearchEdit(model_hits, model_title, NO_MODEL, self._theme)
        if path == "hardware.device":
            return SearchEdit(lambda query: device_hits(query, self._unit), device_title, NO_DEVICE, self._theme)
        return None

    def _recipe_row(self) -> FieldRow:
        titles = [preset.title for preset in PRESETS]
        editor = ChoiceEdit([(title, title) for title in (*titles, CUSTOM)])
        for position, preset in enumerate(PRESETS):
            editor.setItemData(position, preset.description, Qt.ItemDataRole.ToolTipRole)
        editor.setItemData(len(titles), "Set under Precision.", Qt.ItemDataRole.ToolTipRole)
        facts = facts_at(Scenario, RECIPE_PATH)
        self.recipe = FieldRow(facts, editor, title="Recipe")
        description = "Which number formats weights, gradients, master copy and optimizer states have."
        editor.setToolTip(description)
        editor.setAccessibleDescription(description)
        editor.edited.connect(self._choose_recipe)
        return self.recipe

    def _choose_recipe(self, title: Any) -> None:
        preset = next((preset for preset in PRESETS if preset.title == title), None)
        if preset is None:  # Custom is what one has, not what one chooses
            for spec, fold in self._folds:
                if spec.title == "Precision":
                    fold.open()
            self.show_plan()
            return
        edits = edits_for(preset, self._document.scenario)
        self._document.end_gesture()
        edits = {self._document.full_path(path): value for path, value in edits.items()}
        self._document.edit_together(edits, text=f"Recipe {preset.title}")
        self._document.end_gesture()

    def _choose_source(self, kind: str) -> None:
        model = self._document.scenario.model
        path = self._document.full_path("model")
        self._source.set_value(model.kind)
        if kind == model.kind and kind != "config":
            return
        if kind == "config":
            self.config_wanted.emit()
        elif kind == "catalog":
            self._document.edit(path, {"catalog": NEW_PLAN_MODEL}, text="Model from the catalog")
        else:
            self._document.edit(path, {"parameters": 7_000_000_000}, text="Model by its size")

    def _summarise(self, spec: FoldSpec, fold: Fold) -> None:
        scenario = self._document.scenario
        present = [field for field in spec.fields if field.applies(scenario)]
        changed = [
            field for field in present if value_at(scenario, field.path) != facts_at(Scenario, field.path).default
        ]
        advised = [field for field in present if self.rows[field.path].advice]
        fold.summarise(len(changed), len(advised))
