"""A painted picture as SVG, PNG, PDF or on the clipboard. The same paint function serves them all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QRectF, QSizeF
from PySide6.QtGui import QImage, QPageLayout, QPageSize, QPainter, QPdfWriter
from PySide6.QtSvg import QSvgGenerator

from memplan import MemplanError, write_file

Paint = Callable[[QPainter], None]
SVG_DPI = 96
PDF_DPI = 600
PNG_SCALE = 2.0


def image_of(paint: Paint, size: QSizeF, scale: float = PNG_SCALE) -> QImage:
    """The picture in pixels, twice as fine as its size says."""
    image = QImage(round(size.width() * scale), round(size.height() * scale), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(scale)
    image.fill(0xFFFFFFFF)
    painter = QPainter(image)
    paint(painter)
    painter.end()
    return image


def png_bytes(paint: Paint, size: QSizeF) -> bytes:
    """The picture as a PNG file's bytes."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image_of(paint, size).save(buffer, "PNG")  # type: ignore[call-overload]  # the stub knows only bytes for the format
    return bytes(buffer.data().data())


def svg_bytes(paint: Paint, size: QSizeF, title: str) -> bytes:
    """The picture as an SVG file's bytes: bars are rectangles and text is text."""
    buffer = QBuffer()
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setResolution(SVG_DPI)
    generator.setSize(size.toSize())
    generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
    generator.setTitle(title)
    painter = QPainter(generator)
    paint(painter)
    painter.end()
    return bytes(buffer.data().data())


def pdf_bytes(paint: Paint, size: QSizeF, title: str) -> bytes:
    """The picture as a PDF file's bytes, on a page of its own size."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setTitle(title)
    writer.setResolution(PDF_DPI)
    page = QPageSize(size * 72 / SVG_DPI, QPageSize.Unit.Point)
    writer.setPageLayout(QPageLayout(page, QPageLayout.Orientation.Portrait, QMarginsF()))
    painter = QPainter(writer)
    painter.scale(PDF_DPI / SVG_DPI, PDF_DPI / SVG_DPI)
    paint(painter)
    painter.end()
    return bytes(buffer.data().data())


def export(path: Path, paint: Paint, size: QSizeF, title: str) -> None:
    """Write the picture to a file in the format that its name says, whole or not at all.

    Raises:
        MemplanError: the format is unknown, or the file cannot be written.
    """
    suffix = path.suffix.lower().lstrip(".")
    if suffix == "png":
        data = png_bytes(paint, size)
    elif suffix == "svg":
        data = svg_bytes(paint, size, title)
    elif suffix == "pdf":
        data = pdf_bytes(paint, size, title)
    else:
        found = f".{suffix} is not a picture format that memplan writes" if suffix else "the name has no ending"
        raise MemplanError(f"{found}.", place=path.name, remedy="End it in .png, .svg or .pdf.")
    write_file(path, data)
