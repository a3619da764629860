"""Margins of the stacked chart on screen, the same before and after pyqtgraph is there: nothing may move then."""

from __future__ import annotations

from PySide6.QtCore import QSize

LEAST_CHART = QSize(320, 170)
TOP_MARGIN = 26
RIGHT_MARGIN = 16
