"""What leaves the window: every view's picture and table, on the clipboard and in files that others open."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtGui import QGuiApplication, QImage

from memplan import Plan, Scenario, replaced
from memplan_gui import dialogs
from memplan_gui.diagnose_view import DiagnoseView
from memplan_gui.document import PlanDocument
from memplan_gui.presenters.cells import EXACT, Amounts, Cells, as_csv, as_markdown, as_text, as_tsv
from memplan_gui.presenters.diagnosis import MOST_LEVERS
from memplan_gui.showing_commands import NO_CHART, NOTHING, OUTGOING
from memplan_gui.window import Window
from tests.gui.looking import look_at

TEXT = "{http://www.w3.org/2000/svg}text"
BASE = Scenario.model_validate({"name": "base", "model": {"catalog": "meta-llama/Llama-3.2-1B"}})
SMALL = replaced(replaced(BASE, "hardware.device", "rtx-4090"), "name", "on a small card")
CHARTS = {
    "Memory": "Optimizer step",
    "Timeline": "Backward",
    "Fit": "RTX 4090",
    "Make it fit": "Now",
    "Map": "Sequence length, tokens",
    "Compare": "on a small card",
}
"""The views with a chart, and words that stand in each."""


@pytest.fixture
def window(open_window: Callable[..., Window]) -> Window:
    return open_window(PlanDocument(Plan(title="two cards", scenarios=(SMALL, BASE))))


def exported(window: Window, monkeypatch: pytest.MonkeyPatch, path: Path, kind: str = "") -> bytes:
    monkeypatch.setattr(dialogs, "ask_save_as_kind", lambda *_: (path, kind))
    window.menus.actions["export_chart"].trigger()
    return path.read_bytes()


def words_of(svg: bytes) -> str:
    return "\n".join("".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(TEXT))


@pytest.mark.parametrize("title", CHARTS)
def test_every_view_leaves_as_picture_and_as_files(
    window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, title: str
) -> None:
    look_at(window, title)
    showing = window.answer_panel.showing()
    assert showing is not None
    window.menus.actions["copy_picture"].trigger()
    copied = QGuiApplication.clipboard().image()
    png = QImage.fromData(exported(window, monkeypatch, tmp_path / "a.png"))
    assert png.size() == copied.size()
    finest = QImage.fromData(exported(window, monkeypatch, tmp_path / "b.png", dialogs.FINEST_PNG))
    assert finest.width() == 2 * png.width() == 4 * 960
    assert png.pixelColor(2, 2).name() == "#ffffff"
    svg = words_of(exported(window, monkeypatch, tmp_path / "a.svg"))
    assert CHARTS[title] in svg
    assert "two cards" in svg
    pdf = exported(window, monkeypatch, tmp_path / "a.pdf")
    assert pdf.startswith(b"%PDF")
    assert b"/FontFile2" in pdf  # the fonts are in it


@pytest.mark.parametrize("title", [*CHARTS, "Evidence"])
def test_every_table_leaves_as_cells_text_markdown_and_csv(
    window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, title: str
) -> None:
    look_at(window, title)
    clipboard, actions = QGuiApplication.clipboard(), window.menus.actions
    rows = list(csv.reader(exported(window, monkeypatch, tmp_path / "a.csv").decode().splitlines()))
    assert {len(row) for row in rows} == {len(rows[0])}
    actions["copy_table"].trigger()
    assert clipboard.text().splitlines()[0].count("\t") == len(rows[0]) - 1
    assert len(clipboard.text().splitlines()) in (len(rows), len(rows) + 1)  # a note may stand under it
    actions["copy_text"].trigger()
    assert clipboard.text().split()
    actions["copy_markdown"].trigger()
    table = clipboard.text()
    assert table.startswith("| ")
    page = exported(window, monkeypatch, tmp_path / "a.md").decode()
    assert page.startswith("# two cards")
    assert table in page


def test_every_view_has_it_all_in_the_menu_of_the_right_button(window: Window) -> None:
    wanted = [window.menus.actions[name] for name in OUTGOING]
    views = window.answer_panel.views
    for title in views.titles:
        look_at(window, title)
        view = views.current_view or window.answer_panel.chart
        assert [action for action in view.actions() if action in wanted] == wanted


def test_the_theme_and_the_day_of_copying_change_nothing(
    window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    for title in CHARTS:
        look_at(window, title)
        light = [exported(window, monkeypatch, tmp_path / f"a.{kind}") for kind in ("png", "svg", "pdf", "csv", "md")]
        window.choose_theme("dark")
        dark = [exported(window, monkeypatch, tmp_path / f"b.{kind}") for kind in ("png", "svg", "pdf", "csv", "md")]
        window.choose_theme("light")
        assert light == dark


def test_the_tab_in_front_decides_what_leaves_make_it_fit(window: Window) -> None:
    look_at(window, "Make it fit")
    view = window.answer_panel.views.current_view
    names = []
    for index in range(view._tables.count()):  # type: ignore[union-attr]  # the view's own tabs
        view._tables.setCurrentIndex(index)  # type: ignore[union-attr]
        showing = window.answer_panel.showing()
        assert showing is not None
        names.append((showing.name, showing.table(EXACT).titles[0]))
    assert names == [
        ("make it fit", "Need up to, bytes"),
        ("make it fit", "Lever"),
        ("memory against time", "Need up to, bytes"),
    ]


def test_a_diagnosis_leaves_as_a_table(window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was asked for, what that is, and each lever that would have helped: what a ticket needs."""
    view = look_at(window, "Diagnose")
    window.menus.actions["copy_table"].trigger()
    rows = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert rows[0] == ["About", "What it says"]
    assert "7.83 GiB asked for, 3.44 GiB free" in rows[1][1]
    assert isinstance(view, DiagnoseView)
    assert view.found is not None
    assert view.found.levers
    titles = {row[0] for row in rows}
    assert {one.offer.lever.title for one in view.found.levers[:MOST_LEVERS]} <= titles
    monkeypatch.setattr(dialogs, "ask_save_as_kind", lambda *_: (tmp_path / "a.md", ""))
    window.menus.actions["export_chart"].trigger()
    assert "| About | What it says |" in (tmp_path / "a.md").read_text(encoding="utf-8")


