"""A choice among names that people give: one that is too long for the field shows that it goes on."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QStyle, QStyleOptionComboBox, QStylePainter

from memplan_gui.fields import ChoiceEdit

TEXT_MARGIN = 1
"""What styles leave free at either side of a choice."""


class NameChoice(ChoiceEdit):
    """One of a few names; the style alone cuts through the letters of a long one."""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the field with its name cut in the middle: names differ at their ends."""
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        field = QStyle.SubControl.SC_ComboBoxEditField
        place = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, self)
        room, words = place.width() - 2 * TEXT_MARGIN, self.currentText()
        option.currentText = self.fontMetrics().elidedText(words, Qt.TextElideMode.ElideMiddle, room)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
