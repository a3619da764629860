"""The recipe as one choice: it stands for the precision fields, and shows "Custom" for a recipe of one's own."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal

from memplan import Scenario, facts_at, number, tr, tr_later, translated
from memplan_gui.document import PlanDocument
from memplan_gui.fields import WORDS_IN_LIST, ChoiceEdit
from memplan_gui.forms import FieldRow
from memplan_gui.pieces import shown, tip
from memplan_gui.recipes import CUSTOM, PRESETS, edits_for, preset_of

DESCRIPTION = tr_later(
    "What weights, gradients, master copy and states are held in: it decides the bytes of each parameter."
)


class RecipeRow(FieldRow):
    """Presets for the precision of weights, gradients and states."""

    custom_wanted = Signal()
    """The person wants a recipe of their own, hence the fields themselves."""

    def __init__(self, document: PlanDocument) -> None:
        titles = [preset.title for preset in PRESETS]
        self._choice = ChoiceEdit([(translated(title), title) for title in (*titles, CUSTOM)])
        for position, preset in enumerate(PRESETS):
            self._choice.setItemData(position, translated(preset.description), Qt.ItemDataRole.ToolTipRole)
            size = number(preset.bytes_per_parameter, "g")
            words = tr("{recipe}: {words}, {size} bytes").format(
                recipe=translated(preset.title), words=translated(preset.words), size=size
            )
            self._choice.setItemData(position, words, WORDS_IN_LIST)
        self._choice.setItemData(len(titles), tr("Set under Precision."), Qt.ItemDataRole.ToolTipRole)
        super().__init__(
            facts_at(Scenario, "training.weights_dtype"),
            self._choice,
            title=tr("Recipe"),
            about=translated(DESCRIPTION),
        )
        self._document = document
        self._choice.edited.connect(self._choose)

    def show_plan(self) -> None:
        """Show which preset the scenario follows."""
        scenario = self._document.scenario
        shown(self, scenario.training.method != "qlora")  # a 4-bit base has a format of its own
        preset = preset_of(scenario)
        self._choice.set_value(preset.title if preset else CUSTOM)
        about = translated(preset.description) if preset else tr("A recipe of your own, set under Precision.")
        self._choice.setToolTip(tip(about))

    def _choose(self, title: str) -> None:
        preset = next((preset for preset in PRESETS if preset.title == title), None)
        if preset is None:  # Custom is what one has, not what one chooses
            self.show_plan()
            self.custom_wanted.emit()
            return
        document = self._document
        edits = {document.full_path(path): value for path, value in edits_for(preset, document.scenario).items()}
        document.end_gesture()
        document.edit_together(edits, text=tr("Recipe {name}").format(name=translated(preset.title)))
        document.end_gesture()
        self.show_plan()
