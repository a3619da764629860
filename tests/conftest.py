"""What every test gets: no screen, no files of the person who runs the tests, no widgets left behind."""

from __future__ import annotations

import gc
import importlib.util
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).parent.parent

# Set before Qt is loaded by whichever test comes first. MEMPLAN_TEST_PLATFORM=xcb shows the windows.
os.environ["QT_QPA_PLATFORM"] = os.environ.get("MEMPLAN_TEST_PLATFORM", "offscreen")

# Settings, recent files and autosaves of the tests must not mix with a person's own.
_HOME = tempfile.TemporaryDirectory(prefix="memplan-tests-")
for _variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
    os.environ[_variable] = str(Path(_HOME.name) / _variable.lower())

# Devices of a person's own, and the GPU of whoever runs the tests, are no part of them.
os.environ["MEMPLAN_DEVICES"] = str(Path(_HOME.name) / "devices.json")

# A busy machine is slow, not wrong: speeds are shown by `make bench`, never asserted.
_SLOW = [HealthCheck.too_slow]
settings.register_profile("memplan", deadline=None, suppress_health_check=_SLOW)
settings.register_profile("memplan-ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=_SLOW)
settings.load_profile("memplan-ci" if os.environ.get("CI") else "memplan")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Knows pytest-qt's settings where pytest-qt is not installed, so that strict configuration holds there too."""
    if importlib.util.find_spec("pytestqt") is None:
        parser.addini("qt_api", "unused without Qt")
        parser.addini("qt_log_level_fail", "unused without Qt")
        parser.addini("qt_log_ignore", "unused without Qt", type="linelist")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test of the window that leaves a widget or a thread alive."""
    if "gui" not in request.path.relative_to(REPOSITORY).parts:
        yield
        return
    threads = set(threading.enumerate())
    widgets = set(_top_level_widgets())
    yield
    left_threads = [thread.name for thread in threading.enumerate() if thread not in threads and not thread.daemon]
    assert not left_threads, f"threads still running: {left_threads}"
    left_widgets = [widget for widget in _top_level_widgets() if widget not in widgets]
    assert not left_widgets, f"widgets still alive: {left_widgets} (give them to qtbot.addWidget, or close them)"


def _top_level_widgets() -> list[object]:
    """Every window alive, after those that wait for their deletion have had it."""
    from PySide6.QtCore import QCoreApplication, QEvent
    from PySide6.QtWidgets import QApplication

    if QApplication.instance() is None:
        return []
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    if QApplication.topLevelWidgets():
        gc.collect()  # a cycle keeps a closed window alive until Python looks for cycles
    return list(QApplication.topLevelWidgets())
