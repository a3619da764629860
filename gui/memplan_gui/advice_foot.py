"""What the estimate advises about the plan, at the foot of its panel: it comes and goes, and no field moves."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QFrame

from memplan import Estimate, tr
from memplan_gui.pieces import column, hairline, label, scaled, shown
from memplan_gui.presenters.advice import advice_lines
from memplan_gui.scroller import Scroller

MOST_HEIGHT = 128
"""More advice than has room in it scrolls: the form keeps its own."""
SIDE, RIGHT = 16, 12


class AdviceFoot(QFrame):
    """Every piece of advice with the field that it speaks of; nothing while there is none."""

    def __init__(self) -> None:
        super().__init__()
        self._words = label("", "advice", wraps=True, selectable=True)
        self._words.setObjectName("advice_words")
        self._words.setAccessibleName(tr("Advice"))
        self._scroller = Scroller(self._words)
        parts = column(self)
        parts.addWidget(hairline())
        inner = column(margins=(SIDE, 6, RIGHT, 8))
        inner.addWidget(self._scroller)
        parts.addLayout(inner)
        self.hide()

    @property
    def text(self) -> str:
        """What is said; empty when there is no advice."""
        return self._words.text()

    def show_answer(self, estimate: Estimate | None) -> None:
        """Say what an estimate advises."""
        text = advice_lines(estimate) if estimate else ""
        if text != self._words.text():
            self._words.setText(text)
            self._settle()
        shown(self, bool(text))

    def _settle(self) -> None:
        """Take the height that the words need at this width; no words have none."""
        if not self._words.text():
            return
        width = self.width() - SIDE - RIGHT
        needed = self._words.heightForWidth(width) if width > 0 else self._words.sizeHint().height()
        most, policies = scaled(MOST_HEIGHT), Qt.ScrollBarPolicy
        # Where a bar may come, Qt lays the words out a second time beside it.
        self._scroller.setVerticalScrollBarPolicy(
            policies.ScrollBarAsNeeded if needed > most else policies.ScrollBarAlwaysOff
        )
        self._scroller.setFixedHeight(min(needed, most))

    def event(self, event: QEvent) -> bool:
        """Another width, or another text size, breaks lines elsewhere."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.FontChange):
            self._settle()
        return super().event(event)
