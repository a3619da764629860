"""The course of a step: how memory rises and falls from the embeddings over every layer to the optimizer step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypeAlias

from memplan.architecture.dividing import share
from memplan.memory.account import States
from memplan.memory.buffers import position_bytes
from memplan.memory.instants import StepStates, accumulates, fuller, ids_bytes, once_loaded
from memplan.memory.moment import Candidate
from memplan.memory.runs import Work
from memplan.memory.step import Moments, decoding, moments
from memplan.plan.hardware import Hardware
from memplan.plan.training import Training
from memplan.result import CoursePoint, Instant, InstantName

ENDS_SHARE, LOSS_SHARE, STEP_SHARE = 1 / 16, 1 / 4, 1 / 4
"""Widths of what stands outside the layers, of the loss, and of the optimizer step, as parts of all layers' width.

Nothing tells how long they take; they are as wide as one needs to see them.
"""


Parts: TypeAlias = "tuple[tuple[InstantName, Iterable[Candidate], float], ...]"
"""Parts of a step: their names, their moments, and how wide what stands outside the layers is."""


def course(
    work: Work,
    training: Training,
    states: States,
    complete: Callable[[Instant], Instant],
    *,
    hardware: Hardware,
    most_gradients: int | None = None,
) -> tuple[CoursePoint, ...]:
    """Walk a step as `timeline` does, layer by layer: loaded, the first step, a later one."""
    batch, sequence = training.micro_batch, share(training.sequence_length, hardware.context_parallel)
    found = moments(work, batch, sequence, every=True)
    present = states.gradients if accumulates(work.setup, training, states, hardware) else 0
    positions = position_bytes(work.architecture, sequence)
    ids = ids_bytes(batch, sequence) + positions
    others = int(work.kept_by_others(found.runs))
    trains, num_layers = training.method != "inference", found.num_layers
    wide = max(1.0, STEP_SHARE * num_layers)
    backward = [one.with_at_most(most_gradients) for one in found.backward] if trains else []
    if training.caches_keys:
        parts = _generation(found, moments(decoding(work, found), batch, sequence, every=True))
    else:
        parts = _training(found, backward)
    placed = [
        (name, fuller(one.moment(num_layers), others), one, start, width) for name, one, start, width in _placed(parts)
    ]

    def one_step(number: int) -> Iterator[CoursePoint]:
        on, at = StepStates(states, present, ids, number, generates=training.caches_keys), 0.0
        for name, moment, one, start, width in placed:
            held, at = _layers_held(name, one, num_layers), start + width
            yield CoursePoint(complete(on.instant(name, moment)), start, width, one.layer, held, one.begins)
        if trains:
            yield CoursePoint(complete(on.at_step()), at, wide, 0, 0)

    numbers = (1, 2) if trains else (2,)
    return (
        CoursePoint(complete(once_loaded(states, positions)), 0.0, wide, 0, 0),
        *(point for number in numbers for point in one_step(number)),
    )


def _training(found: Moments, backward: Iterable[Candidate]) -> Parts:
    """Forward, loss and backward."""
    outside, loss = _widths(found)
    return (("forward", found.forward, outside), ("loss", (found.loss,), loss), ("backward", backward, outside))


def _generation(read: Moments, decoded: Moments) -> Parts:
    """A prompt read, and the next token made. Neither counts for the other's width."""
    outside, head = _widths(read)
    names: tuple[tuple[InstantName, Moments], ...] = (("prefill", read), ("decode", decoded))
    return tuple(part for name, one in names for part in ((name, one.forward, outside), (name, (one.loss,), head)))


def _widths(found: Moments) -> tuple[float, float]:
    """Of what stands outside the layers, and of the loss."""
    return max(1.0, ENDS_SHARE * found.num_layers), max(1.0, LOSS_SHARE * found.num_layers)


def _placed(parts: Parts) -> Iterator[tuple[InstantName, Candidate, float, float]]:
    """Every moment with where it starts and how long it stays, in widths of a layer."""
    at = 0.0
    for name, candidates, width in parts:
        for layer, group in groupby(candidates, key=lambda one: one.layer):
            together = tuple(group)
            whole = 1.0 if layer else width
            for position, candidate in enumerate(together):
                yield name, candidate, at + position * whole / len(together), 0.0 if layer else whole / len(together)
            at += whole


def _layers_held(name: InstantName, candidate: Candidate, num_layers: int) -> int:
    """Layers whose kept tensors may be alive, the one under way included: they come in forward, and go in backward."""
    if candidate.layer:
        return candidate.layer - (1 if name != "backward" and candidate.begins else 0)
    before_the_layers = candidate.activations == 0
    return 0 if before_the_layers else num_layers
