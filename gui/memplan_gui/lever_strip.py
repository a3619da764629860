"""The levers under the chart: cards that toggle, each with what it saves now and its price."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QEnterEvent,
    QFont,
    QFontMetrics,
    QHideEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QAbstractButton, QGridLayout, QSizePolicy, QWidget

from memplan import tr, translated
from memplan_gui.help_topics import TOPIC, topic_of_lever
from memplan_gui.icons import paint_icon
from memplan_gui.pieces import MOST_WIDER, scaled, tip
from memplan_gui.presenters.levers import LeverCard
from memplan_gui.stylesheet import RADIUS
from memplan_gui.theme import Theme

CARD_HEIGHT = 46
LEAST_CARD_WIDTH = 196
GAP = 8
PADDING = 10
ICON = 14


class LeverButton(QAbstractButton):
    """One lever: title and saving, price under them. Space toggles it."""

    def __init__(self, theme: Theme, number: int) -> None:
        super().__init__()
        self._theme = theme
        self._card: LeverCard | None = None
        self.number = number
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def card(self) -> LeverCard | None:
        """What it shows."""
        return self._card

    def show_card(self, card: LeverCard) -> None:
        """Show a lever as it is now."""
        if card == self._card:
            self.setChecked(card.is_on)
            return
        self._card = card
        self.setChecked(card.is_on)
        title = translated(card.title)
        self.setText(title)
        self.setAccessibleName(title)
        self.setAccessibleDescription(card.spoken)
        self.setProperty(TOPIC, topic_of_lever(card.title))
        shortcut = tr("{keys} toggles it.").format(keys=f"Ctrl+{self.number}")
        has_shortcut = card.applies and self.number <= 9
        self.setToolTip(tip(f"{card.tip}\n{shortcut}" if has_shortcut else card.tip))
        self.update()

    def nextCheckState(self) -> None:  # noqa: N802  # Qt's name
        """The plan decides whether it is on; the card only asks."""

    def sizeHint(self) -> QSize:
        """Two lines of text."""
        return QSize(scaled(LEAST_CARD_WIDTH, MOST_WIDER), scaled(CARD_HEIGHT))

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show that it can be pressed."""
        super().enterEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint frame, title, saving and price."""
        if self._card is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_frame(painter, self._card)
        self._paint_words(painter, self._card)

    def _paint_frame(self, painter: QPainter, card: LeverCard) -> None:
        theme = self._theme
        fill = "accent_soft" if card.is_on else "hover" if self.underMouse() and card.applies else "field"
        edge = "accent" if card.is_on or self.hasFocus() else "border" if card.applies else "hairline"
        width = 2.0 if self.hasFocus() else 1.0
        painter.setPen(QPen(theme.colour(edge), width))
        painter.setBrush(theme.colour(fill) if card.applies else Qt.BrushStyle.NoBrush)
        inset = width / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), RADIUS, RADIUS)

    def _paint_words(self, painter: QPainter, card: LeverCard) -> None:
        theme, icon = self._theme, scaled(ICON)
        body, caption = theme.font("body"), theme.font("caption")
        top = QRect(PADDING, scaled(5), self.width() - 2 * PADDING, scaled(20))
        below = QRect(PADDING, scaled(25), self.width() - 2 * PADDING, scaled(16))
        left, right = top.left(), top.right() + 1
        if card.is_on:
            paint_icon(painter, "check", QRectF(left, top.top() + 3, icon, icon), theme.colour("accent"))
            left += icon + 6
        painter.setFont(body)
        painter.setPen(theme.colour("text" if card.applies else "faint"))
        saving_width = QFontMetrics(body).horizontalAdvance(card.saving)
        title = QRect(QPoint(left, top.top()), QPoint(right - saving_width - 4, top.bottom()))
        _draw(painter, body, title, translated(card.title), Qt.AlignmentFlag.AlignLeft)
        _draw(painter, body, QRect(right - saving_width, top.top(), saving_width + 1, top.height()), card.saving)
        painter.setPen(theme.colour("muted" if card.applies else "faint"))
        if card.then is not None:
            width = QFontMetrics(caption).horizontalAdvance(card.then_words)
            _draw(painter, caption, below, card.then_words)
            sign = QRectF(below.right() - width - icon - 3, below.top() + 1, icon, icon)
            paint_icon(painter, card.then_icon, sign, theme.colour(card.then))
            painter.setPen(theme.colour("muted"))
            below = below.adjusted(0, 0, -(width + icon + 10), 0)
        _draw(painter, caption, below, card.caption, Qt.AlignmentFlag.AlignLeft)


class LeverStrip(QWidget):
    """All levers, in as many columns as there is room for."""

    toggled = Signal(str)
    """The lever that the person pressed, by its id."""
    seen = Signal(bool)
    """Whether its view is in front now."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.buttons: list[LeverButton] = []
        self.others: tuple[LeverCard, ...] = ()
        """Levers that have no card."""
        self._ids: tuple[str, ...] = ()
        self._keeps = False
        self._columns = 0
        self._grid = QGridLayout(self)
        self._grid.setSpacing(GAP)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self.setAccessibleName(tr("Levers"))
        theme.changed.connect(self.update)

    def show_cards(self, cards: tuple[LeverCard, ...], others: tuple[LeverCard, ...] = ()) -> None:
        """Show these levers as they are now, and keep the others for a menu."""
        self.others, self._ids, self._keeps = others, tuple(card.id for card in cards), False
        while len(self.buttons) < len(cards):
            button = LeverButton(self._theme, len(self.buttons) + 1)
            button.setParent(self)  # shown without one, it would be a window of its own until it has its place
            button.clicked.connect(lambda _=False, button=button: self._pressed(button))
            self.buttons.append(button)
            self._columns = 0
        for button, card in zip(self.buttons, cards, strict=False):
            button.show_card(card)
        for position, button in enumerate(self.buttons):
            button.setVisible(position < len(cards))
        self._place()

    @property
    def kept(self) -> tuple[str, ...]:
        """The levers that keep their cards: all that have one when one of them was just flipped, so that none jumps."""
        return self._ids if self._keeps else ()

    def press(self, number: int) -> None:
        """Press the lever of that number, counted from 1."""
        if number <= len(self.buttons):
            self.buttons[number - 1].click()

    def _pressed(self, button: LeverButton) -> None:
        if button.card is not None and button.card.applies:
            self._keeps = True
            self.toggled.emit(button.card.id)

    def _place(self) -> None:
        if not self.buttons:
            return
        columns = even_columns(len(self.buttons), (self.width() + GAP) // (scaled(LEAST_CARD_WIDTH, MOST_WIDER) + GAP))
        if columns == self._columns:
            return
        for column in range(self._grid.columnCount()):
            self._grid.setColumnStretch(column, 0)
        self._columns = columns
        for position, button in enumerate(self.buttons):
            self._grid.addWidget(button, position // columns, position % columns)
        for column in range(columns):
            self._grid.setColumnStretch(column, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the cards anew when more or fewer fit side by side."""
        self._place()

    def showEvent(self, event: QShowEvent) -> None:
        """The cards can be pressed by their numbers."""
        super().showEvent(event)
        self.seen.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody sees which card has which number."""
        super().hideEvent(event)
        self.seen.emit(False)


def even_columns(num_cards: int, most: int) -> int:
    """In how many columns cards stand, so that no line holds a single one while another is full.

    >>> even_columns(8, 7), even_columns(8, 4), even_columns(7, 9)
    (4, 4, 7)
    """
    num_lines = -(-num_cards // max(most, 1))
    return -(-num_cards // num_lines)


def _draw(
    painter: QPainter,
    font: QFont,
    place: QRect,
    text: str,
    side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignRight,
) -> None:
    painter.setFont(font)
    shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, place.width() + 1)
    painter.drawText(place, side | Qt.AlignmentFlag.AlignVCenter, shown)
