"""The stacked chart: its geometry, its keys, and that every export has text and bars."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import time
from datetime import date, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QWheelEvent
from PySide6.QtSvg import QSvgRenderer
from pytestqt.qtbot import QtBot

from memplan import GIB, TERM_LOOKS, Estimate, Measurement, MemplanError, printable
from memplan_gui.charts import row_pieces
from memplan_gui.charts.export import Paint, export, image_of, pdf_bytes, png_bytes, svg_bytes, today
from memplan_gui.charts.legend import BETWEEN, BEYOND, GAP, NEED, SWATCH, legend_texts, lines_of, place_entries
from memplan_gui.charts.look import ChartLook, chart_fonts, hatch, paper_look
from memplan_gui.charts.picture import PICTURE_SIZE
from memplan_gui.charts.scale import Scale
from memplan_gui.charts.stack_marks import Spot, StackMarks, end_of_axis, paint_stack, total_place, total_text
from memplan_gui.charts.stack_picture import stack_picture
from memplan_gui.charts.stack_plot import StackPlot
from memplan_gui.icons import paint_icon
from memplan_gui.presenters.stack import chart_sentence, stack_chart

SVG = "{http://www.w3.org/2000/svg}"
SIZE = QSizeF(PICTURE_SIZE)
DAY = date(2026, 11, 29)


@pytest.fixture
def look(qapp: object) -> ChartLook:
    return paper_look(*chart_fonts(QFont().family(), 13))


@pytest.fixture
def paint(estimate: Estimate, look: ChartLook) -> Paint:
    head = ("Plan — scenario", "a model", "Does not fit: 4 GiB over.")
    return stack_picture(stack_chart(estimate, "gib"), "bf16 weights", look, head).paint


@pytest.fixture
def marks(estimate: Estimate, look: ChartLook) -> StackMarks:
    return StackMarks(stack_chart(estimate, "gib"), QRectF(100, 0, 300, 300), Scale(0, 30 * GIB, 100, 400), look)


@pytest.mark.parametrize("width", [320.0, 600.0, 1200.0])
def test_a_total_stands_behind_its_bar(estimate: Estimate, look: ChartLook, width: float) -> None:
    """Directly behind it, wherever the line stands: past the line it read as over the limit."""
    chart = stack_chart(estimate, "gib")
    crossed = 0
    for part in range(20, 300):
        one = dataclasses.replace(chart, usable=round(chart.longest * part / 100))
        area = QRectF(100, 0, width, 200)
        marks = StackMarks(one, area, Scale(0.0, end_of_axis(one, look, width), area.left(), area.right()), look)
        line = marks.scale.x(one.usable)
        for row, bar in enumerate(one.bars):
            place, whole = total_place(marks, row, bar), marks.bar_rect(row, 0, bar.total)
            assert place.left() == whole.right() + row_pieces.GAP
            assert place.right() <= area.right() + 1
            assert whole.top() <= place.top() < place.bottom() <= whole.bottom()
            crossed += place.left() <= line <= place.right()
    assert crossed  # the line runs through some


def test_the_usable_line_makes_room_for_a_total_and_is_seen_above_and_below(
    estimate: Estimate, look: ChartLook
) -> None:
    chart = stack_chart(estimate, "gib")
    area = QRectF(100, 0, 600, 300)
    row, bar = next((row, bar) for row, bar in enumerate(chart.bars) if not bar.decides)
    plain = StackMarks(chart, area, Scale(0.0, chart.longest * 1.3, area.left(), area.right()), look)
    place = total_place(plain, row, bar)
    between = place.left() + look.width("body", total_text(chart, bar.total, peak=False)[:1])  # of two digits
    marks = dataclasses.replace(plain, chart=dataclasses.replace(chart, usable=round(plain.scale.bytes_at(between))))
    inked = []
    for one in (marks, dataclasses.replace(marks, chart=dataclasses.replace(marks.chart, usable=2 * chart.longest))):
        image = QImage(720, 300, QImage.Format.Format_RGB32)
        image.fill(look.colour("window"))
        painter = QPainter(image)
        paint_stack(painter, one, clip=False)
        painter.end()
        inked.append(image)
    x = round(marks.usable_x)
    differ = [
        y
        for y in range(300)
        if any(inked[0].pixel(column, y) != inked[1].pixel(column, y) for column in range(x - 1, x + 2))
    ]
    assert not [y for y in differ if place.top() + 1 <= y <= place.bottom() - 1]
    whole = marks.bar_rect(row, 0, bar.total)
    assert [y for y in differ if whole.top() <= y < place.top()]
    assert [y for y in differ if place.bottom() < y <= whole.bottom()]


def test_a_segment_is_found_under_a_point(marks: StackMarks) -> None:
    # Ten pixels a GiB, a hundred pixels a bar: the peak's bar is the third.
    assert marks.spot_at(QPointF(110, 250)) == Spot(2, "weights")
    assert marks.spot_at(QPointF(185, 250)) == Spot(2, "gradients")
    assert marks.spot_at(QPointF(350, 250)) is None  # behind the bar
    assert marks.spot_at(QPointF(110, 201)) is None  # between two bars
    assert marks.spot_at(QPointF(50, 250)) is None  # where the names stand


@pytest.mark.parametrize("height", [110.0, 164.0, 400.0])
def test_the_band_of_the_need_does_not_lie_on_the_axis(marks: StackMarks, height: float) -> None:
    """Under the last bar its line was the axis' own, and nobody saw where it ends."""
    low = dataclasses.replace(marks, area=QRectF(100, 0, 300, height))
    last = len(low.chart.bars) - 1
    assert low.chart.bars[last].decides
    assert low.need_rect(last).bottom() + 1 <= low.area.bottom()
    assert low.need_rect(last).top() >= low.bar_rect(last, 0, 1).bottom()


