"""The one-page sheet: all that a review asks for stands on it, on one page, and the same plan gives the same file."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QFont, QPalette
from PySide6.QtPrintSupport import QPrinter
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QGraphicsView,
    QLineEdit,
    QStyle,
    QStyleOptionFrame,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from memplan import LEVERS, Plan, Scenario, estimate, lever_offers, replaced, save_plan, useful_offers
from memplan_gui import dialogs
from memplan_gui.charts.export import svg_bytes
from memplan_gui.charts.look import ChartLook, chart_fonts, paper_look
from memplan_gui.charts.picture import wrap
from memplan_gui.charts.sheet_picture import A4, TITLE_SCALES, paint_sheet
from memplan_gui.presenters.automatic_names import plan_title
from memplan_gui.presenters.sheet import MOST_LEVERS, Sheet, sheet, sheet_title
from memplan_gui.sheet_print import paint_on, preview_dialog
from memplan_gui.window import Window

DAY = date(2026, 11, 29)
ONE = Scenario.model_validate({"name": "one", "model": {"catalog": "meta-llama/Llama-3.2-1B"}})


@pytest.fixture
def look(qapp: object) -> ChartLook:
    return paper_look(*chart_fonts(QFont().family(), 13))


def made(scenario: Scenario) -> Sheet:
    found = estimate(scenario)
    return sheet("A plan", scenario, found, lever_offers(scenario, found), "gib", DAY)


def texts(page: Sheet, look: ChartLook) -> list[tuple[float, str]]:
    """Each text of the sheet and how far down it stands: an SVG keeps text as text."""
    svg = svg_bytes(lambda painter: paint_sheet(painter, page, look), A4, "t").decode()
    found = re.findall(r'transform="matrix\(([^)]*)\)"[^>]*>\s*<text[^>]*? y="([\d.]+)"[^>]*>([^<]*)<', svg)
    return [(float(matrix.split(",")[5]) + float(y), text) for matrix, y, text in found]


def test_the_title_leads_and_the_scenario_follows(look: ChartLook) -> None:
    page = replace(made(ONE), title="What the plan is called, " * 4)
    svg = svg_bytes(lambda painter: paint_sheet(painter, page, look), A4, "t").decode()
    found = re.findall(r'matrix\(([\d.]+),[^)]*\)"[^>]*>\s*<text[^>]*>([^<]*)<', svg)
    large = [text for scale, text in found if float(scale) in TITLE_SCALES]
    assert " ".join(large).startswith("What the plan is called, What the plan")
    assert len(large) == 2  # a long one takes a second line
    assert [text for scale, text in found][: len(large) + 2] == [*large, "one", page.subtitle]


def test_what_the_monitor_shows_is_told_from_what_is_usable() -> None:
    """79.1 GiB on the monitor stood beside 75.1 GiB usable, and nothing said that the headroom is between them."""
    close = replaced(ONE, "model.catalog", "meta-llama/Llama-3.1-8B")
    found = estimate(close)
    assert found.usable_from is not None
    assert found.usable_bytes < found.process.high
    monitor = dict(made(close).assumptions)["Monitor"]
    assert monitor.endswith("of the device's 79.1 GiB")
    assert found.usable_from.given_bytes > found.usable_bytes
    assert "the device's 79.1" not in dict(made(ONE).assumptions)["Monitor"]  # far below: nothing to tell apart


def test_inference_makes_no_steps_and_one_device_is_not_each() -> None:
    assert made(ONE).chart_title == "Memory on the device, by instant of a later step"
    assert made(replaced(ONE, "training.method", "inference")).chart_title == "Memory on the device, by instant"
    assert made(TWO_NODES).chart_title == "Memory on each device, by instant of a later step"


def test_remarks_stand_under_their_heading(look: ChartLook) -> None:
    page = made(ONE)
    assert page.warnings
    words = [text for _, text in texts(page, look)]
    field, what = page.warnings[0]
    assert words[words.index("Remarks") + 1].startswith(f"{field}: {what.split(' ')[0]}")
    assert "Remarks" not in [text for _, text in texts(replace(page, warnings=()), look)]


def test_the_sheet_says_what_a_review_asks_for(look: ChartLook) -> None:
    page = made(ONE)
    words = " ".join(text for _, text in texts(page, look))
    assert "A plan" in words
    assert page.verdict.margin in words
    for label, _ in page.assumptions:
        assert label in words
    assert {"Model", "Training", "Hardware", "Recipe", "Basis"} <= {label for label, _ in page.assumptions}
    for lever in page.levers:
        assert lever.title in words
    assert page.evidence
    assert page.footer in words
    assert page.footer.endswith("2026-11-29")


def test_levers_that_change_nothing_share_a_line() -> None:
    offers = useful_offers(lever_offers(ONE, estimate(ONE)), MOST_LEVERS)
    applicable = {offer.lever.title for offer in offers if offer.state != "not_applicable"}
    page = made(ONE)
    shown = {lever.title for lever in page.levers}
    told = {title for words in page.other_levers for title in words.partition(": ")[2].rstrip(".").split(", ")}
    assert shown | told == applicable
    assert shown.isdisjoint(told)
    assert applicable <= {lever.title for lever in LEVERS}


TWO_NODES = Scenario.model_validate(
    {
        "name": "two nodes",
        "model": {"catalog": "meta-llama/Llama-3.1-70B"},
        "training": {
            "weights_dtype": "fp32",
            "autocast": "bf16",
            "optimizer": "adamw_8bit",
            "checkpointing": "full",
            "sequence_length": 8192,
            "gradient_accumulation": 4,
        },
        "hardware": {"device": "h100-sxm", "devices": 16, "sharding": {"strategy": "fsdp2"}},
    }
)


def test_the_sheet_answers_what_a_hardware_reviewer_asks_first() -> None:
    page = made(TWO_NODES)
    said = dict(page.assumptions)
    assert "2 nodes × 8 H100" in page.subtitle
    assert "2 nodes × 8 H100" in said["Hardware"]
    assert "64 sequences of 8,192 tokens: 524,288 tokens a step" in said["Batch"]
    assert said["Sharding"].startswith("FSDP2: weights, gradients and optimizer states divided among 16; reshard")
    assert "AdamW 8-bit" in said["Training"]
    everything = " ".join([*said.values(), *page.evidence, *page.other_levers, page.subtitle])
    assert not re.search(r"\b(fsdp2|adamw|adamw_8bit|zero3|sdpa)\b", everything)  # ids are for files


def test_what_is_on_already_is_not_said_to_change_nothing() -> None:
    lines = {words.partition(":")[0]: words for words in made(TWO_NODES).other_levers}
    assert "Autocast" in lines["On already"]
    assert "Autocast" not in lines.get("Would change nothing", "")


def test_a_lever_that_costs_memory_is_not_on_the_page() -> None:
    """Adafactor keeps a row and a column of each matrix: 8-bit Adam's two bytes a parameter are more."""
    scenario = replaced(ONE, "training.optimizer", "adafactor")
    assert "optimizer_8bit" in {offer.lever.id for offer in lever_offers(scenario) if offer.costs_memory}
    page = made(scenario)
    assert page.levers
    assert all(line.saving.startswith("−") for line in page.levers)
    assert not any("8-bit" in words for words in page.other_levers)


