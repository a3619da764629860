"""The part of the self-test that draws passes here, view by view."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QWidget

from memplan import MemplanError, resource
from memplan_gui import self_test
from memplan_gui.icons import IN_STYLE_SHEET, TINTED, icon_file


def test_window_views_and_pictures_pass(qapp: QApplication) -> None:
    tried = []
    for title, attempt in self_test.steps():
        attempt()
        tried.append(title)
    assert tried[:5] == ["Qt's plug-ins", "examples", "fonts", "icons", "translations"]
    assert {"view Memory", "view Compare", "sheet as PDF, PNG and SVG", "sheet on paper"} <= set(tried)
    qapp.setStyleSheet("")


def test_a_view_that_paints_nothing_fails(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = self_test.steps()
    next(attempt for title, attempt in steps if title == "window")()
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


def test_a_plug_in_that_is_not_there_is_named_and_nothing_is_drawn(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(self_test.QLibraryInfo, "path", lambda *_: str(tmp_path))
    ((title, attempt),) = self_test.steps()
    assert title == "Qt's plug-ins"
    with pytest.raises(RuntimeError, match="qoffscreen"):
        attempt()


def test_a_system_without_fonts_is_found_out(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test.QFontDatabase, "families", list)
    attempts = dict(itertools.islice(self_test.steps(), 3))
    with pytest.raises(RuntimeError, match="empty boxes"):
        attempts["fonts"]()


def test_every_icon_is_tried() -> None:
    there = {path.stem for path in icon_file("memplan").parent.iterdir()}
    assert {*TINTED, *IN_STYLE_SHEET} == there


def test_every_example_is_opened() -> None:
    assert set(self_test.EXAMPLES) == {path.name for path in resource("examples").glob("*.memplan")}


def test_every_page_of_help_is_opened(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(self_test.PAGES) == {path.stem for path in resource("help").glob("*.md")}
    monkeypatch.setitem(self_test.PAGES, "of_tomorrow", "Tomorrow")
    steps = {}
    for title, attempt in self_test.steps():
        steps[title] = attempt
        if title in {"window", "closing"}:
            attempt()
    with pytest.raises(MemplanError, match=r"of_tomorrow\.md"):
        steps["help"]()
    qapp.setStyleSheet("")


def test_an_icon_that_cannot_be_drawn_is_named(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "close.svg"
    broken.write_text("<svg", encoding="utf-8")
    monkeypatch.setattr(self_test, "icon_file", lambda name: broken if name == "close" else icon_file(name))
    attempts = dict(itertools.islice(self_test.steps(), 4))
    with pytest.raises(RuntimeError, match=r"close\.svg cannot be drawn"):
        attempts["icons"]()
