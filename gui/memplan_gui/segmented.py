"""A few choices side by side, one of them on: for switches that a person flips often."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QSizePolicy, QToolButton, QWidget

from memplan import translated
from memplan_gui.pieces import row, tool_button


class Segmented(QWidget):
    """Exclusive buttons in a row. Arrow keys move between them, as in every group of exclusive buttons."""

    chosen = Signal(str)
    """The person chose; setting the value from outside says nothing."""

    def __init__(self, title: str, choices: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(title)
        self._group = QButtonGroup(self)
        self._buttons: dict[str, QToolButton] = {}
        buttons = row(self)
        for position, (name, choice) in enumerate(choices):
            text = translated(name)
            button = tool_button("segment", f"{title}: {text}", text=text, checkable=True)
            ends = {0: "first", len(choices) - 1: "last"}
            button.setProperty("end", ends.get(position, "none"))
            button.toggled.connect(lambda _: self._keep_one_stop())
            button.clicked.connect(lambda _=False, choice=choice: self.chosen.emit(choice))
            self._group.addButton(button)
            self._buttons[choice] = button
            buttons.addWidget(button)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def _keep_one_stop(self) -> None:
        """Tab stops at the choice that is on; arrow keys choose another."""
        is_open = not self.value()
        for button in self._buttons.values():
            by_tab = is_open or button.isChecked()
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if by_tab else Qt.FocusPolicy.ClickFocus)

    def value(self) -> str:
        """The choice that is on; empty when none is."""
        return next((choice for choice, button in self._buttons.items() if button.isChecked()), "")

    def set_value(self, value: str) -> None:
        """Turn a choice on."""
        if value in self._buttons:
            self._buttons[value].setChecked(True)

    def set_tool_tips(self, tips: dict[str, str]) -> None:
        """Say what the choices are for."""
        for choice, tip in tips.items():
            self._buttons[choice].setToolTip(tip)