def test_a_view_without_a_chart_or_without_anything_says_so(
    window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    look_at(window, "Evidence")
    window.menus.actions["copy_picture"].trigger()
    assert window.answer_panel.said == NO_CHART
    monkeypatch.setattr(dialogs, "ask_save_as_kind", lambda *_: (tmp_path / "a.png", ""))
    window.menus.actions["export_chart"].trigger()
    assert "End it in .csv or .md." in window.answer_panel.notice.text
    look_at(window, "Diagnose", message="")
    window.menus.actions["copy_table"].trigger()
    assert window.answer_panel.said == NOTHING


def test_what_the_search_has_not_reached_is_found_before_the_table_leaves(window: Window) -> None:
    look_at(window, "Fit")
    showing = window.answer_panel.showing()
    assert showing is not None
    assert not any("…" in row for row in showing.table(EXACT).rows)


NAMES = Cells(("", "=1+1", "a|b"), (("Peak, GiB", "1.50", "-2.5"), ("Verdict", "Fits", "@x")), "~ tight")


def test_names_do_no_harm_and_tables_hold_their_columns() -> None:
    assert as_tsv(NAMES).splitlines()[1:] == ["Peak, GiB\t1.50\t-2.5", "Verdict\tFits\t@x", "~ tight"]
    signed = Cells(("", "GiB"), (("Change", "−14.4"), ("Adapters", "<0.01"), ("<0.01 of it", "−")))
    assert as_tsv(signed).splitlines()[1:] == ["Change\t-14.4", "Adapters\t0.00", "<0.01 of it\t−"]
    assert as_text(NAMES).splitlines()[1] == "Peak, GiB  1.50  -2.5"
    assert as_markdown(NAMES).splitlines()[:2] == ["|  | =1+1 | a\\|b |", "| --- | ---: | ---: |"]
    rows = list(csv.reader(io.StringIO(as_csv(NAMES))))
    assert rows == [["", "'=1+1", "a|b"], ["Peak, GiB", "1.50", "-2.5"], ["Verdict", "Fits", "'@x"]]
    assert Amounts("gb").titled("Usable") == "Usable, GB"


def test_what_a_terminal_would_obey_leaves_in_no_table() -> None:
    cells = Cells(("", "\x1b[31mred"), (("Peak\ufffe", "\x07"),))
    for write in (as_tsv, as_text, as_markdown, as_csv):
        assert not set("\x1b\x07\ufffe") & set(write(cells))


def test_a_picture_says_on_how_many_devices(window: Window) -> None:
    window.document.edit(window.document.full_path("hardware.devices"), 16)
    showing = window.answer_panel.showing()
    assert showing is not None
    assert "2 nodes × 8 " in showing.subtitle
