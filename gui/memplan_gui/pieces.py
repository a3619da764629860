"""Layouts, labels and small buttons in one line each, so that code says what stands where and not how Qt is called."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont, QFontDatabase, QFontInfo
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from memplan_gui.screen_room import within_screen
from memplan_gui.wrapped_label import WrappedLabel

Margins = tuple[int, int, int, int]
NONE: Margins = (0, 0, 0, 0)
SMALL_ICON = 12


PLAIN_PIXELS = 13
"""The text size that widths in pixels are meant for."""


MOST_WIDER = 1.5
"""How much wider the plan may become for larger text: the answer needs room as well."""


def body_pixels() -> int:
    """The size of all text. An error may be told before the theme, and with it a size in pixels, is there."""
    return QFontInfo(QApplication.font()).pixelSize()


def scaled(pixels: int, most: float = 4.0) -> int:
    """A width or height that holds text, at the text size that the person has; at most so many times as much."""
    size = body_pixels()
    return round(pixels * min(max(1.0, size / PLAIN_PIXELS), most))


def window_size(usual: QSize) -> QSize:
    """How large a dialog opens: larger text needs more room, as far as the screen has it."""
    return within_screen(QSize(scaled(usual.width(), MOST_WIDER), scaled(usual.height(), MOST_WIDER)))


def fixed_font() -> QFont:
    """The font of files and reports, in the size of all text."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPixelSize(body_pixels())
    return font


def row(owner: QWidget | None = None, *, spacing: int = 0, margins: Margins = NONE) -> QHBoxLayout:
    """A layout from left to right; of the owner, where one is given. Margins: left, top, right, bottom."""
    layout = QHBoxLayout(owner) if owner is not None else QHBoxLayout()
    layout.setSpacing(spacing)
    layout.setContentsMargins(*margins)
    return layout


def column(owner: QWidget | None = None, *, spacing: int = 0, margins: Margins = NONE) -> QVBoxLayout:
    """A layout from top to bottom; of the owner, where one is given. Margins: left, top, right, bottom."""
    layout = QVBoxLayout(owner) if owner is not None else QVBoxLayout()
    layout.setSpacing(spacing)
    layout.setContentsMargins(*margins)
    return layout


def turn(layout: QBoxLayout, *, down: bool, spacing: int) -> None:
    """Let a row go down instead of across where it lacks width."""
    directions = QBoxLayout.Direction
    layout.setDirection(directions.TopToBottom if down else directions.LeftToRight)
    layout.setSpacing(4 if down else spacing)


def label(text: str = "", role: str = "", *, wraps: bool = False, selectable: bool = False) -> QLabel:
    """A label; `role` names its text size and colour in the style sheet."""
    result = WrappedLabel(text) if wraps else QLabel(text)
    as_label(result, role, selectable=selectable)
    return result


def as_label(widget: QLabel, role: str, *, selectable: bool = False) -> None:
    """Make a label one of ours: `role` names its text size and colour in the style sheet."""
    widget.setTextFormat(Qt.TextFormat.PlainText)  # names and messages are shown, never interpreted
    widget.setProperty("role", role)
    if selectable:
        widget.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)


def limit_lines(parent: QWidget, most: int | None) -> None:
    """Let the lines that Qt made in a dialog take no more letters than what they ask for may have."""
    for line in parent.findChildren(QLineEdit):
        line.setMaxLength(line.maxLength() if most is None else most)


def tool_button(role: str, name: str, *, text: str = "", tip: str = "", checkable: bool = False) -> QToolButton:
    """A button that the keyboard reaches; `name` is what a screen reader says."""
    result = QToolButton()
    result.setProperty("role", role)
    result.setAccessibleName(name)
    result.setText(text)
    result.setToolTip(tip)
    result.setCheckable(checkable)
    result.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    result.setIconSize(QSize(scaled(SMALL_ICON), scaled(SMALL_ICON)))
    return result


def tip(text: str) -> str:
    """A tooltip whose lines wrap: Qt wraps rich text alone."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", "<br>")
    return f"<qt>{safe}</qt>" if text else ""


def hairline() -> QFrame:
    """A thin line that separates."""
    line = QFrame()
    line.setObjectName("hairline")
    line.setFixedHeight(1)
    return line


def shown(widget: QWidget, visible: bool) -> None:
    """Show or hide a widget, where it is not so already: each change lays the window out anew."""
    if widget.isHidden() == visible:
        widget.setVisible(visible)
