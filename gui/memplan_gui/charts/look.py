"""The colours and fonts that a chart is painted with: of the theme on screen, of paper in an export."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen

from memplan_gui.colours import LIGHT, TERM_LOOKS, Roles, text_on

HATCH_SPACING = 6.0


@dataclass(frozen=True, slots=True)
class ChartLook:
    """Roles and three fonts. Fonts are sized in pixels, so that an export is the same at every resolution."""

    roles: Roles
    body: QFont
    bold: QFont
    caption: QFont

    def colour(self, role: str) -> QColor:
        """The colour of a role by its name in `Roles`."""
        return QColor(getattr(self.roles, role))


def paper_look(body: QFont, bold: QFont, caption: QFont) -> ChartLook:
    """The look of exports: light, whatever the window is."""
    return ChartLook(LIGHT, body, bold, caption)


def fill_term(painter: QPainter, rect: QRectF, term: str, outline: QColor) -> None:
    """Fill a rectangle as the term is filled everywhere, and outline it: colour alone never tells."""
    look = TERM_LOOKS[term]
    painter.fillRect(rect, QColor(look.colour))
    if look.hatched:
        hatch(painter, rect, QColor(text_on(look.colour)), rising=True)
    painter.setPen(QPen(outline, 1))
    painter.drawRect(rect)


def hatch(
    painter: QPainter, rect: QRectF, colour: QColor, *, rising: bool, width: float = 1.0, spacing: float = HATCH_SPACING
) -> None:
    """Draw diagonal lines over a rectangle.

    They are cut to the rectangle by arithmetic: neither clip paths nor pattern brushes survive in every SVG reader.
    """
    lines = []
    left, right, top, bottom = rect.left(), rect.right(), rect.top(), rect.bottom()
    offset = left - rect.height() - (left - rect.height()) % spacing
    while offset < right:
        start, end = max(left, offset), min(right, offset + rect.height())
        if end > start:
            low, high = start - offset, end - offset
            if rising:
                lines.append(QLineF(start, bottom - low, end, bottom - high))
            else:
                lines.append(QLineF(start, top + low, end, top + high))
        offset += spacing
    pen = QPen(colour, width)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(pen)
    painter.drawLines(lines)