def test_bars_are_as_long_as_their_bytes(marks: StackMarks) -> None:
    rect = marks.bar_rect(0, 8 * GIB, 9 * GIB)
    assert (rect.left(), rect.width()) == (180, 10)


def test_the_axis_has_room_for_the_total_at_every_width(estimate: Estimate, look: ChartLook) -> None:
    chart = stack_chart(estimate, "gib")
    for width in (240.0, 900.0):
        end = end_of_axis(chart, look, width)
        behind = width * (1 - chart.longest / end)
        assert behind >= look.width("bold", "24.0 GiB  peak")
        assert end >= chart.usable


def test_what_does_not_fit_is_painted_to_its_end(estimate: Estimate, look: ChartLook) -> None:
    image = QImage(500, 300, QImage.Format.Format_RGB32)
    image.fill(0xFFFFFFFF)
    chart = stack_chart(estimate, "gib")
    marks = StackMarks(chart, QRectF(100, 0, 380, 300), Scale(0, 38 * GIB, 100, 480), look)
    painter = QPainter(image)
    paint_stack(painter, marks, clip=True)
    painter.end()
    row = round(marks.bar_rect(2, 0, 1).top()) + 5
    colours = {image.pixelColor(x, row).name().upper() for x in range(100 + 200, 100 + 240)}
    assert TERM_LOOKS["temporary buffers"].colour in colours  # un-clamped: it lies beyond the 20 GiB that are usable
    assert look.colour("does_not_fit").name().upper() in colours  # and hatched


def test_hatching_stays_inside_its_rectangle(qapp: object) -> None:
    image = QImage(60, 40, QImage.Format.Format_RGB32)
    image.fill(0xFFFFFFFF)
    painter = QPainter(image)
    for rising in (True, False):
        hatch(painter, QRectF(10, 10, 30, 20), QColor("black"), rising=rising)
    painter.end()
    inked = {(x, y) for x in range(60) for y in range(40) if image.pixelColor(x, y).lightness() < 200}
    assert inked
    assert all(9 <= x <= 41 and 9 <= y <= 31 for x, y in inked)


