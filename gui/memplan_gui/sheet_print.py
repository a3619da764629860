"""The sheet on paper: a preview, and the printer behind it. Loaded when somebody prints."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPalette
from PySide6.QtPrintSupport import QPrinter, QPrintPreviewDialog
from PySide6.QtWidgets import QGraphicsView, QWidget

from memplan import tr
from memplan_gui.charts.export import Paint
from memplan_gui.charts.sheet_picture import A4
from memplan_gui.pieces import window_size

SIZE = QSize(860, 1000)
"""The page can be read, and every button of the bar above it is seen."""


def preview(window: QWidget, title: str, paint: Paint) -> None:
    """Show the sheet as it will be printed; the person prints it from there, or not."""
    printer = QPrinter(QPrinter.PrinterMode.HighResolution)
    printer.setDocName(title)
    dialog = preview_dialog(window, printer, paint)
    dialog.exec()
    dialog.deleteLater()


def preview_dialog(window: QWidget, printer: QPrinter, paint: Paint) -> QPrintPreviewDialog:
    """Qt's own preview, as large as the page needs to be read, in the theme's colours. The printer must outlive it."""
    dialog = QPrintPreviewDialog(printer, window)
    dialog.setWindowTitle(tr("Print the design-review sheet"))
    dialog.paintRequested.connect(lambda paper: paint_on(paper, paint))
    dialog.resize(window_size(SIZE))
    for view in dialog.findChildren(QGraphicsView):  # what the page lies on is of one grey otherwise
        view.setBackgroundBrush(dialog.palette().color(QPalette.ColorRole.Mid))
    return dialog


def paint_on(printer: QPrinter, paint: Paint) -> None:
    """Paint an A4 sheet on whatever paper there is, as large as it fits, in the middle."""
    layout, dots = printer.pageLayout(), printer.resolution()
    page, inside = QRectF(layout.fullRectPixels(dots)), layout.paintRectPixels(dots)
    scale = min(page.width() / A4.width(), page.height() / A4.height())
    place = QRectF(0, 0, A4.width() * scale, A4.height() * scale)
    place.moveCenter(page.center())
    painter = QPainter(printer)
    painter.translate(-inside.left(), -inside.top())  # a printer's origin is inside its margins; the sheet has its own
    painter.translate(place.topLeft())
    painter.scale(scale, scale)
    paint(painter)
    painter.end()
