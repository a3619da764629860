"""The answer, readable from across the room: does it fit, by how much, where is the peak; the recipe more quietly."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from memplan import tr, translated
from memplan_gui.announcing import announce
from memplan_gui.flow_row import FlowRow
from memplan_gui.icons import paint_icon
from memplan_gui.pieces import column, label, row, scaled, shown, tip, tool_button, turn
from memplan_gui.presenters.verdict import VerdictView
from memplan_gui.theme import Theme

ICON_SIZE = 40
NARROW = 300
LINK_ROOM = 6
"""What the frame of a link takes beside its words."""
PAUSE_MS = 700
"""How long nothing changes before a verdict is read aloud."""


class VerdictIcon(QWidget):
    """The verdict's sign: its shape tells what its colour tells."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._name, self._role = "verdict-unknown", "muted"
        size = scaled(ICON_SIZE, 1.5)
        self.setFixedSize(QSize(size, size))

    def show_icon(self, name: str, role: str) -> None:
        """Show another sign."""
        self._name, self._role = name, role
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the sign."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_icon(painter, self._name, QRectF(self.rect()).adjusted(2, 2, -2, -2), self._theme.colour(self._role))


class VerdictBar(QWidget):
    """Sign, word and margin; the sentence; recipe and basis."""

    basis_wanted = Signal()
    """What the estimate rests on is asked for."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._role = "muted"
        self._recipe_words = ""
        self.setAccessibleName(tr("Verdict"))
        self._icon = VerdictIcon(theme)
        self._word, self._margin = label("", "heading"), label("", "heading", wraps=True)
        self._detail = label(wraps=True, selectable=True)
        self._recipe = label("", "caption", wraps=True, selectable=True)
        self._basis = tool_button("link", tr("Basis"))
        self._basis.setCursor(Qt.CursorShape.PointingHandCursor)
        self._basis.clicked.connect(self.basis_wanted)
        self._measured = label("", "caption", wraps=True, selectable=True)
        self._spoken = ""
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(lambda: announce(self, self._spoken))
        self._arrange()
        theme.changed.connect(self._colour_word)

    def _arrange(self) -> None:
        head = self._head = row(spacing=12)
        head.addWidget(self._word)
        head.addWidget(self._margin, 1)
        words = column(spacing=2)
        words.addLayout(head)
        words.addWidget(self._detail)
        words.addWidget(FlowRow((self._recipe, self._basis), line_gap=0))
        words.addWidget(self._measured)
        whole = row(self, spacing=12)
        whole.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        whole.addLayout(words, 1)

    @property
    def text(self) -> str:
        """Everything that stands in the bar."""
        parts = (
            *(self._word.text(), self._margin.text(), self._detail.text()),
            *(self._recipe_words, self._measured.text()),
        )
        return "\n".join(part for part in parts if part)

    def show_verdict(self, view: VerdictView) -> None:
        """Show a verdict."""
        self._show(view.icon, view.role, view.word, view.margin, view.detail)
        for part in (self._word, self._margin, self._detail):
            part.setToolTip(tip(view.band))
        host = " · " + tr("Host: {amount}").format(amount=view.host) if view.host else ""
        basis = tr("Basis: {basis}").format(basis=translated(view.basis))
        self._recipe_words = f"{view.recipe} · {basis}{host}"
        self._recipe.setText(f"{view.recipe}{host}")
        self._basis.setText(basis)
        self._basis.ensurePolished()
        self._basis.setMaximumWidth(self._basis.fontMetrics().horizontalAdvance(self._basis.text()) + LINK_ROOM)
        show = tr("Show the evidence")
        self._basis.setAccessibleName(f"{basis}. {show}")
        self._basis.setToolTip(tip(f"{view.basis_sentence}\n{show}"))
        shown(self._basis, True)
        self._show_measured(view.measured)
        lines = [part for part in (view.recipe, view.basis_sentence, view.host_sentence, view.measured) if part]
        self._recipe.setToolTip(tip("\n".join(lines)))
        self.setAccessibleDescription(f"{view.sentence} {view.band} {'. '.join(lines)}")
        self._speak(view.sentence)

    def _show_measured(self, words: str) -> None:
        self._measured.setText(words)
        shown(self._measured, bool(words))

    def show_problem(self, problem: str) -> None:
        """Say why there is no verdict."""
        self._show("verdict-unknown", "muted", tr("No estimate"), "", problem)
        self._recipe.clear()
        shown(self._basis, False)
        self._recipe_words = ""
        self._show_measured("")
        for part in (self._word, self._margin, self._detail, self._recipe):
            part.setToolTip("")
        words = tr("No estimate: {problem}").format(problem=problem)
        self.setAccessibleDescription(words)
        self._speak(words)

    def _speak(self, words: str) -> None:
        """Have another verdict read aloud, once typing pauses."""
        if words != self._spoken:
            self._spoken = words
            self._pause.start()

    def _show(self, icon: str, role: str, word: str, margin: str, detail: str) -> None:
        self._icon.show_icon(icon, role)
        self._word.setText(word)
        self._margin.setText(margin)
        self._detail.setText(detail)
        self._role = role
        self._colour_word()

    def sizeHint(self) -> QSize:
        """As it stands: Qt's own would lay every text out at a width that the bar never has."""
        return QSize(self.width(), self.heightForWidth(self.width()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The margin stands under the word where it would be cut into many lines beside it."""
        super().resizeEvent(event)
        turn(self._head, down=self.width() < scaled(NARROW), spacing=12)

    def _colour_word(self) -> None:
        sheet = f"color: {self._theme.colour(self._role).name()}"
        if self._word.styleSheet() != sheet:  # reading one takes longer than anything else here
            self._word.setStyleSheet(sheet)
