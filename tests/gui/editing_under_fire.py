"""Edits a plan without saving it until it is killed; says after each edit what the plan holds, and when.

python editing_under_fire.py FOLDER
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QTimer

from memplan_gui.document import PlanDocument
from memplan_gui.recovery import Recovery

app = QCoreApplication(sys.argv)
document = PlanDocument()
recovery = Recovery(document, Path(sys.argv[1]), document)
count = 0


def edit() -> None:
    global count  # a script's only state
    count += 1
    document.edit("notes", str(count))
    sys.stdout.write(f"{count} {time.monotonic()}\n")
    sys.stdout.flush()


timer = QTimer()
timer.timeout.connect(edit)
timer.start(20)
app.exec()