CROWDED = Scenario.model_validate(
    {
        "name": "every kind of parallelism",
        "model": {"catalog": "meta-llama/Llama-3.1-70B"},
        "training": {
            "kernels": "megatron",
            "master_weights": True,
            "optimizer_state_dtype": "fp32",
            "sequence_length": 8192,
            "gradient_accumulation": 16,
            "checkpointing": "selective",
        },
        "hardware": {
            "device": "h100-sxm",
            "devices": 64,
            "tensor_parallel": 8,
            "sequence_parallel": True,
            "pipeline_parallel": 4,
            "sharding": {"strategy": "megatron"},
        },
    }
)


def test_a_full_page_cuts_no_sentence_and_still_has_levers(look: ChartLook) -> None:
    """Remarks ended in the middle of a sentence, and every lever was a name alone."""
    found = estimate(CROWDED)
    notes = "The budget, the data and the date of the review, in a few words."
    page = sheet("A plan of a long name, " * 5, CROWDED, found, lever_offers(CROWDED, found), "gib", DAY, notes)
    assert len(page.warnings) > 4
    words = " ".join(text for _, text in texts(page, look))
    told = re.search(r"(\d+)(?: more)?, in memplan under the plan: (.*)", words)
    assert told
    assert int(told[1]) + sum(f"{field}: {what}" in words for field, what in page.warnings) == len(page.warnings)
    named = told[2]
    for field, what in page.warnings:
        assert f"{field}: {what}" in words or field in named
    assert page.verdict.detail.replace(" · H100", " H100") in words  # which stage it is was cut
    assert sum(lever.price in words for lever in page.levers) >= 2
    assert all(0 < down < A4.height() - 40 for down, _ in texts(page, look))


