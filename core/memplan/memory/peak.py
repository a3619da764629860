"""What a walk remembers of its fullest moment, and the tape that walks share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from memplan.memory.recorder import Recorder
from memplan.memory.setup import Setup
from memplan.memory.storage import TEMPORARY, Level, Meter, Size, Storage
from memplan.memory.tape import Tape, Tensor

T = TypeVar("T", bound=Tape)


@dataclass(frozen=True, slots=True)
class Peak:
    """The fullest moment of a walk: bytes, and how they divide (activations, logits, temporary, gradients)."""

    total: Size
    tally: tuple[Size, ...]
    levels: tuple[Level, ...] = ()
    """Read for every batch and sequence: what may be the fullest of them."""
    span: tuple[int, int] | None = None
    """Recorded and not yet read: the numbers of events between which it lies."""


def peak_of(meter: Meter) -> Peak:
    """The fullest moment since the meter was restarted."""
    if isinstance(meter, Recorder):
        return Peak(0, (0, 0, 0, 0), span=meter.span())
    return Peak(meter.peak, meter.peak_tally)


def now_of(meter: Meter) -> Peak:
    """What is alive now."""
    return Peak(meter.now, tuple(meter.tally))


def tape_for(setup: Setup, accumulating: bool, meter: Meter, kind: type[T] = Tape) -> T:  # type: ignore[assignment]
    """A fresh tape under a set-up."""
    tape = kind(meter, autocast=setup.autocast, on_device=setup.stack.on_device)
    tape.accumulating, tape.trains, tape.has_casts = accumulating, setup.trains, setup.cache == "decode"
    tape.recasts_weights = setup.recasts_weights
    return tape


def way_back_from(meter: Meter, output: Tensor) -> Tensor | None:
    """The way to an output's gradient, without its storage; None when it needs none."""
    if output.node is None:
        return None
    return Tensor(Storage(meter, 0, TEMPORARY), output.shape, output.dtype, output.node, output.slot)
