"""Fit: every device held against a run, what is searched for, and the view with some hundred devices of one's own."""

from __future__ import annotations

import itertools
import json
import os
import tempfile
import time
from pathlib import Path

from PySide6.QtWidgets import QApplication
from rich.table import Table

from benchmarks.edit import MEMORY, open_window, settle, time_edits
from benchmarks.timing import EXAMPLE, Timing, table, time_calls
from memplan import FitWalks, Scenario, catalog, device_answer, device_fits, load_plan, replaced
from memplan_gui.fit_view import FitView

CORE_RUNS, FRAMES = 100, 100
OWN_DEVICES = 340
SCENARIO = load_plan(Path(EXAMPLE)).scenarios[0]


def measure() -> Table:
    """The core's answers, then the view's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "devices.json"
        path.write_text(json.dumps({"memplan_devices": 1, "devices": _own_devices()}), encoding="utf-8")
        os.environ["MEMPLAN_DEVICES"] = str(path)
        catalog.read_devices_again()
        try:
            return table("Fit", [*_core(), *_view(Path(folder) / "settings.ini")])
        finally:
            del os.environ["MEMPLAN_DEVICES"]
            catalog.read_devices_again()


def _core() -> list[Timing]:
    devices, lengths = catalog.devices(), itertools.count(1024, 8)
    most = f"verdict and need on {len(devices)} devices"
    fits = time_calls(most, lambda: device_fits(_other(next(lengths)), devices), runs=CORE_RUNS)
    (own,) = device_fits(SCENARIO, [catalog.device(SCENARIO.hardware.device)])
    one = time_calls(
        "fewest, batch and tokens of one device",
        lambda: device_answer(own, FitWalks(_other(next(lengths)))),
        runs=CORE_RUNS // 4,
    )
    twenty = device_fits(SCENARIO, devices[::25])

    def shared() -> None:
        walks = FitWalks(_other(next(lengths)))
        for fit in twenty:
            device_answer(fit, walks)

    return [fits, one, time_calls(f"the same of {len(twenty)} devices, a screenful", shared, runs=3)]


def _view(settings: Path) -> list[Timing]:
    window, turns = open_window(settings), itertools.count()
    memory = Timing.of("Memory in front: edit → painted", [one for one, _ in time_edits(window, MEMORY, turns)])
    edits = [one for one, _ in time_edits(window, "Fit", turns)]
    view = window.answer_panel.views.view("Fit")
    assert isinstance(view, FitView)
    fit = Timing.of(f"Fit in front ({len(view.table.devices.rows)} rows): edit → painted", edits, memory)
    view.finish()
    settle()
    frames = Timing("a frame of scrolling", tuple(_scroll(view, turn) for turn in range(FRAMES)))
    window.document.undo_stack.setClean()
    window.close()
    return [memory, fit, frames]


def _scroll(view: FitView, turn: int) -> float:
    bar = view.table.verticalScrollBar()
    start = time.perf_counter()
    bar.setValue((turn * 97) % bar.maximum())
    view.table.viewport().repaint()
    taken = time.perf_counter() - start
    view._search.stop()  # what comes into sight is searched for between frames
    QApplication.processEvents()
    return taken


def _other(sequence_length: int) -> Scenario:
    return replaced(SCENARIO, "training.sequence_length", sequence_length)


def _own_devices() -> list[dict[str, object]]:
    return [
        {
            "id": f"own-{number}",
            "name": f"Own card {number}",
            "vendor": "NVIDIA",
            "device_class": "workstation",
            "total_mib": 8192 + 512 * number,
        }
        for number in range(OWN_DEVICES)
    ]
