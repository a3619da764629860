"""The one-page sheet as files, for the window and for the command line, which has no window to draw in."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
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
    title: str, notes: str, scenario: Scenario, estimate: Estimate, unit: Unit, day: date, place: str = ""
) -> Callable[[QPainter], None]:
    """What paints the sheet of a scenario. Needs a Qt application for its fonts.

    Args:
        title: the plan's.
        notes: the plan's.
        scenario: what the page is of.
        estimate: the scenario's.
        unit: how amounts are written.
        day: for the footer.
        place: which page of how many it is, where there are several.

    Raises:
        MemplanError: a lever could not be estimated.
    """
    page = sheet(title, scenario, estimate, lever_offers(scenario, estimate, unit), unit, day, notes)
    if place:
        page = replace(page, footer=f"{page.footer} · {place}")
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
        sheet_painter(sheet_title(plan, at), plan.notes, plan.scenarios[at], estimates[at], unit, day, place)
        for at, place in zip(positions, _places(len(positions)), strict=True)
    ]
    export(path, pages, A4, plan.title, day)


def _places(count: int) -> list[str]:
    """What each of several pages is called at its foot; nothing where there is one."""
    return [f"page {number} of {count}" for number in range(1, count + 1)] if count > 1 else [""]
