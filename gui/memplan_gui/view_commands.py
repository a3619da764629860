"""What the Scenario and Edit menus do: scenarios moved and renamed, chart and table put on the clipboard."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from memplan_gui import dialogs
from memplan_gui.answer_panel import AnswerPanel
from memplan_gui.answers import Answers
from memplan_gui.charts.picture import Picture
from memplan_gui.document import PlanDocument
from memplan_gui.presenters.breakdown import as_text, as_tsv, breakdown
from memplan_gui.presenters.labels import picture_subtitle
from memplan_gui.presenters.stack import StackChart
from memplan_gui.scenario_edits import (
    add_scenario,
    duplicate_scenario,
    move_scenario,
    remove_scenario,
    rename_scenario,
)


class ScenarioCommands(QObject):
    """Commands about the scenario that is looked at."""

    def __init__(self, window: QWidget, document: PlanDocument) -> None:
        super().__init__(window)
        self._window, self._document = window, document

    def slots(self) -> dict[str, Callable[[], object]]:
        """Each command's slot, by its id."""
        document = self._document
        return {
            "duplicate": lambda: duplicate_scenario(document),
            "add": lambda: add_scenario(document),
            "rename": self._rename,
            "remove": lambda: remove_scenario(document, document.current),
            "move_left": lambda: move_scenario(document, document.current, document.current - 1),
            "move_right": lambda: move_scenario(document, document.current, document.current + 1),
            "previous": lambda: document.show_scenario(document.current - 1),
            "next": lambda: document.show_scenario(document.current + 1),
        }

    def _rename(self) -> None:
        name = dialogs.ask_name(self._window, self._document.scenario.name)
        if name is not None:
            rename_scenario(self._document, self._document.current, name)


class ChartCommands(QObject):
    """Commands about the chart that is looked at."""

    def __init__(self, window: QWidget, document: PlanDocument, answers: Answers, panel: AnswerPanel) -> None:
        super().__init__(window)
        self._document, self._answers, self._panel = document, answers, panel

    def slots(self, export: Callable[..., object]) -> dict[str, Callable[[], object]]:
        """Each command's slot, by its id. `export` asks for a file and writes the chart and its words to it."""
        return {
            "export_chart": lambda: export(self._picture(), self.picture_words()[0]),
            "copy_picture": self._copy_picture,
            "copy_table": lambda: self._copy(lambda chart: _copy_text(as_tsv(breakdown(chart))), "table"),
            "copy_text": lambda: self._copy(lambda chart: _copy_text(as_text(breakdown(chart))), "text"),
        }

    def picture_words(self) -> tuple[str, str, str]:
        """Title, subtitle and verdict of a picture of the chart."""
        scenario, estimate = self._document.scenario, self._answers.answer().estimate
        verdict, first = self._panel.verdict_words, self._panel.chart.steps.value() == "first"
        subtitle = picture_subtitle(scenario, estimate, first_step=first) if estimate else ""
        return f"{self._document.name} — {scenario.name}", subtitle, verdict.sentence if verdict else ""

    def _copy(self, copy: Callable[[StackChart], object], what: str) -> None:
        """Copy something of the chart, and say so: nothing else on screen would show it."""
        chart = self._panel.chart.chart
        if chart is not None:
            copy(chart)
            self._panel.say(f"Copied the {what}")

    def _picture(self) -> Picture | None:
        """The chart of the view that is looked at, or of memory where that has none."""
        title, subtitle, sentence = self.picture_words()
        view = self._panel.views.current_view
        own = view.paper_picture(title, subtitle) if view else None
        return own or self._panel.chart.picture(title, subtitle, sentence)

    def _copy_picture(self) -> None:
        from memplan_gui.charts.export import image_of

        picture = self._picture()
        if picture is not None:
            QGuiApplication.clipboard().setImage(image_of(picture.paint, picture.size))
            self._panel.say("Copied the picture")


def _copy_text(text: str) -> None:
    """Tabs between cells, as spreadsheets take them, or columns of equal width, as notes do."""
    QGuiApplication.clipboard().setText(text)
