"""A card as an out-of-memory message has it: a bar of what is on it, what was asked for over the free part."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from memplan import tr
from memplan_gui.charts.look import ChartLook
from memplan_gui.colours import CARD_COLOURS, OVER
from memplan_gui.pieces import scaled
from memplan_gui.presenters.diagnosis import BarPart, CardBarPage
from memplan_gui.stylesheet import RADIUS
from memplan_gui.theme import Theme

BAR_HEIGHT = 28
TOP = 18
LINE_HEIGHT = 20
SWATCH = 10
BETWEEN = 18


class CardBar(QWidget):
    """The bar and, under it, what its parts are."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._page: CardBarPage | None = None
        self.setAccessibleName(tr("The card, as the message has it"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_page(self, page: CardBarPage | None) -> None:
        """Show another card; nothing where the message does not state its size."""
        self._page = page
        self.setVisible(page is not None)
        self.setAccessibleDescription(page.sentence if page else "")
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        """The words under the bar take as many lines as they need."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Bar and words."""
        lines = 1 + self._placed(width)[-1][1] if self._page else 0
        return scaled(TOP) + BAR_HEIGHT + 8 + scaled(LINE_HEIGHT) * lines

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(400, self.heightForWidth(max(self.width(), 400)))

    def resizeEvent(self, event: object) -> None:
        """The words under the bar may take other lines."""
        self.setFixedHeight(self.heightForWidth(self.width()))

    def _all(self) -> tuple[BarPart, ...]:
        page = self._page
        return () if page is None else (*page.parts, *((page.asked,) if page.asked else ()))

    def _placed(self, width: int) -> list[tuple[BarPart | None, int, float]]:
        """Each part's words: in which line, and where in it."""
        look, left, line = self._theme.chart_look, 0.0, 0
        found: list[tuple[BarPart | None, int, float]] = []
        for part in self._all():
            needed = SWATCH + 6 + look.width("caption", part.words)
            if left and left + needed > width:
                left, line = 0.0, line + 1
            found.append((part, line, left))
            left += needed + BETWEEN
        return found or [(None, 0, 0.0)]

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint bar, limit and words."""
        if self._page is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        look = self._theme.chart_look
        self._paint_bar(painter, look, self._page)
        self._paint_words(painter, look)

    def _paint_bar(self, painter: QPainter, look: ChartLook, page: CardBarPage) -> None:
        scale = (self.width() - 2) / max(page.longest_bytes, 1)
        left, top = 1.0, scaled(TOP)
        for part in page.parts:
            place = QRectF(left, top, part.num_bytes * scale, BAR_HEIGHT)
            self._take_colours(painter, look, part.name)
            painter.drawRect(place)
            left += place.width()
        if page.asked is not None:
            start = 1 + page.held_bytes * scale
            place = QRectF(start, top + 5, max(2.0, page.asked.num_bytes * scale), BAR_HEIGHT - 10)
            painter.setPen(QPen(QColor(OVER), 1.4))
            painter.setBrush(self._brush("asked", look))
            painter.drawRoundedRect(place, RADIUS / 2, RADIUS / 2)
        limit = 1 + page.capacity_bytes * scale
        painter.setPen(QPen(look.colour("text"), 1.6))
        painter.drawLine(QPointF(limit, top - 4), QPointF(limit, top + BAR_HEIGHT + 4))
        painter.setPen(look.colour("muted"))
        look.write(painter, "caption", page.capacity_words, QRectF(0, 0, limit, top - 4), "right")

    def _paint_words(self, painter: QPainter, look: ChartLook) -> None:
        height = scaled(LINE_HEIGHT)
        for part, line, left in self._placed(self.width()):
            if part is None:
                continue
            top = scaled(TOP) + BAR_HEIGHT + 8 + line * height
            self._take_colours(painter, look, part.name)
            painter.drawRect(QRectF(left + 0.5, top + (height - SWATCH) / 2, SWATCH, SWATCH))
            painter.setPen(look.colour("text"))
            look.write(painter, "caption", part.words, QRectF(left + SWATCH + 6, top, self.width(), height))

    def _take_colours(self, painter: QPainter, look: ChartLook, name: str) -> None:
        is_empty = name in ("free", "asked")
        painter.setPen(QPen(look.colour("text" if is_empty else "outline"), 1.0))
        painter.setBrush(self._brush(name, look))

    def _brush(self, name: str, look: ChartLook) -> QBrush:
        if name == "free":
            return QBrush(look.colour("window"))
        if name == "asked":
            return QBrush(QColor(OVER), Qt.BrushStyle.BDiagPattern)
        return QBrush(QColor(CARD_COLOURS[name]))
