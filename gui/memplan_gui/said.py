"""What was done, said for a while in a corner: it lies over what stands there, so that nothing moves for it."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtWidgets import QLabel, QWidget

from memplan_gui.announcing import announce

SAID_MS = 6000
MOST_SAID = 60


class Said(QLabel):
    """A few words in the lower right corner of a widget."""

    def __init__(self, owner: QWidget, margin: QPoint) -> None:
        super().__init__(owner)
        self._owner, self._margin = owner, margin
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", "said")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        self._silence = QTimer(self)
        self._silence.setSingleShot(True)
        self._silence.setInterval(SAID_MS)
        self._silence.timeout.connect(self._fall_silent)

    def say(self, text: str) -> None:
        """Say something for a while."""
        self.setText(text if len(text) <= MOST_SAID else text[: MOST_SAID - 1] + "…")
        self.place()
        self.show()
        self.raise_()
        self._silence.start()
        announce(self, text)

    def place(self) -> None:
        """Stand in the corner of what may have another size now."""
        self.adjustSize()
        self.move(self._owner.rect().bottomRight() - self.rect().bottomRight() - self._margin)

    def _fall_silent(self) -> None:
        self.clear()
        self.hide()
