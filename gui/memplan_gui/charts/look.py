"""The colours and fonts that a chart is painted with: of the theme on screen, of paper in an export."""

from __future__ import annotations

from functools import cache
from typing import Literal

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from memplan import TERM_LOOKS, text_on
from memplan_gui.colours import LIGHT, Roles
from memplan_gui.pieces import PLAIN_PIXELS

HATCH_SPACING = 6.0
MOST_TEXTS = 5000
"""Widths of texts that are remembered: figures change with every edit."""


TextKind = Literal["body", "bold", "caption"]
Side = Literal["left", "centre", "right"]


class ChartLook:
    """Roles and three fonts. Fonts are sized in pixels, so that an export is the same at every resolution.

    A chart is painted many times with one look, so colours and widths of texts are worked out once.
    """

    def __init__(self, roles: Roles, body: QFont, bold: QFont, caption: QFont) -> None:
        self.roles = roles
        self.fonts: dict[TextKind, QFont] = {"body": body, "bold": bold, "caption": caption}
        self.zoom = max(1.0, body.pixelSize() / PLAIN_PIXELS)
        """How much larger the text is than the widths and heights of charts are meant for."""
        self._metrics = {kind: QFontMetricsF(font) for kind, font in self.fonts.items()}
        self._drops = {kind: (one.ascent() - one.descent()) / 2 for kind, one in self._metrics.items()}
        self._widths: dict[tuple[TextKind, str], float] = {}
        self._colours: dict[str, QColor] = {}

    def colour(self, role: str) -> QColor:
        """The colour of a role by its name in `Roles`, or a colour by its own."""
        known = self._colours.get(role)
        if known is None:
            known = self._colours[role] = QColor(role if role.startswith("#") else getattr(self.roles, role))
        return known

    def width(self, kind: TextKind, text: str) -> float:
        """How wide a text is."""
        known = self._widths.get((kind, text))
        if known is None:
            if len(self._widths) >= MOST_TEXTS:
                self._widths.clear()
            known = self._widths[kind, text] = self._metrics[kind].horizontalAdvance(text)
        return known

    def height(self, kind: TextKind) -> float:
        """How high a line of text is."""
        return self._metrics[kind].height()

    def elided(self, kind: TextKind, text: str, width: float) -> str:
        """The text, cut at its end where it is wider."""
        return self._metrics[kind].elidedText(text, Qt.TextElideMode.ElideRight, width)

    def write(self, painter: QPainter, kind: TextKind, text: str, place: QRectF, side: Side = "left") -> None:
        """Write one line of text into a rectangle, in the painter's pen."""
        left = place.left()
        if side != "left":
            left += (place.width() - self.width(kind, text)) * (0.5 if side == "centre" else 1.0)
        painter.setFont(self.fonts[kind])
        painter.drawText(QPointF(left, place.center().y() + self._drops[kind]), text)


def chart_fonts(family: str, body_pixels: int) -> tuple[QFont, QFont, QFont]:
    """Body, bold and caption of a real family: an SVG names its font, it does not carry it."""
    fonts = []
    for pixels, weight in ((body_pixels, 400), (body_pixels, 600), (body_pixels - 2, 400)):
        font = QFont(family)
        font.setPixelSize(pixels)
        font.setWeight(QFont.Weight(weight))
        fonts.append(font)
    return fonts[0], fonts[1], fonts[2]


def paper_look(body: QFont, bold: QFont, caption: QFont) -> ChartLook:
    """The look of exports: light, whatever the window is."""
    return ChartLook(LIGHT, body, bold, caption)


def fill_term(painter: QPainter, rect: QRectF, term: str, outline: QColor) -> None:
    """Fill a rectangle as the term is filled everywhere, and outline it: colour alone never tells."""
    fill, lines = _fill_of(term)
    painter.fillRect(rect, fill)
    if lines is not None:
        hatch(painter, rect, lines, rising=True)
    painter.setPen(outline)
    painter.drawRect(rect)


@cache
def _fill_of(term: str) -> tuple[QColor, QColor | None]:
    """The colour of a term, and of its hatching where it has one: reading a colour's name takes longer than a fill."""
    look = TERM_LOOKS[term]
    return QColor(look.colour), QColor(text_on(look.colour)) if look.hatched else None


def hatch(
    painter: QPainter, rect: QRectF, colour: QColor, *, rising: bool, width: float = 1.0, spacing: float = HATCH_SPACING
) -> None:
    """Draw diagonal lines over a rectangle.

    They are cut to the rectangle by arithmetic: neither clip paths nor pattern brushes survive in every SVG reader.
    """
    lines = []
    left, right, height = rect.left(), rect.right(), rect.height()
    side, away = (rect.bottom(), -1.0) if rising else (rect.top(), 1.0)
    offset = left - height - (left - height) % spacing
    while offset < right:
        start = left if left > offset else offset
        end = right if right < offset + height else offset + height
        if end > start:
            lines.append(QLineF(start, side + away * (start - offset), end, side + away * (end - offset)))
        offset += spacing
    pen = QPen(colour, width)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(pen)
    painter.drawLines(lines)