def test_the_legend_is_in_stack_order_and_wraps(estimate: Estimate, look: ChartLook) -> None:
    texts = legend_texts(stack_chart(estimate, "gib"))
    assert texts[:2] == ["weights", "gradients"]
    assert texts[-2:] == [NEED, BEYOND]
    assert {entry.line for entry in place_entries(texts, look, 10_000)} == {0}
    narrow = place_entries(texts, look, 200)
    assert [entry.text for entry in narrow] == texts
    assert narrow[-1].line > 1


@pytest.mark.parametrize("width", range(250, 1000, 50))
def test_lines_of_the_legend_are_about_equally_long(estimate: Estimate, look: ChartLook, width: int) -> None:
    """No line is as empty as to take the last entry of the line above, in a legend of no more lines than it needs."""
    texts = legend_texts(stack_chart(estimate, "gib"))
    placed = place_entries(texts, look, width)
    widths = [SWATCH + GAP + look.width("caption", text) for text in texts]
    assert placed[-1].line == lines_of(widths, width)[-1]
    ends = [entry.left + needed for entry, needed in zip(placed, widths, strict=True)]
    assert max(ends) <= width
    last = [at for at, entry in enumerate(placed) if entry.line == placed[-1].line]
    if placed[-1].line:
        moved = widths[last[0] - 1]
        assert ends[last[-1]] + BETWEEN + moved >= max(ends), "the last line has room for one more of those above"


