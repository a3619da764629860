"""A window without a screen, with settings of its own, and estimates made by hand for what is only shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from memplan import (
    GIB,
    Estimate,
    Instant,
    LedgerRow,
    Need,
    Parameters,
    Process,
    Recipe,
    Term,
    TraceBytes,
)
from memplan_gui.application import Application
from memplan_gui.document import PlanDocument
from memplan_gui.settings import Settings
from memplan_gui.theme import Theme
from memplan_gui.window import Window


@pytest.fixture(scope="session")
def qapp_cls() -> type[Application]:
    """The application of the tests is the product's own."""
    return Application


def instant(name: str, step: int, **terms: int) -> Instant:
    """An instant with whole GiB by term; underscores stand for spaces."""
    sizes = {term.replace("_", " "): gib * GIB for term, gib in terms.items()}
    return Instant(name=name, step=step, where="", bytes_by_term=sizes)  # type: ignore[arg-type]  # names of terms


def no_trace() -> TraceBytes:
    """What is shown is not what a trace sees; nobody may ask for that here."""
    raise AssertionError("the window asked for a trace's bytes")


@pytest.fixture
def estimate() -> Estimate:
    """Does not fit: the optimizer step holds 24 GiB, the device gives 20."""
    loaded = instant("loaded", 0, weights=8, framework=1)
    forward = instant("forward", 2, weights=8, optimizer_states=4, activations=3, framework=1)
    step = instant("optimizer_step", 2, weights=8, gradients=8, optimizer_states=4, temporary_buffers=3, framework=1)
    first = instant("forward", 1, weights=8, activations=3, framework=1)
    tensor = LedgerRow("mlp.down: input", "batch × sequence × 14336", "bf16", 32, 3 * GIB)
    return Estimate(
        name="by hand",
        model_name="a model",
        parameters=Parameters(4_000_000_000, 4_000_000_000, 4_000_000_000),
        recipe=Recipe("bf16 weights, bf16 gradients, bf16 AdamW states", 8.0),
        trace=no_trace,
        instants=(loaded, forward, step),
        first_step=(first, step),
        peak=step,
        explain=lambda: (
            Term("weights", 8 * GIB, 8 * GIB, "4 000 000 000 parameters × 2 bytes", "counted"),
            Term("activations", 0, 3 * GIB, "32 layers × 96 MiB", "traced", (tensor,)),
        ),
        process=Process(23 * GIB, 24 * GIB, 24 * GIB, 23 * GIB, 25 * GIB),
        need=Need(23 * GIB, 25 * GIB),
        device_id="card",
        device_name="Card 20 GB",
        usable_bytes=20 * GIB,
        verdict="does_not_fit",
        basis="traced",
    )


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    """The light theme; the application is plain again afterwards."""
    theme = Theme(qapp, "light")
    yield theme
    theme.deleteLater()
    qapp.setStyleSheet("")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings that only this test knows."""
    return Settings(tmp_path / "settings.ini")


@pytest.fixture
def open_window(qtbot: QtBot, theme: Theme, settings: Settings) -> Callable[..., Window]:
    """Opens the whole window: shell, plan, answer, interactive chart."""

    def open_one(document: PlanDocument | None = None) -> Window:
        window = Window(theme, settings)
        qtbot.addWidget(window, before_close_func=lambda opened: opened.document.undo_stack.setClean())
        window.resize(1280, 800)
        window.show()
        window.fill(document or PlanDocument())
        window.load_chart()
        window.answers.finish()
        QApplication.processEvents()
        return window

    return open_one


@pytest.fixture
def window(open_window: Callable[..., Window]) -> Window:
    """A window on a new plan."""
    return open_window()
