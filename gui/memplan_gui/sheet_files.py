"""The one-page sheet as files, for the window and for the command line, which has no window to draw in."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from PySide6.QtGui import QGuiApplication, QPainter

from memplan import Estimate, Plan, Scenario, Unit, estimate_plan, lever_offers, plain_numbers
from memplan_gui.charts.export import export, today
from memplan_gui.charts.picture import paper
from memplan_gui.charts.sheet_picture import A4, paint_sheet
from memplan_gui.presenters.sheet import sheet, sheet_title


@plain_numbers()
def sheet_painter(
    title: str, notes: str, scenario: Scenario, estimate: Estimate, unit: Unit, day: date
) -> Callable[[QPainter], None]:
    """What paints the sheet of a scenario. Needs a Qt application for its fonts.

    Raises:
        MemplanError: a lever could not be estimated.
    """
    page = sheet(title, scenario, estimate, lever_offers(scenario, estimate, unit), unit, day, notes)
    look = paper()
    return plain_numbers()(lambda painter: paint_sheet(painter, page, look))


def write_sheets(path: Path, plan: Plan, positions: Sequence[int], unit: Unit) -> None:
    """Write the sheets of scenarios, each on its page; PNG and SVG have one page. Needs no display.

    Raises:
        MemplanError: the format is unknown, a scenario cannot be estimated, or the file cannot be written.
    """
    has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not has_display:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    _application = QGuiApplication.instance() or QGuiApplication(["memplan"])
    estimates, day = estimate_plan(plan), today()
    pages = [
        sheet_painter(sheet_title(plan, at), plan.notes, plan.scenarios[at], estimates[at], unit, day)
        for at in positions
    ]
    export(path, pages, A4, plan.title, day)
