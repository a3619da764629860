"""The one-page sheet painted: the same function for PDF, PNG, SVG, print and preview."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainter, QPen

from memplan import number, tr
from memplan_gui.charts.axis import axis_height, paint_axis
from memplan_gui.charts.legend import legend_height, legend_texts, paint_legend, place_entries
from memplan_gui.charts.look import ChartLook, TextKind
from memplan_gui.charts.picture import wrap
from memplan_gui.charts.scale import Scale
from memplan_gui.charts.stack_marks import StackMarks, end_of_axis, paint_stack, row_labels_width
from memplan_gui.icons import paint_icon
from memplan_gui.presenters.sheet import LeverLine, Sheet

A4 = QSizeF(794, 1123)
"""210 × 297 mm at 96 pixels to the inch."""
MARGIN = 48.0
LINE = 19.0
SMALL_LINE = 16.0
BARS_HEIGHT = 190.0
LABEL_WIDTH = 84.0
SAVING_WIDTH = 76.0
NAME_WIDTH = 150.0
GAP = 14.0
PRICE_LEFT = NAME_WIDTH + SAVING_WIDTH + GAP
HEADING = GAP + LINE + 6
TITLE_SCALES = (1.5, 1.25)
MOST_WARNINGS = 4
LEAST_LEVERS = 4
"""With their prices, before evidence and remarks have all that they would say."""
MOST_NOTES = 3


def paint_sheet(painter: QPainter, page: Sheet, look: ChartLook) -> None:
    """Paint the whole page into an A4 sheet at the origin. What finds no room is counted in words, never cut."""
    painter.fillRect(QRectF(QPointF(0, 0), A4), look.colour("window"))
    pen = _Pen(painter, look)
    pen.title(page.title)
    pen.line("bold", "text", page.scenario)
    pen.line("body", "muted", page.subtitle)
    pen.skip(GAP)
    _verdict(pen, page)
    pen.skip(GAP)
    _chart(pen, page)
    pen.heading(tr("Assumptions"))
    for label, words in page.assumptions:
        pen.labelled(label, words)
    if page.notes:
        pen.labelled(tr("Notes"), page.notes, MOST_NOTES)
    evidence, warnings = _last_parts(pen, page)
    pen.keep_free(_height_of(evidence, warnings))
    pen.heading(tr("Levers: what each changes of the need now"))
    pen.levers(page)
    pen.keep_free(0)
    pen.heading(tr("Evidence: the nearest cases that are known"))
    pen.small_lines(evidence)
    if warnings:
        pen.heading(tr("Remarks"))
        pen.small_lines(warnings)
    pen.foot(page.footer)


class _Pen:
    """Writes from the top of the page to its bottom."""

    def __init__(self, painter: QPainter, look: ChartLook) -> None:
        self.painter, self.look = painter, look
        self.y = MARGIN
        self.width = A4.width() - 2 * MARGIN
        self._free = 0.0

    @property
    def room(self) -> float:
        """What is left above the footer and what must stand above it."""
        return A4.height() - MARGIN - LINE - self._free - self.y

    def keep_free(self, height: float) -> None:
        """Leave that much of the page to what follows."""
        self._free = height

    def lines_of(self, paragraphs: Iterable[str]) -> list[str]:
        """Paragraphs as small lines that fit the page's width."""
        return [line for words in paragraphs for line in wrap(self.look, "caption", words, self.width)]

    def small_lines(self, lines: Iterable[str]) -> None:
        """Write them, as many as find room."""
        for line in lines:
            if self.room >= SMALL_LINE:
                self.line("caption", "text", line)

    def skip(self, height: float) -> None:
        """Leave some white."""
        self.y += height

    def line(self, kind: TextKind, role: str, text: str, left: float = 0.0, width: float | None = None) -> None:
        """Write one line, cut at its end where it is too long."""
        height = SMALL_LINE if kind == "caption" else LINE
        room = self.width - left if width is None else width
        self._write(kind, role, self.look.elided(kind, text, room), MARGIN + left, height)
        self.y += height

    def title(self, text: str) -> None:
        """Write a text larger than the rest, in one line if it can be, in two at most."""
        fitting = (scale for scale in TITLE_SCALES if self.look.width("bold", text) * scale <= self.width)
        scale = next(fitting, TITLE_SCALES[-1])
        first, *others = wrap(self.look, "bold", text, self.width / scale)
        for line in (first, " ".join(others)) if others else (first,):
            self.painter.save()
            self.painter.translate(MARGIN, self.y)
            self.painter.scale(scale, scale)
            self.painter.setPen(self.look.colour("text"))
            shown = self.look.elided("bold", line, self.width / scale)
            self.look.write(self.painter, "bold", shown, QRectF(0, 0, self.width, LINE))
            self.painter.restore()
            self.y += LINE * scale
        self.skip(6)

    def heading(self, text: str) -> None:
        """Write a heading over a hairline."""
        self.skip(GAP)
        self.line("bold", "text", text)
        self.painter.setPen(QPen(self.look.colour("hairline"), 1))
        self.painter.drawLine(QPointF(MARGIN, self.y + 1), QPointF(MARGIN + self.width, self.y + 1))
        self.skip(6)

    def labelled(self, label: str, words: str, most: int | None = None) -> None:
        """Write a label, and words beside it; of more lines than `most` the first, and that there are more."""
        self._write("caption", "muted", label, MARGIN, SMALL_LINE)
        lines = wrap(self.look, "caption", words, self.width - LABEL_WIDTH)
        if most is not None and len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1]} …"]
        for line in lines:
            self.line("caption", "text", line, LABEL_WIDTH)

    def price_lines(self, lever: LeverLine) -> list[str]:
        """What a lever costs, in lines as wide as there is room beside its saving."""
        return wrap(self.look, "caption", lever.price, self.width - PRICE_LEFT)

    def levers(self, page: Sheet) -> None:
        """Write what each lever would do; which found no room is said by name."""
        left_out: list[str] = []
        prices = [self.price_lines(lever) for lever in page.levers]
        others = len(self.lines_of(page.other_levers))
        if self.room < (sum(map(len, prices)) + others) * SMALL_LINE:
            others += 2  # for the names of those without room
        for lever, lines in zip(page.levers, prices, strict=True):
            if self.room < (len(lines) + others) * SMALL_LINE:
                left_out.append(lever.title)
                continue
            self._write("caption", "text", lever.title, MARGIN, SMALL_LINE)
            at = MARGIN + NAME_WIDTH + SAVING_WIDTH - self.look.width("caption", lever.saving)
            self._write("caption", "text", lever.saving, at, SMALL_LINE)
            for line in lines:
                self.line("caption", "muted", line, PRICE_LEFT)
        unsaid = [tr("Also on offer: {levers}.").format(levers=", ".join(left_out))] if left_out else []
        for line in self.lines_of([*page.other_levers, *unsaid]):
            self.line("caption", "muted", line)

    def foot(self, text: str) -> None:
        """Write the last line of the page."""
        self.y = A4.height() - MARGIN - SMALL_LINE
        self.line("caption", "muted", text)

    def _write(self, kind: TextKind, role: str, text: str, left: float, height: float) -> None:
        if text:
            self.painter.setPen(self.look.colour(role))
            self.look.write(self.painter, kind, text, QRectF(left, self.y, self.width, height))


