"""What the window's start is held against: the least that QtWidgets can show, or that with one pyqtgraph chart.

    python -m benchmarks.bare_window [--chart]

Prints `mark first_paint CPU` and, with a chart, `mark all_painted CPU` on standard error, and ends; CPU is the seconds
of processors that it took until then.
"""

from __future__ import annotations

import sys
import time

from PySide6.QtCore import QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow


def mark(name: str) -> None:
    """Says that the start has come this far."""
    print(f"mark {name} {time.process_time():.4f}", file=sys.stderr, flush=True)


class BareWindow(QMainWindow):
    """A window of memplan's size with a word in it; says when it was first painted."""

    def __init__(self, *, chart: bool) -> None:
        super().__init__()
        self._chart = chart
        self._painted = False
        self.resize(1280, 800)
        self.setCentralWidget(QLabel("memplan"))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            mark("first_paint")
            QTimer.singleShot(0, self.add_chart if self._chart else QApplication.quit)

    def add_chart(self) -> None:
        """Puts one bar chart into the window; pyqtgraph is loaded only now, as memplan does."""
        from pyqtgraph import BarGraphItem, PlotWidget

        class Chart(PlotWidget):
            def paintEvent(self, event: QPaintEvent) -> None:
                super().paintEvent(event)
                mark("all_painted")
                QTimer.singleShot(0, QApplication.quit)

        chart = Chart()
        chart.addItem(BarGraphItem(x=[0, 1, 2, 3, 4], height=[3, 4, 5, 4, 2], width=0.6))
        self.setCentralWidget(chart)


if __name__ == "__main__":
    application = QApplication(sys.argv[:1])
    window = BareWindow(chart="--chart" in sys.argv[1:])
    window.show()
    sys.exit(application.exec())
