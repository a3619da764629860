"""The part of the self-test that draws passes here, view by view."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QWidget

from memplan_gui import self_test


def test_window_views_and_pictures_pass(qapp: QApplication) -> None:
    tried = []
    for title, attempt in self_test.steps():
        attempt()
        tried.append(title)
    assert tried[0] == "window"
    assert {"view Memory", "view Compare", "sheet as PDF, PNG and SVG"} <= set(tried)
    qapp.setStyleSheet("")


def test_a_view_that_paints_nothing_fails(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = self_test.steps()
    _, open_window = next(steps)
    open_window()
    _, show_memory = next(steps)
    blank = QImage(100, 100, QImage.Format.Format_RGB32)
    blank.fill(0)

    class Blank:
        def toImage(self) -> QImage:  # noqa: N802  # Qt's name
            return blank

    with monkeypatch.context() as patch:
        patch.setattr(QWidget, "grab", lambda *_: Blank())
        with pytest.raises(RuntimeError, match="nothing was painted"):
            show_memory()
    *_, (_, close) = steps
    close()
    qapp.setStyleSheet("")
