"""Brings a view of a window to the front, answered and laid out, as a person sees it."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractButton, QApplication, QPlainTextEdit, QWidget

from memplan_gui.window import Window

MESSAGE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB. "
    "GPU 0 has a total capacity of 79.14 GiB of which 3.44 GiB is free."
)
ROUNDS = 12
"""Of events, until everything has its size."""


def look_at(window: Window, title: str, *, message: str = MESSAGE) -> QWidget:
    """Show a view, or one of its modes ("Map: Table"); Diagnose has something to read. Returns the view."""
    views = window.answer_panel.views
    name, _, mode = title.partition(": ")
    views.show_view(name)
    view = views.view(name)
    for button in view.findChildren(QAbstractButton) if view is not None and mode else ():
        if button.text() == mode:
            button.click()
    if name == "Diagnose" and message:
        assert view is not None
        view.findChildren(QPlainTextEdit)[0].setPlainText(message)
    if view is not None:
        view.finish()
    window.activateWindow()
    for _ in range(ROUNDS):
        QApplication.processEvents()
    return view if view is not None else views.currentWidget()
