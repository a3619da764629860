"""Margins of the stacked chart on screen, the same before and after pyqtgraph is there: nothing may move then."""

from __future__ import annotations

TOP_MARGIN = 26
RIGHT_MARGIN = 16
AXIS_HEIGHT = 26
