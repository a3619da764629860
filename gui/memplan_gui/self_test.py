"""Can this installation draw? The window on the example, each view, each kind of picture, without a display."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from memplan import load_plan, resource
from memplan_gui.application import Application
from memplan_gui.charts.export import pdf_bytes, png_bytes, svg_bytes, today
from memplan_gui.charts.sheet_picture import A4
from memplan_gui.document import PlanDocument
from memplan_gui.mistakes import tell_qt_message
from memplan_gui.settings import Settings
from memplan_gui.sheet_files import sheet_painter
from memplan_gui.theme import Theme
from memplan_gui.window import Window

Step = tuple[str, Callable[[], str]]


def steps() -> Iterator[Step]:
    """What to try, one after the other: a later step needs what an earlier one opened."""
    qInstallMessageHandler(tell_qt_message)
    app = QApplication.instance() or Application(["memplan"])
    theme = Theme(app, "light")  # type: ignore[arg-type]  # it is this application, or a test's own
    window = Window(theme, Settings(forgotten=True))
    yield "window", partial(_open, window)
    if not window.is_filled:
        return
    for title in window.answer_panel.views.titles:
        yield f"view {title}", partial(_show, window, title)
    yield "sheet as PDF, PNG and SVG", partial(_pictures, window)
    yield "closing", partial(_close, window)


def _open(window: Window) -> str:
    window.resize(1280, 800)
    window.show()
    window.fill(PlanDocument(load_plan(resource("examples", "llama-3.1-8b.memplan"))))
    window.load_chart()
    window.answers.finish()
    QApplication.processEvents()
    verdict = window.answer_panel.verdict_words
    if verdict is None:
        raise RuntimeError("the example has no verdict")
    return verdict.word


def _show(window: Window, title: str) -> str:
    """Show a view and look at the picture: an empty one has a single colour."""
    views = window.answer_panel.views
    views.show_view(title)
    QApplication.processEvents()
    picture = views.currentWidget().grab().toImage()
    width, height = picture.width(), picture.height()
    colours = {picture.pixel(x, y) for x in range(0, width, 7) for y in range(0, height, 7)}
    if len(colours) < 2:
        raise RuntimeError("nothing was painted")
    return f"{width} × {height} pixels"


def _pictures(window: Window) -> str:
    scenario, answer = window.document.scenario, window.answers.answer()
    if answer.estimate is None:
        raise RuntimeError(answer.problem)
    paint = sheet_painter("self-test", scenario, answer.estimate, "gib", today())
    sizes = [len(pdf_bytes([paint], A4, "t", today())), len(png_bytes(paint, A4)), len(svg_bytes(paint, A4, "t"))]
    if min(sizes) < 1000:
        raise RuntimeError(f"a picture is empty: {sizes} bytes")
    return ", ".join(f"{size} bytes" for size in sizes)


def _close(window: Window) -> str:
    window.document.undo_stack.setClean()
    window.close()
    window.deleteLater()
    QApplication.processEvents()
    return "done"
