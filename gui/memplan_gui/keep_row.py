"""What must stay as it is while a plan is made to fit."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QToolButton

from memplan import PREFERENCE_TITLES, PREFERENCE_WORDS, PREFERENCES, Preference, tr, translated
from memplan_gui.flow_row import FlowRow
from memplan_gui.icons import icon
from memplan_gui.pieces import SMALL_ICON, scaled, tip, tool_button
from memplan_gui.theme import Theme


class KeepRow(FlowRow):
    """What must stay as it is: a toggle for each, as wide as its words."""

    def __init__(self, theme: Theme) -> None:
        self.toggles = {one: _toggle(one) for one in PREFERENCES}
        super().__init__(tuple(self.toggles.values()))
        self._theme = theme
        self.setAccessibleName(tr("What must stay as it is"))
        for toggle in self.toggles.values():
            toggle.toggled.connect(self._draw)
        theme.changed.connect(self._draw)
        self._draw()

    def _draw(self) -> None:
        """Mark what is kept: its fill alone looks much like the ring of the keyboard's place.

        The tick's room stays where there is none, so that no toggle moves.
        """
        tick, none = icon("check", self._theme.colour("accent")), _no_tick()
        for toggle in self.toggles.values():
            toggle.setIcon(tick if toggle.isChecked() else none)


def _toggle(one: Preference) -> QToolButton:
    title = translated(PREFERENCE_TITLES[one])
    toggle = tool_button("button", tr("Keep: {what}").format(what=title), text=title, checkable=True)
    toggle.setToolTip(tip(translated(PREFERENCE_WORDS[one])))
    toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    return toggle


def _no_tick() -> QIcon:
    room = QPixmap(scaled(SMALL_ICON), scaled(SMALL_ICON))
    room.fill(Qt.GlobalColor.transparent)
    return QIcon(room)
