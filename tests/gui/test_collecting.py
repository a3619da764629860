"""When Python looks for cycles: not while somebody edits, and in the pause after."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from memplan_gui import collecting
from memplan_gui.collecting import PauseCollector, settle_memory


class Ring:
    """Something that only a search for cycles lets go of."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def settled() -> Iterator[None]:
    """Memory as after the start, for this test alone."""
    usual = gc.get_threshold()
    settle_memory()
    yield
    gc.unfreeze()
    gc.set_threshold(*usual)


@pytest.mark.usefixtures("settled")
def test_nothing_looks_through_everything_by_itself() -> None:
    generations: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        generations.append(info["generation"])

    gc.callbacks.append(note)
    try:
        held = [[] for _ in range(400_000)]  # type: ignore[var-annotated]  # more than thousands of edits leave
    finally:
        gc.callbacks.remove(note)
    assert held
    assert 1 in generations  # what is young is looked through
    assert 2 not in generations


@pytest.mark.usefixtures("settled")
def test_the_pause_after_an_edit_does(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "PAUSE_MS", 1)
    collector = PauseCollector()
    ring = Ring()
    gone = weakref.ref(ring)
    gc.collect(1)  # old, as what many edits left
    gc.collect(1)
    del ring
    assert gone() is not None
    collector.later()
    qtbot.waitUntil(lambda: gone() is None)
