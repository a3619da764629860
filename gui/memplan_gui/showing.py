"""What a view has in front, for whoever takes it out of the window: its picture, its sentence, its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memplan_gui.charts.look import ChartLook
from memplan_gui.charts.picture import Head, Picture
from memplan_gui.presenters.cells import Amounts, Cells


@dataclass(frozen=True, slots=True)
class Showing:
    """What stands in front in a view. Nothing is painted or put together before it is asked for."""

    name: str
    """What it is, in a word or two: a file's name ends with it."""
    subtitle: str
    """What was estimated, for who sees it away from the plan."""
    sentence: str
    table: Callable[[Amounts], Cells]
    """The table twin, with amounts written so."""
    picture: Callable[[ChartLook, Head], Picture] | None = None
    """The chart under title, subtitle and sentence; None for a view that is a table alone."""
    of_plan: bool = False
    """Whether it is about all scenarios, not the one that is looked at."""
