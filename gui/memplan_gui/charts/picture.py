"""A chart as a picture that stands alone: what paints it, its size, and the words at its head."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QFontInfo, QGuiApplication, QPainter

from memplan import plain_numbers
from memplan_gui.charts.look import ChartLook, TextKind, chart_fonts, paper_look

PICTURE_SIZE = QSizeF(960, 480)
PICTURE_MARGIN = 24.0
LINE = 20.0
MOST_SENTENCE_LINES = 3
PAPER_PIXELS = 13
"""The text size of pictures, whatever that of the window is: the same plan gives the same file."""

Head = tuple[str, str, str]
"""Title, subtitle and sentence."""


class Picture(NamedTuple):
    """Something to export or to copy."""

    paint: Callable[[QPainter], None]
    """Paints it at the origin."""
    size: QSizeF


def paper() -> ChartLook:
    """The look of everything that leaves the window: on white, whatever the theme is. Needs a Qt application."""
    return paper_look(*chart_fonts(QFontInfo(QGuiApplication.font()).family(), PAPER_PIXELS))


def framed(look: ChartLook, head: Head, size: QSizeF, paint: Callable[[QPainter, QRectF], None]) -> Picture:
    """A picture of a fixed size: the head, and a chart in the rectangle under it, margins left free."""
    lines = _head_lines(look, head, size.width())
    body = QRectF(QPointF(0, 0), size).adjusted(PICTURE_MARGIN, _end(lines), -PICTURE_MARGIN, -PICTURE_MARGIN / 2)
    return Picture(lambda painter: _paint_framed(painter, look, lines, size, body, paint), size)


def framed_rows(
    look: ChartLook, head: Head, height: Callable[[float], float], paint: Callable[[QPainter, QRectF], None]
) -> Picture:
    """A picture as high as its chart needs in the width that there is."""
    lines, width = _head_lines(look, head, PICTURE_SIZE.width()), PICTURE_SIZE.width() - 2 * PICTURE_MARGIN
    body = QRectF(PICTURE_MARGIN, _end(lines) + 4, width, height(width))
    size = QSizeF(PICTURE_SIZE.width(), round(body.bottom() + PICTURE_MARGIN))
    return Picture(lambda painter: _paint_framed(painter, look, lines, size, body, paint), size)


@plain_numbers()
def _paint_framed(
    painter: QPainter,
    look: ChartLook,
    lines: list[tuple[TextKind, str]],
    size: QSizeF,
    body: QRectF,
    paint: Callable[[QPainter, QRectF], None],
) -> None:
    painter.fillRect(QRectF(QPointF(0, 0), size), look.colour("window"))
    top = PICTURE_MARGIN - 4
    for kind, text in lines:
        paint_line(painter, look, text, QRectF(PICTURE_MARGIN, top, size.width() - 2 * PICTURE_MARGIN, LINE), kind)
        top += LINE
    painter.save()
    paint(painter, body)
    painter.restore()


def _head_lines(look: ChartLook, head: Head, width: float) -> list[tuple[TextKind, str]]:
    """Title and subtitle in a line each, the sentence in as many as it takes; what is empty takes none."""
    title, subtitle, sentence = head
    room = width - 2 * PICTURE_MARGIN
    words = wrap(look, "body", sentence, room)
    if len(words) > MOST_SENTENCE_LINES:
        words = [*words[: MOST_SENTENCE_LINES - 1], " ".join(words[MOST_SENTENCE_LINES - 1 :])]
    lines: list[tuple[TextKind, str]] = [("bold", title), ("caption", subtitle), *(("body", line) for line in words)]
    return [(kind, text) for kind, text in lines if text]


def _end(lines: list[tuple[TextKind, str]]) -> float:
    return PICTURE_MARGIN + LINE * len(lines)


def wrap(look: ChartLook, kind: TextKind, text: str, width: float) -> list[str]:
    """Break a text into lines no wider than that, between words; a word alone may be wider."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and look.width(kind, f"{lines[-1]} {word}") <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines


def paint_line(painter: QPainter, look: ChartLook, text: str, place: QRectF, kind: TextKind = "body") -> None:
    """Paint one line of words, cut where it is too long."""
    painter.setPen(look.colour("muted" if kind == "caption" else "text"))
    look.write(painter, kind, look.elided(kind, text, place.width()), place)
