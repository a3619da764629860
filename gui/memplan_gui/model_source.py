"""The three ways to name a model, one of them on: from the catalog, by its config.json, by its size alone."""

from __future__ import annotations

from PySide6.QtCore import Signal

from memplan import tr, tr_later, translated
from memplan_gui.document import NEW_PLAN_MODEL, PlanDocument
from memplan_gui.segmented import Segmented

WAYS = ((tr_later("Catalog"), "catalog"), ("config.json", "config"), (tr_later("Size"), "size"))
TIPS = {
    "catalog": tr_later("Search the models that come with memplan."),
    "config": tr_later("Open a model's Hugging Face config.json."),
    "size": tr_later("Give the number of parameters alone."),
}
FIRST_SIZE = 7_000_000_000


class ModelSource(Segmented):
    """Switches between the ways; what each begins with can be changed at once."""

    config_wanted = Signal()
    """The person wants to choose a config.json."""

    def __init__(self, document: PlanDocument) -> None:
        super().__init__(tr("Model from"), WAYS)
        self.set_tool_tips({way: translated(about) for way, about in TIPS.items()})
        self._document = document
        self.chosen.connect(self._choose)

    def show_plan(self) -> None:
        """Show how the scenario names its model."""
        self.set_value(self._document.scenario.model.kind)

    def _choose(self, kind: str) -> None:
        document, path = self._document, self._document.full_path("model")
        changes = kind != document.scenario.model.kind
        self.show_plan()  # the plan says what is on; a config.json that is not chosen after all changes nothing
        document.end_gesture()
        if kind == "config":
            self.config_wanted.emit()
        elif kind == "catalog" and changes:
            document.edit(path, {"catalog": NEW_PLAN_MODEL}, text=tr("Model from the catalog"))
        elif kind == "size" and changes:
            document.edit(path, {"parameters": FIRST_SIZE}, text=tr("Model by its size"))
        document.end_gesture()