def test_levers_without_room_are_not_said_to_have_failed(look: ChartLook) -> None:
    page = made(replaced(ONE, "training.checkpointing", "none"))
    crowded = replace(page, levers=page.levers * 4)
    words = " ".join(text for _, text in texts(crowded, look))
    assert "Also on offer: " in words
    assert "No room" not in words


def test_the_evidence_says_what_was_compared_and_how_it_differs() -> None:
    compared, nearest, *_ = made(TWO_NODES).evidence
    assert compared.startswith("Compared: peak memory of the tensors")
    assert "traces of the framework's own code on a CPU" in compared
    assert re.search(
        r"GiB (traced|measured), estimate (within 0\.01%|[\d.]+% (above|below)); unlike the plan: ",
        nearest,
    )


def test_the_page_names_no_report_that_its_reader_does_not_have(look: ChartLook) -> None:
    scenario = replaced(ONE, "training.checkpointing", "full")
    for words in (text for _, text in texts(made(scenario), look)):
        assert "in the report" not in words


def test_notes_stand_on_the_page(look: ChartLook) -> None:
    found = estimate(ONE)
    page = sheet("A plan", ONE, found, lever_offers(ONE, found), "gib", DAY, notes="Agreed in May.\n" + "more " * 400)
    words = [text for _, text in texts(page, look)]
    assert any(text.startswith("Agreed in May.") for text in words)
    assert any(text.endswith("…") for text in words)  # what is cut shows that it is


def test_the_heading_is_of_the_scenario_that_is_shown() -> None:
    plan = Plan(title="", scenarios=(TWO_NODES, ONE))
    following = replaced(plan, "title", plan_title(plan))
    assert "1B" in following.title
    assert sheet_title(following, 0) == "Llama-3.1-70B on 16 × H100 SXM5 80 GB HBM3"
    assert sheet_title(replaced(plan, "title", "My own"), 0) == "My own"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"training.method": "qlora", "training.checkpointing": "full", "name": "n" * 200},
        {"hardware.devices": 64, "hardware.tensor_parallel": 8, "hardware.pipeline_parallel": 4},
    ],
)
def test_everything_stands_on_the_page_in_order(look: ChartLook, changes: dict[str, object]) -> None:
    scenario = ONE
    for path, value in changes.items():
        scenario = replaced(scenario, path, value)
    page = made(scenario)
    found = texts(page, look)
    assert all(0 < down < A4.height() - 40 for down, _ in found)
    headings = [
        down
        for down, text in found
        if text in ("Assumptions", "Remarks") or text.startswith(("Levers: ", "Evidence: "))
    ]
    assert headings == sorted(headings)
    assert max(down for down, text in found if text != page.footer) < found[-1][0]


def test_lines_are_broken_between_words_and_none_is_too_wide(look: ChartLook) -> None:
    text = "needs more than it has " * 12
    lines = wrap(look, "caption", text.strip(), 200)
    assert " ".join(lines) == text.strip()
    assert all(look.width("caption", line) <= 200 for line in lines)


