"""A painted picture as SVG, PNG, PDF or on the clipboard. The same paint function serves them all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QRectF, QSizeF, QUuid
from PySide6.QtGui import QImage, QPageLayout, QPageSize, QPainter, QPdfWriter
from PySide6.QtSvg import QSvgGenerator

from memplan import MemplanError, printable, tr, write_file

Paint = Callable[[QPainter], None]
SVG_DPI = 96
PDF_DPI = 600
PNG_SCALE = 2.0


def today() -> date:
    """The day here; or the one that SOURCE_DATE_EPOCH says, for who wants the same file tomorrow."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isdecimal():
        with suppress(OverflowError, OSError, ValueError):  # it is beyond what has a date
            return datetime.fromtimestamp(int(epoch), tz=UTC).date()
    return datetime.now().astimezone().date()


def image_of(paint: Paint, size: QSizeF, scale: float = PNG_SCALE) -> QImage:
    """The picture in pixels, so many times as fine as its size says."""
    image = QImage(round(size.width() * scale), round(size.height() * scale), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(scale)
    image.fill(0xFFFFFFFF)
    painter = QPainter(image)
    paint(painter)
    painter.end()
    return image


def png_bytes(paint: Paint, size: QSizeF, scale: float = PNG_SCALE) -> bytes:
    """The picture as a PNG file's bytes."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image_of(paint, size, scale).save(buffer, "PNG")  # type: ignore[call-overload]  # the stub knows only bytes for the format
    return bytes(buffer.data().data())


def svg_bytes(paint: Paint, size: QSizeF, title: str) -> bytes:
    """The picture as an SVG file's bytes: bars are rectangles and text is text, in any font where ours is not known."""
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
    text = _NO_XML.sub(lambda found: printable(found.group()), bytes(buffer.data().data()).decode())
    return _FAMILY.sub("font-family=\"'\\1', sans-serif\"", text).encode()


def pdf_bytes(pages: Sequence[Paint], size: QSizeF, title: str, day: date) -> bytes:
    """Pictures as a PDF file's bytes, each on a page of its own size; the same pictures give the same bytes all day."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setTitle(title)
    writer.setDocumentId(QUuid.createUuidV5(_NAMESPACE, title.encode()))
    writer.setResolution(PDF_DPI)
    page = QPageSize(size * 72 / SVG_DPI, QPageSize.Unit.Point)
    writer.setPageLayout(QPageLayout(page, QPageLayout.Orientation.Portrait, QMarginsF()))
    painter = QPainter(writer)
    for number, paint in enumerate(pages):
        if number:
            writer.newPage()
        painter.save()
        painter.scale(PDF_DPI / SVG_DPI, PDF_DPI / SVG_DPI)
        paint(painter)
        painter.restore()
    painter.end()
    return _dated(bytes(buffer.data().data()), day)


def export(path: Path, pages: Sequence[Paint], size: QSizeF, title: str, day: date, scale: float = PNG_SCALE) -> None:
    """Write pictures to a file in the format that its name says, whole or not at all; PNG and SVG hold the first.

    Args:
        path: ends in .png, .svg or .pdf.
        pages: what paints each picture, at the origin.
        size: of each picture, 96 to the inch.
        title: of the document.
        day: when a PDF says it was made.
        scale: of a PNG, how many pixels stand for each of the size's.

    Raises:
        MemplanError: the format is unknown, or the file cannot be written.
    """
    suffix = path.suffix.lower().lstrip(".")
    if suffix == "png":
        data = png_bytes(pages[0], size, scale)
    elif suffix == "svg":
        data = svg_bytes(pages[0], size, title)
    elif suffix == "pdf":
        data = pdf_bytes(pages, size, title, day)
    else:
        found = (
            tr(".{ending} is not a picture format that memplan writes.") if suffix else tr("the name has no ending.")
        )
        remedy = tr("End it in .png, .svg or .pdf.")
        raise MemplanError(found.format(ending=suffix), place=path.name, remedy=remedy)
    write_file(path, data)


_NAMESPACE = QUuid("{6f4f3c0e-5a0b-4f0e-9c52-6d3a7c1d8e21}")
_NO_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""What XML 1.0 has no form for, not even an escaped one (section 2.2). Names may hold it, and Qt writes it as it is."""
_FAMILY = re.compile(r'font-family="([^"\',]+)"')
_INFO_DATE = re.compile(rb"D:\d{14}Z")
_XMP_DATE = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d")


def _dated(pdf: bytes, day: date) -> bytes:
    """The PDF with the day alone for the moments that Qt wrote: as many letters, so that no offset in it moves."""
    pdf = _INFO_DATE.sub(day.strftime("D:%Y%m%d000000Z").encode(), pdf)
    return _XMP_DATE.sub(f"{day.isoformat()}T00:00:00+00:00".encode(), pdf)
