"""A training step put together: what is alive at each instant, from the walks of single modules and the states."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memplan.architecture.parts import Architecture, Layer
from memplan.memory.setup import Setup
from memplan.memory.tape import ACTIVATIONS, GRADIENTS, LOGITS, TEMPORARY
from memplan.memory.walk import EndsWalk, LayerWalk, Peak, walk_ends, walk_layer


@dataclass(frozen=True, slots=True)
class Moment:
    """What forward and backward hold at one moment, on top of the states: bytes by kind, and where it stands."""

    activations: int
    logits: int
    temporary: int
    gradients: int
    where: str = ""

    @property
    def total(self) -> int:
        """All of it."""
        return self.activations + self.logits + self.temporary + self.gradients


@dataclass(frozen=True, slots=True)
class Passes:
    """Forward and backward of one micro-batch, on top of the states (and of gradients that are there already)."""

    forward: Moment
    loss: Moment
    forward_end: Moment
    backward: Moment
    backward_end: Moment
    ends: EndsWalk
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Equal layers one after the other."""

    layer: Layer
    count: int
    walk: LayerWalk


def layer_runs(
    architecture: Architecture, setup: Setup, batch: int, sequence: int, accumulating: bool, frozen_layers: int
) -> tuple[Run, ...]:
    """Walk each kind of layer under each kind of input that it meets."""
    runs: list[Run] = []
    dtype, needs = setup.first_input()
    frozen = replace(setup, base_trains=False)
    position = 0
    for layer, count in architecture.layers:
        left = count
        while left:
            is_frozen = position < frozen_layers
            limit = min(left, frozen_layers - position) if is_frozen else left
            walk = walk_layer(layer, frozen if is_frozen else setup, batch, sequence, dtype, needs, accumulating)
            # The next layer meets another input as long as this one changes what its output is like.
            same = walk.output_dtype == dtype and walk.output_needs_grad == needs
            taken = limit if same else 1
            runs.append(Run(layer, taken, walk))
            dtype, needs = walk.output_dtype, walk.output_needs_grad
            left -= taken
            position += taken
    return tuple(runs)


def passes(
    architecture: Architecture,
    setup: Setup,
    batch: int,
    sequence: int,
    *,
    accumulating: bool = False,
    frozen_layers: int = 0,
    with_backward: bool = True,
) -> Passes:
    """Walk forward, loss and backward of one micro-batch."""
    runs = layer_runs(architecture, setup, batch, sequence, accumulating, frozen_layers)
    last = runs[-1].walk
    ends = walk_ends(
        architecture, setup, batch, sequence, last.output_dtype, last.output_needs_grad, accumulating, with_backward
    )
    kept = sum(run.count * run.walk.kept for run in runs)
    cached = sum(run.count * run.walk.cached for run in runs)
    forward = _forward(ends, runs, kept, cached)
    loss = _moment(ends.loss, kept + cached, "head and loss")
    forward_end = _moment(ends.forward_end, kept, "")
    backward = _backward(ends, runs, kept) if with_backward else forward_end
    layer_gradients = sum(run.count * run.walk.gradients for run in runs)
    backward_end = Moment(ends.backward_end, 0, 0, ends.gradients + layer_gradients if with_backward else 0)
    return Passes(forward, loss, forward_end, backward, backward_end, ends, runs)


def _moment(
    peak: Peak, activations: int, where: str, *, gradients: int = 0, beside: tuple[int, ...] = (0, 0, 0, 0)
) -> Moment:
    tally = peak.tally
    return Moment(
        activations=tally[ACTIVATIONS] + activations + beside[ACTIVATIONS],
        logits=tally[LOGITS] + beside[LOGITS],
        temporary=tally[TEMPORARY] + beside[TEMPORARY],
        gradients=tally[GRADIENTS] + gradients + beside[GRADIENTS],
        where=where,
    )


def _forward(ends: EndsWalk, runs: tuple[Run, ...], kept: int, cached: int) -> Moment:
    """The fullest moment before the loss: what earlier layers keep grows, so it is the last layer of some run."""
    first = runs[0].walk
    stays = first.input_bytes if ends.input_stays and not first.keeps_input else 0
    moments = [_moment(ends.start, 0, "embeddings")]
    before, position, total = 0, 0, sum(run.count for run in runs)
    for run in runs:
        position += run.count
        walk = run.walk
        earlier = before + (run.count - 1) * (walk.kept + walk.cached)
        held = stays if position > 1 else 0
        where = f"layer {position} of {total}"
        moments.append(_moment(walk.forward, earlier + ends.held_in_forward + held, where))
        before += run.count * (walk.kept + walk.cached)
    moments.append(_moment(ends.model_end, kept + cached + stays, "final norm"))
    return max(moments, key=lambda moment: moment.total)


def _backward(ends: EndsWalk, runs: tuple[Run, ...], kept: int) -> Moment:
    """The fullest moment after the loss: gradients grow and kept tensors fall, so it is an end of some run."""
    moments = [_moment(ends.loss_backward, kept, "loss")]
    gradients, left, position = 0, kept, sum(run.count for run in runs)
    total = position
    beside = ends.held_in_backward.tally
    for run in reversed(runs):
        walk = run.walk
        for done in {0, run.count - 1}:
            held = left - (done + 1) * walk.kept
            where = f"layer {position - done} of {total}"
            moments.append(
                _moment(walk.backward, held, where, gradients=gradients + done * walk.gradients, beside=beside)
            )
        gradients += run.count * walk.gradients
        left -= run.count * walk.kept
        position -= run.count
        if not walk.output_needs_grad:
            break
    moments.append(_moment(ends.embedding_backward, 0, "embeddings", gradients=gradients))
    return max(moments, key=lambda moment: moment.total)