def test_the_window_writes_the_sheet_of_the_scenario_that_is_looked_at(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sheet.pdf"
    monkeypatch.setattr(dialogs, "ask_save", lambda *_: path)
    window.menus.actions["export_sheet"].trigger()
    assert path.read_bytes().startswith(b"%PDF-")
    assert window.answer_panel.said == "Exported sheet.pdf"


def test_without_an_estimate_the_window_says_that_there_is_no_sheet(window: Window) -> None:
    window.document.edit(window.document.full_path("model.catalog"), "no/such-model")
    window.menus.actions["export_sheet"].trigger()
    assert "there is no sheet" in window.answer_panel.notice.text


def test_paper_shows_the_whole_sheet_in_its_middle(qapp: object, tmp_path: Path) -> None:
    printer = QPrinter(QPrinter.PrinterMode.ScreenResolution)
    printer.setOutputFormat(QPrinter.OutputFormat.PdfFormat)
    printer.setOutputFileName(str(tmp_path / "paper.pdf"))
    corners: list[QRectF] = []
    paint_on(
        printer, lambda painter: corners.append(painter.transform().mapRect(QRectF(0, 0, A4.width(), A4.height())))
    )
    layout, dots = printer.pageLayout(), printer.resolution()
    page, inside = QRectF(layout.fullRectPixels(dots)), layout.paintRectPixels(dots)
    page.translate(-inside.left(), -inside.top())
    assert page.adjusted(-1, -1, 1, 1).contains(corners[0])
    assert abs(corners[0].center().x() - page.center().x()) < 1


def test_the_preview_is_readable_in_the_windows_style(window: Window, qtbot: QtBot) -> None:
    """The zoom box cut its figures, half of the buttons were out of sight, and the page lay on the same grey at night."""
    look, page = paper_look(*chart_fonts(QFont().family(), 13)), made(ONE)
    printer = QPrinter(QPrinter.PrinterMode.HighResolution)
    dialog = preview_dialog(window, printer, lambda painter: paint_sheet(painter, page, look))
    qtbot.addWidget(dialog)
    dialog.show()
    QApplication.processEvents()
    (zoom,) = [box for box in dialog.findChildren(QComboBox) if box.isEditable()]
    line = zoom.lineEdit()
    assert line is not None
    inside = line.style().subElementRect(QStyle.SubElement.SE_LineEditContents, _frame_of(line), line)
    inside.translate(line.pos())
    assert zoom.rect().contains(inside)
    assert inside.height() >= line.fontMetrics().height()
    assert abs(inside.center().y() - zoom.rect().center().y()) <= 1
    (more,) = [one for one in dialog.findChildren(QToolButton) if one.objectName() == "qt_toolbar_ext_button"]
    assert not more.isVisible()
    (view,) = dialog.findChildren(QGraphicsView)
    assert view.backgroundBrush().color() == dialog.palette().color(QPalette.ColorRole.Mid)
    dialog.close()


def _frame_of(line: QLineEdit) -> QStyleOptionFrame:
    option = QStyleOptionFrame()
    line.initStyleOption(option)
    return option


@pytest.fixture
def report(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `memplan report` on a plan of two scenarios, in a process of its own as a person does."""
    plan = tmp_path / "two.memplan"
    save_plan(Plan(title="Two", scenarios=(ONE, replaced(ONE, "name", "other"))), plan)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "memplan", "report", str(plan), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


@pytest.mark.slow
def test_the_command_line_writes_sheets_without_a_display(
    report: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    first, second, picture = tmp_path / "a.pdf", tmp_path / "b.pdf", tmp_path / "c.svg"
    assert report("-o", str(first)).returncode == 0
    assert report("-o", str(second)).returncode == 0
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().count(b"/MediaBox") == 2
    if shutil.which("pdftotext"):
        said = subprocess.run(["pdftotext", str(first), "-"], capture_output=True, text=True, check=True).stdout
        assert "page 1 of 2" in said
        assert "page 2 of 2" in said
    done = report("-o", str(picture), "--scenario", "other")
    assert (done.returncode, done.stderr) == (0, "")
    assert ">other</text>" in picture.read_text(encoding="utf-8")
    assert "page 1" not in picture.read_text(encoding="utf-8")
    done = report("-o", str(picture), "--scenario", "third")
    assert done.returncode == 2
    assert "the plan has no scenario 'third'; there are 1 'one', 2 'other'." in done.stderr