def test_svg_has_text_as_text_and_a_bar_for_each_segment(paint: Paint, estimate: Estimate) -> None:
    root = ElementTree.fromstring(svg_bytes(paint, SIZE, "Plan — scenario"))
    texts = {"".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")}
    assert {"Optimizer step", "Plan — scenario", "gradients 8.00", "24.0 GiB  peak"} <= texts
    assert "20.0 GiB usable · Card 20 GB" in texts
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text == "Plan — scenario"
    source = ElementTree.tostring(root, encoding="unicode").lower()
    for bar in stack_chart(estimate, "gib").bars:
        for segment in bar.segments:
            assert TERM_LOOKS[segment.term].colour.lower() in source


@pytest.mark.parametrize("sign", ["\x01", "\x1b", "\x0c", "\ufffe", "\uffff"])
def test_svg_is_xml_whatever_names_hold(qapp: object, sign: str) -> None:
    def named(painter: QPainter) -> None:
        painter.drawText(20, 20, f"a{sign}b")

    root = ElementTree.fromstring(svg_bytes(named, SIZE, f"c{sign}d"))
    texts = {"".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")}
    assert texts == {f"a{printable(sign)}b"}


@pytest.mark.parametrize("epoch", ["99999999999999", "9" * 30, "9" * 5000])
def test_an_epoch_beyond_all_dates_is_no_day(monkeypatch: pytest.MonkeyPatch, epoch: str) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    before = today()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert today() in {before, before + timedelta(days=1)}


def lightest_bar_pixels(image: QImage) -> int:
    """How many pixels have the colour of the weights."""
    wanted = QColor(TERM_LOOKS["weights"].colour).rgb()
    return sum(image.pixel(x, y) == wanted for x in range(0, image.width(), 2) for y in range(0, image.height(), 2))


def test_svg_names_a_font_for_whoever_lacks_ours(paint: Paint) -> None:
    root = ElementTree.fromstring(svg_bytes(paint, SIZE, "t"))
    families = {text.get("font-family", "") for text in root.iter(f"{SVG}text")}
    assert families
    assert all(re.fullmatch(r"'[^'\\\\]+', sans-serif", family) for family in families)


def test_signs_have_no_line_of_another_colour_in_svg(look: ChartLook) -> None:
    def sign(painter: QPainter) -> None:
        paint_icon(painter, "verdict-does-not-fit", QRectF(0, 0, 16, 16), look.colour("does_not_fit"))

    drawn = svg_bytes(sign, QSizeF(16, 16), "a sign").decode()
    red = look.colour("does_not_fit").name()
    assert re.findall(rf'fill="{red}" fill-opacity="1" stroke="([^"]+)"', drawn) == [red]


def test_svg_draws_bars_in_qt(paint: Paint) -> None:
    image = QImage(960, 480, QImage.Format.Format_RGB32)
    image.fill(0xFFFFFFFF)
    painter = QPainter(image)
    QSvgRenderer(svg_bytes(paint, SIZE, "t")).render(painter)
    painter.end()
    assert lightest_bar_pixels(image) > 1000


@pytest.mark.skipif(shutil.which("rsvg-convert") is None, reason="librsvg's converter is not installed")
def test_svg_draws_bars_in_another_reader(paint: Paint, tmp_path: Path) -> None:
    # Qt's own reader shows bars even where others show none, so one of the others looks at it.
    source, picture = tmp_path / "chart.svg", tmp_path / "chart.png"
    source.write_bytes(svg_bytes(paint, SIZE, "t"))
    subprocess.run(["rsvg-convert", str(source), "-o", str(picture)], check=True, timeout=60)
    assert lightest_bar_pixels(QImage(str(picture))) > 1000


def test_png_is_twice_as_fine_as_its_size(paint: Paint) -> None:
    image = QImage.fromData(png_bytes(paint, SIZE))
    assert (image.width(), image.height()) == (1920, 960)
    assert lightest_bar_pixels(image) > 4000
    assert image_of(paint, SIZE).devicePixelRatio() == 2


def test_pdf_is_one_page_of_the_pictures_shape(paint: Paint) -> None:
    data = pdf_bytes([paint], SIZE, "t", DAY)
    assert data.startswith(b"%PDF-")
    box = re.search(rb"/MediaBox \[0 0 ([0-9.]+) ([0-9.]+)\]", data)
    assert box is not None
    assert float(box[1]) / float(box[2]) == pytest.approx(2, rel=0.01)


def test_a_pdf_of_the_same_pictures_has_the_same_bytes_all_day(paint: Paint) -> None:
    first = pdf_bytes([paint, paint], SIZE, "t", DAY)
    time.sleep(1.1)  # a PDF tells the second in which it was written, unless somebody sees to it
    assert pdf_bytes([paint, paint], SIZE, "t", DAY) == first
    assert first.count(b"/MediaBox") == 2
    assert b"D:20261129000000Z" in first


@pytest.mark.parametrize("name", ["chart", "chart.bmp"])
def test_an_unknown_format_is_refused_in_words(paint: Paint, tmp_path: Path, name: str) -> None:
    with pytest.raises(MemplanError, match=r"End it in \.png, \.svg or \.pdf"):
        export(tmp_path / name, [paint], SIZE, "t", DAY)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_leaves_what_was_there(paint: Paint, tmp_path: Path) -> None:
    with pytest.raises(MemplanError, match="folder does not exist"):
        export(tmp_path / "missing" / "chart.png", [paint], SIZE, "t", DAY)


@pytest.fixture
def plot(qtbot: QtBot, look: ChartLook, estimate: Estimate) -> StackPlot:
    plot = StackPlot(look)
    qtbot.addWidget(plot)
    plot.resize(900, 300)
    plot.show()
    plot.show_chart(stack_chart(estimate, "gib"))
    return plot


def test_arrows_walk_over_segments_and_enter_pins(plot: StackPlot, qtbot: QtBot) -> None:
    pointed: list[Spot | None] = []
    plot.pointed.connect(pointed.append)
    qtbot.keyClick(plot, Qt.Key.Key_Right)
    assert pointed == [Spot(2, "weights")]  # the walk begins at the peak
    qtbot.keyClick(plot, Qt.Key.Key_Right)
    qtbot.keyClick(plot, Qt.Key.Key_Up)
    assert pointed[1:] == [Spot(2, "gradients"), Spot(1, "weights")]  # forward holds no gradients
    qtbot.keyClick(plot, Qt.Key.Key_Return)
    assert plot.pinned_spot == Spot(1, "weights")
    qtbot.keyClick(plot, Qt.Key.Key_Escape)
    assert plot.pinned_spot is None


def test_zooming_is_told_and_undone(plot: StackPlot) -> None:
    told: list[bool] = []
    plot.zoomed.connect(told.append)
    whole = plot.getViewBox().viewRange()[0]
    plot.zoom(0.5)
    assert plot.getViewBox().viewRange()[0] != whole
    plot.show_all()
    assert plot.getViewBox().viewRange()[0] == pytest.approx(whole)
    assert told == [True, False]


def test_the_scale_stays_when_bars_shrink_and_grows_at_once(plot: StackPlot, estimate: Estimate) -> None:
    from dataclasses import replace

    end = plot.getViewBox().viewRange()[0][1]
    smaller = replace(estimate, instants=estimate.instants[:2], usable_bytes=15 * GIB)
    plot.show_chart(stack_chart(smaller, "gib"))
    assert plot.getViewBox().viewRange()[0][1] == pytest.approx(end)
    plot.show_chart(stack_chart(replace(estimate, usable_bytes=80 * GIB), "gib"))
    assert plot.getViewBox().viewRange()[0][1] > 80 * GIB


def test_a_change_that_is_undone_leaves_the_scale_from_before_it(
    plot: StackPlot, estimate: Estimate, qtbot: QtBot
) -> None:
    from dataclasses import replace

    end = plot.getViewBox().viewRange()[0][1]
    plot.show_chart(stack_chart(replace(estimate, usable_bytes=40 * GIB), "gib"))
    assert plot.getViewBox().viewRange()[0][1] > 40 * GIB
    plot.show_chart(stack_chart(estimate, "gib"))
    qtbot.waitUntil(lambda: plot.getViewBox().viewRange()[0][1] == pytest.approx(end))


def turn_wheel(plot: StackPlot, modifier: Qt.KeyboardModifier) -> bool:
    """Turns the wheel one notch over the middle of the chart; returns whether the chart took it."""
    middle, notch = QPointF(plot.rect().center()), QPoint(0, 120)
    event = QWheelEvent(
        middle,
        plot.mapToGlobal(middle),
        QPoint(),
        notch,
        Qt.MouseButton.NoButton,
        modifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    plot.wheelEvent(event)
    return event.isAccepted()


def test_the_wheel_alone_is_left_to_what_scrolls(plot: StackPlot) -> None:
    whole = plot.getViewBox().viewRange()[0]
    assert not turn_wheel(plot, Qt.KeyboardModifier.NoModifier)
    assert plot.getViewBox().viewRange()[0] == whole
    turn_wheel(plot, Qt.KeyboardModifier.ControlModifier)
    assert plot.getViewBox().viewRange()[0] != whole


def test_the_axis_begins_at_zero(plot: StackPlot) -> None:
    assert plot.getViewBox().viewRange()[0][0] == 0


def test_the_band_of_the_need_stands_under_its_bar_and_can_be_pointed_at(plot: StackPlot) -> None:
    marks = plot.marks()
    assert marks is not None
    bar, band = marks.bar_rect(2, 0, 24 * GIB), marks.need_rect(2)
    assert band.top() > bar.bottom()
    assert marks.scale.bytes_at(band.left()) == pytest.approx(23 * GIB)
    assert marks.scale.bytes_at(band.right()) == pytest.approx(25 * GIB)
    assert marks.is_on_need(band.center())
    assert not marks.is_on_need(bar.center())


def test_what_was_measured_stands_in_chart_legend_and_sentence(estimate: Estimate) -> None:
    seen = Measurement(21 * GIB, None, 23 * GIB, estimated_bytes=22 * GIB, narrows=False)
    plain, chart = stack_chart(estimate, "gib"), stack_chart(dataclasses.replace(estimate, measured=seen), "gib")
    assert chart.measured == (("tensors", 21 * GIB), ("monitor", 23 * GIB))
    assert "measured" in legend_texts(chart)
    assert "measured" not in legend_texts(plain)
    assert chart_sentence(chart).endswith("Measured: tensors 21.0 GiB, monitor 23.0 GiB.")
