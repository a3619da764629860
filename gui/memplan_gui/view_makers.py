"""Makes each view. A view's code is loaded when it is first shown: the start of the window waits for none of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memplan_gui.theme import Theme

if TYPE_CHECKING:
    from memplan_gui.answers import Answers
    from memplan_gui.document import PlanDocument
    from memplan_gui.settings import Settings
    from memplan_gui.views import AnswerView


def timeline_view(theme: Theme) -> AnswerView:
    """Memory over a step, layer by layer."""
    from memplan_gui.timeline_view import TimelineView

    return TimelineView(theme)


def fit_view(document: PlanDocument, settings: Settings, theme: Theme) -> AnswerView:
    """Every device held against the run."""
    from memplan_gui.fit_view import FitView

    return FitView(document, settings, theme)


def make_fit_view(document: PlanDocument, settings: Settings, theme: Theme) -> AnswerView:
    """The least costly set of levers that fits."""
    from memplan_gui.make_fit_view import MakeFitView

    return MakeFitView(document, settings, theme)


def map_view(document: PlanDocument, theme: Theme) -> AnswerView:
    """Batch by sequence."""
    from memplan_gui.map_view import MapView

    return MapView(document, theme)


def compare_view(document: PlanDocument, answers: Answers, theme: Theme) -> AnswerView:
    """The plan's scenarios side by side."""
    from memplan_gui.compare_view import CompareView

    return CompareView(document, answers, theme)


def evidence_view(theme: Theme) -> AnswerView:
    """What the estimate was held against."""
    from memplan_gui.evidence_view import EvidenceView

    return EvidenceView(theme)