def _warnings(page: Sheet, most: int) -> list[str]:
    """The first warnings; of the others how many there are, what they are about, and where they are read."""
    words = [f"{field}: {what}" for field, what in page.warnings[:most]]
    rest = page.warnings[most:]
    if not rest:
        return words
    fields = ", ".join(dict.fromkeys(field for field, _ in rest))
    more = tr("{count} more, in memplan under the plan: {fields}.")
    told = more if words else tr("{count}, in memplan under the plan: {fields}.")
    return [*words, told.format(count=number(len(rest)), fields=fields)]


def _last_parts(pen: _Pen, page: Sheet) -> tuple[list[str], list[str]]:
    """Evidence and remarks as lines. Where the page is full they give way, so that some levers have their price."""
    levers = [len(pen.price_lines(lever)) for lever in page.levers[:LEAST_LEVERS]]
    least = (sum(levers) + len(pen.lines_of(page.other_levers)) + 2) * SMALL_LINE + HEADING
    for left_out, most in ((0, MOST_WARNINGS), (0, 3), (0, 2), (1, 2), (1, 1), (1, 0)):
        evidence = pen.lines_of(page.evidence[: len(page.evidence) - left_out])
        warnings = pen.lines_of(_warnings(page, most))
        if pen.room >= least + _height_of(evidence, warnings):
            break
    return evidence, warnings


def _height_of(evidence: list[str], warnings: list[str]) -> float:
    """What the last parts take of the page, their headings included."""
    return (len(evidence) + len(warnings) + 1) * SMALL_LINE + (2 if warnings else 1) * HEADING


def _verdict(pen: _Pen, page: Sheet) -> None:
    verdict, sign = page.verdict, QRectF(MARGIN, pen.y + 1, 32, 32)
    paint_icon(pen.painter, verdict.icon, sign, pen.look.colour(verdict.role))
    pen.line("bold", verdict.role, f"{verdict.word}: {verdict.margin}", 44)
    lines, room = [verdict.detail], pen.width - 44
    if pen.look.width("body", verdict.detail) > room:
        lines = [line for part in verdict.detail.split(" · ", 1) for line in wrap(pen.look, "body", part, room)]
    for line in lines:
        pen.line("body", "text", line, 44)


def _chart(pen: _Pen, page: Sheet) -> None:
    look, painter, chart = pen.look, pen.painter, page.chart
    pen.line("caption", "muted", page.chart_title)
    left, top = row_labels_width(chart, look), pen.y + SMALL_LINE + 6
    area = QRectF(left, top, pen.width - left, BARS_HEIGHT - axis_height(pen.look))
    scale = Scale(0.0, end_of_axis(chart, look, area.width()), area.left(), area.right())
    painter.save()
    painter.translate(MARGIN, 0)  # the names of the instants are written from the left edge on
    paint_stack(painter, StackMarks(chart, area, scale, look), clip=False)
    paint_axis(painter, chart.unit, area, scale, look)
    painter.restore()
    entries = place_entries(legend_texts(chart), look, pen.width)
    pen.y = area.bottom() + axis_height(pen.look) + 4
    paint_legend(painter, entries, QPointF(MARGIN, pen.y), look)
    pen.skip(legend_height(entries, pen.look))
