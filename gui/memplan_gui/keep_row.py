"""What must stay as it is while a plan is made to fit."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QToolButton, QWidget

from memplan import PREFERENCE_TITLES, PREFERENCE_WORDS, PREFERENCES, Preference, tr, translated
from memplan_gui.icons import icon
from memplan_gui.lever_strip import even_columns
from memplan_gui.pieces import scaled, tip, tool_button
from memplan_gui.theme import Theme

KEEP_WIDTH = 104
LEAST_WIDTH = 80
GAP = 8


class KeepRow(QWidget):
    """What must stay as it is: a toggle for each, in as many columns as there is room for."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setAccessibleName(tr("What must stay as it is"))
        self.toggles: dict[Preference, QToolButton] = {}
        self._grid = QGridLayout(self)
        self._grid.setSpacing(GAP)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._columns = 0
        for one in PREFERENCES:
            title = translated(PREFERENCE_TITLES[one])
            toggle = tool_button("button", tr("Keep: {what}").format(what=title), text=title, checkable=True)
            toggle.setToolTip(tip(translated(PREFERENCE_WORDS[one])))
            toggle.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            toggle.setMinimumWidth(LEAST_WIDTH)  # otherwise all in one row would keep the window from narrowing
            toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            toggle.toggled.connect(self._draw)
            self.toggles[one] = toggle
        theme.changed.connect(self._draw)
        self._place(len(self.toggles))

    def _draw(self) -> None:
        """Mark what is kept: its fill alone looks much like the ring of the keyboard's place."""
        tick = icon("check", self._theme.colour("accent"))
        for toggle in self.toggles.values():
            toggle.setIcon(tick if toggle.isChecked() else QIcon())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the toggles anew when more or fewer fit side by side; text decides how low they may become."""
        for toggle in self.toggles.values():
            toggle.setMinimumHeight(toggle.sizeHint().height())
        widest = max(toggle.sizeHint().width() for toggle in self.toggles.values())
        needed = max(scaled(KEEP_WIDTH), widest) + GAP
        self._place(even_columns(len(self.toggles), (self.width() + GAP) // needed))

    def _place(self, columns: int) -> None:
        if columns != self._columns:
            self._columns = columns
            for position, toggle in enumerate(self.toggles.values()):
                self._grid.addWidget(toggle, position // columns, position % columns)
