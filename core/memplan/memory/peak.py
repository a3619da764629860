"""What a walk remembers of its fullest moment, and the tape that walks share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from memplan.memory.setup import Setup
from memplan.memory.storage import TEMPORARY, Level, Meter, Size, Storage
from memplan.memory.symbols import LevelMeter, Symbol
from memplan.memory.tape import Tape, Tensor

T = TypeVar("T", bound=Tape)


@dataclass(frozen=True, slots=True)
class Peak:
    """The fullest moment of a walk: bytes, and how they divide (activations, logits, temporary, gradients)."""

    total: Size
    tally: tuple[Size, ...]
    levels: tuple[Level, ...] = ()
    """In a walk for every batch and sequence: what may be the fullest of them."""


def peak_of(meter: Meter) -> Peak:
    """The fullest moment since the meter was restarted."""
    return Peak(meter.peak, meter.peak_tally, meter.levels())


def now_of(meter: Meter) -> Peak:
    """What is alive now."""
    return Peak(meter.now, tuple(meter.tally))


def tape_for(setup: Setup, accumulating: bool, batch: Size, kind: type[T] = Tape) -> T:  # type: ignore[assignment]
    """A fresh tape under a set-up."""
    meter = LevelMeter() if isinstance(batch, Symbol) else Meter()
    tape = kind(meter, autocast=setup.autocast, on_device=setup.stack.on_device)
    tape.accumulating, tape.trains = accumulating, setup.trains
    return tape


def way_back_from(meter: Meter, output: Tensor) -> Tensor | None:
    """The way to an output's gradient, without its storage; None when it needs none."""
    if output.node is None:
        return None
    return Tensor(Storage(meter, 0, TEMPORARY), output.shape, output.dtype, output.node, output.slot)
