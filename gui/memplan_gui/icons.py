"""The icon set: SVG files tinted by role, painted sharp at any scale."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from memplan import resource, text_on

SIZES = (16, 24, 32, 48)
TINTED = (
    *("memplan", "advice", "check", "chevron-down", "chevron-right", "close", "plus", "search", "star", "star-filled"),
    *("verdict-does-not-fit", "verdict-fits", "verdict-tight", "verdict-unknown"),
)
STYLE_SHEET_ICONS = {
    "chevron": "chevron-down",
    "close": "close",
    "check": "check",
    "back": "folder-back",
    "forward": "folder-forward",
    "parent": "folder-parent",
    "new_folder": "folder-new",
    "listed": "files-listed",
    "detailed": "files-detailed",
}
"""The pictures of the style sheet by its names for them: the last six are those of Qt's own dialog of files."""
IN_STYLE_SHEET = tuple(f"{name}-{scheme}" for name in STYLE_SHEET_ICONS.values() for scheme in ("dark", "light"))
"""Pictures that a style sheet cannot tint: one for each scheme."""


def icon_file(name: str) -> Path:
    """Where the icon's SVG file lies."""
    return Path(resource("icons", f"{name}.svg"))


@lru_cache(maxsize=256)
def _renderer(name: str, colour: str) -> QSvgRenderer:
    # Tinting by text keeps the icon a vector: it is painted at the size and scale that the screen has.
    svg = icon_file(name).read_text(encoding="utf-8")
    svg = svg.replace("currentColor", colour).replace("#ffffff", text_on(colour))
    # Qt writes paths without a line into an SVG with a black one; a hair of the fill's own colour stays that.
    svg = svg.replace('stroke="none"', f'stroke="{colour}" stroke-width="0.1"')
    return QSvgRenderer(QByteArray(svg.encode()))


def paint_icon(painter: QPainter, name: str, rect: QRectF, colour: QColor) -> None:
    """Paint the icon into the rectangle in that colour."""
    _renderer(name, colour.name()).render(painter, rect)


def pixmap(name: str, colour: QColor, size: int, scale: float = 1.0) -> QPixmap:
    """The icon as a picture of `size` by `size` pixels on a screen of that scale."""
    result = QPixmap(round(size * scale), round(size * scale))
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    _renderer(name, colour.name()).render(painter)
    painter.end()
    result.setDevicePixelRatio(scale)
    return result


def icon(name: str, colour: QColor) -> QIcon:
    """The icon for buttons, menus and tabs."""
    result = QIcon()
    for size in SIZES:
        result.addPixmap(pixmap(name, colour, size))
    return result
