"""The line under the plan that says what the field at hand is, for who works by keyboard: hovering shows the same."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QScrollArea, QWidget

from memplan import tr
from memplan_gui.forms import FieldRow
from memplan_gui.pieces import column, hairline, label, shown
from memplan_gui.scroller import AROUND


class FieldHelp(QFrame):
    """Shown while a field of the panel has the keyboard; it takes its room from the foot, so that no field moves."""

    def __init__(self, panel: QWidget, scroll: QScrollArea) -> None:
        super().__init__()
        self._panel, self._scroll = panel, scroll
        self._words: QLabel = label("", "caption", wraps=True)
        parts = column(self)
        parts.addWidget(hairline())
        inner = column(margins=(16, 6, 12, 8))
        inner.addWidget(self._words)
        parts.addLayout(inner)
        self.hide()
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._focus_moved)

    @property
    def text(self) -> str:
        """What is said; empty when no field has the keyboard."""
        return "" if self.isHidden() else self._words.text()

    def _focus_moved(self, _: QWidget | None, now: QWidget | None) -> None:
        if now is None or now.window() is not self.window():
            return  # a list that pops up, another window: the field is still the one at hand
        line = row_of(now) if self._panel.isAncestorOf(now) else None
        if line is not None:
            self._words.setText(" ".join((line.help, tr("F1 says more."))))
        shown(self, line is not None)
        if line is not None:
            QTimer.singleShot(0, self, lambda: self._bring_into_sight(line.editor))

    def _bring_into_sight(self, editor: QWidget) -> None:
        """What is said took room from the form, and may have taken the field's."""
        layout = self._panel.layout()
        if layout is not None:
            layout.activate()
        self._scroll.ensureWidgetVisible(editor, 0, AROUND)


def row_of(widget: QWidget | None) -> FieldRow | None:
    """The row of the form that a widget stands in."""
    while widget is not None and not isinstance(widget, FieldRow):
        widget = widget.parentWidget()
    return widget
