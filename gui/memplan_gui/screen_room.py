"""How large windows and dialogs may be: never more than the screen has, whatever their contents would like."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication

FRAME = QSize(2, 34)
"""What the title bar and the edges around a window take of the screen."""


def within_screen(size: QSize) -> QSize:
    """The size, cut to what the screen has beside task bars and the window's own frame.

    Screens that are drawn larger have fewer points: 1920 × 1080 pixels at twice the size are 960 × 540.
    """
    return size.boundedTo(QGuiApplication.primaryScreen().availableSize() - FRAME)
