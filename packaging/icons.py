"""Draws the application's icon for Windows (.ico) and macOS (.icns) from its SVG.

python icons.py FOLDER      (needs PySide6 and Pillow)
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PIL import Image
from PySide6.QtCore import QBuffer, QIODevice, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

SVG = Path(__file__).parents[1] / "resources" / "icons" / "memplan.svg"
COLOUR = "#4350C8"
ICO_SIZES = (16, 24, 32, 48, 64, 128, 256)
ICNS_SIZE = 1024


def drawn(size: int) -> Image.Image:
    """The icon as a picture of that many pixels a side."""
    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(SVG.read_text(encoding="utf-8").replace("currentColor", COLOUR).encode()).render(painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return Image.open(io.BytesIO(bytes(buffer.data().data()))).convert("RGBA")


def main(folder: Path) -> None:
    """Write both files."""
    _application = QGuiApplication.instance() or QGuiApplication(sys.argv[:1])
    folder.mkdir(parents=True, exist_ok=True)
    pictures = [drawn(size) for size in ICO_SIZES]
    pictures[-1].save(folder / "memplan.ico", sizes=[(size, size) for size in ICO_SIZES], append_images=pictures[:-1])
    drawn(ICNS_SIZE).save(folder / "memplan.icns")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
