"""A training step put together: what is alive at each instant, from the walks of single modules and the states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memplan.memory.gathering import NOTHING, Gathering
from memplan.memory.moment import Candidate, Moment
from memplan.memory.peak import Peak
from memplan.memory.runs import Run, Work, layer_runs
from memplan.memory.storage import GRADIENTS, TEMPORARY, Level, Size
from memplan.memory.walk_ends import EndsWalk, walk_ends
from memplan.memory.walk_layer import LayerWalk


@dataclass(frozen=True, slots=True)
class Moments:
    """What may be the fullest moment of each part of forward and backward; `runs` and `ends` are what was walked."""

    forward: tuple[Candidate, ...]
    loss: Candidate
    forward_end: Candidate
    backward: tuple[Candidate, ...]
    ends: EndsWalk
    runs: tuple[Run, ...]
    on_host: Size

    @property
    def num_layers(self) -> int:
        """How many layers there are."""
        return sum(run.count for run in self.runs)


@dataclass(frozen=True, slots=True)
class Passes:
    """Forward and backward of one micro-batch, on top of the states (and of gradients that are there already)."""

    forward: Moment
    loss: Moment
    forward_end: Moment
    backward: Moment
    ends: EndsWalk
    runs: tuple[Run, ...]
    on_host: int = 0
    """What layers keep that waits in the host's memory."""
    stays: int = 0
    """What is there from the first forward on, whatever else is."""
    staged: int = 0
    """Inputs of layers that are on the device though checkpoints wait on the host."""
    others: int = 0
    """What layers keep for other micro-batches in flight."""

    @property
    def copied_bytes(self) -> int:
        """Autocast's 16-bit copies of weights."""
        return int(self.ends.casts + sum(run.count * run.walk.casts for run in self.runs))

    @property
    def fullest(self) -> Moment:
        """The fullest moment of a pass without a way back."""
        return max(self.forward, self.loss, self.forward_end, key=lambda one: one.total)


def moments(work: Work, batch: Size, sequence: Size, *, every: bool = False) -> Moments:
    """Walk forward, loss and backward of one micro-batch; with `every`, list the moments of every layer."""
    runs = layer_runs(work, batch, sequence)
    on_host = sum(run.count * run.walk.kept for run in runs) if work.offloads else 0
    if work.offloads:
        # Autocast holds its copies of weights until forward is over, whatever backward's are moved to.
        runs = tuple(replace(run, walk=replace(run.walk, kept=0, cached=run.walk.casts)) for run in runs)
    last = runs[-1].walk
    ends = walk_ends(
        work.architecture,
        work.setup,
        batch,
        sequence,
        last.output_dtype,
        last.output_needs_grad,
        work.accumulating,
        work.with_backward,
    )
    kept = sum(run.count * run.walk.kept for run in runs) + work.staged * last.input_bytes + work.stays_bytes
    cached = sum(run.count * run.walk.cached for run in runs)
    gathered = work.gathering or Gathering(NOTHING, {}, reshards=True)
    held = _held_after_forward(runs, gathered)
    last_buffer = gathered.layers.get(runs[-1].layer, NOTHING).buffer
    communication = gathered.root.weights + held + last_buffer + gathered.at_loss + gathered.reused_after(0)
    root_stays = 0 if gathered.reshards else gathered.root.weights
    cache = sum(run.count * run.walk.cache for run in runs)
    head = "head" if work.setup.cache != "none" else "head and loss"
    stay = kept + (cached if work.setup.cache != "none" else 0)  # generating text is one stretch of autocast
    forward_end = Candidate(ends.forward_end, stay, held + root_stays, cache)
    beside = work.backward_buckets
    ahead = _held_ahead(work, batch, sequence, runs[-1]) if work.setup.stack.runs_out_of_order else 0
    after, back = _without_gradients(ends, runs) if work.applies_gradients else (ends, runs)
    backward = _backward(after, back, kept, gathered, held, every=every)
    more = (one.with_more(beside, ahead) for one in backward) if beside or ahead else backward
    return Moments(
        forward=tuple(_forward(ends, runs, (kept, cached, work.stays_bytes), gathered, every=every)),
        loss=Candidate(ends.loss, kept + cached, communication, cache, where=head),
        forward_end=forward_end,
        backward=tuple(more) if work.with_backward else (forward_end,),
        ends=ends,
        runs=runs,
        on_host=on_host,
    )


def decoding(work: Work, read: Moments | Passes) -> Work:
    """The work of making the next token after a sequence whose keys and values are cached, once it is read."""
    casts = read.ends.casts + sum(run.count * run.walk.cached for run in read.runs)
    return replace(work, setup=replace(work.setup, cache="decode"), stays_bytes=work.stays_bytes + casts)


def passes(work: Work, batch: int, sequence: int, most_gradients: int | None = None) -> Passes:
    """The fullest moment of each part of one micro-batch's forward and backward."""
    found = moments(work, batch, sequence)
    num_layers = found.num_layers
    backward = [one.with_at_most(most_gradients) for one in found.backward]
    return Passes(
        forward=max(found.forward, key=Candidate.total).moment(num_layers),
        loss=found.loss.moment(),
        forward_end=found.forward_end.moment(),
        backward=max(backward, key=Candidate.total).moment(num_layers),
        ends=found.ends,
        runs=found.runs,
        on_host=found.on_host,
        stays=work.stays_bytes,
        staged=work.staged * found.runs[-1].walk.input_bytes,
    )


def _held_ahead(work: Work, batch: Size, sequence: Size, last: Run) -> Size:
    """What backward holds beyond a walk in order, where the stack evaluates a graph in an order of its own.

    Equation: 2 Σ k + Σ g over layers + g outside them: k is what a layer of each kind keeps without checkpoints, g its
    gradients, for which what they are made of may wait. Chosen to be no less than measured: 53 runs of mlx-lm 0.32
    (tests/truth/mlx.json) held 0.1 to 2.8 layers more than a walk in order, growing with the layers in full training.
    Those of earlier micro-batches are added to them once they are made, and stay beside them.
    """
    plain = replace(work, setup=replace(work.setup, checkpointing=False), accumulating=False)
    runs, walk = layer_runs(plain, batch, sequence), last.walk
    ends = walk_ends(
        work.architecture,
        work.setup,
        batch,
        sequence,
        walk.output_dtype,
        walk.output_needs_grad,
        accumulating=False,
        with_loss=work.with_backward,
    )
    # With and without adapters or checkpoints it is one kind, of which the last keeps most: adapters are on the last.
    kept = {(id(run.layer.attention), id(run.layer.mlp)): run.walk.kept for run in runs}
    return 2 * sum(kept.values()) + sum(run.count * run.walk.gradients for run in runs) + ends.gradients


def _without_gradients(ends: EndsWalk, runs: tuple[Run, ...]) -> tuple[EndsWalk, tuple[Run, ...]]:
    """The walks for a backward that leaves no gradients behind."""
    stay = ends.held_in_backward.tally[GRADIENTS]
    bare = replace(
        ends,
        held_in_backward=_less_gradients(ends.held_in_backward, stay),
        embedding_backward=_less_gradients(ends.embedding_backward, stay),
    )
    return bare, tuple(replace(run, walk=replace(run.walk, gradients=0)) for run in runs)


def _less_gradients(peak: Peak, num_bytes: Size) -> Peak:
    tally = tuple(one - num_bytes if kind == GRADIENTS else one for kind, one in enumerate(peak.tally))
    levels = tuple(Level(total - num_bytes, gradients - num_bytes) for total, gradients in peak.levels)
    return Peak(peak.total - num_bytes, tally, levels)


def _held_after_forward(runs: tuple[Run, ...], gathered: Gathering) -> int:
    """Weights that stay gathered from forward to backward."""
    if gathered.reshards:
        return 0
    return sum(run.count * gathered.layers.get(run.layer, NOTHING).weights for run in runs)


def _forward(
    ends: EndsWalk, runs: tuple[Run, ...], held_bytes: tuple[Size, Size, Size], gathered: Gathering, *, every: bool
) -> Iterator[Candidate]:
    """The fullest moments before the loss: what earlier layers keep grows, so they are the last layers of runs.

    `held_bytes`: kept once all layers are through, in autocast's cache then, and there all the time.
    """
    kept, cached, always = held_bytes
    first, root = runs[0].walk, gathered.root
    stays = first.input_bytes if ends.input_stays and not first.keeps_input else 0
    arriving = root.weights + root.buffer + gathered.at_start
    yield Candidate(ends.start, always, arriving, _cached_before(runs), where=ends.places[0])
    before, position, cache = ends.held_in_forward + always, 0, _cached_before(runs)
    buffer, held = root.buffer, root.weights
    for run in runs:
        walk, unit = run.walk, gathered.layers.get(run.layer, NOTHING)
        entry = Peak(walk.input_bytes, (walk.input_bytes, 0, 0, 0))
        arriving, last = unit.buffer + max(unit.cast, unit.weights), run.count - 1
        # The run's first layer is gathered while the buffer of the unit before it, often the root's, is there.
        ends_of_run = {0, last} if unit is not NOTHING else {last}
        for done in range(run.count) if every else sorted(ends_of_run):
            layer = position + done + 1
            earlier = before + done * (walk.kept + walk.cached) + (stays if layer > 1 else 0)
            others = cache + done * (walk.cache - walk.cached_before)  # this layer's included, as it is before it
            there = held if gathered.reshards else held + done * unit.weights
            waiting = unit.buffer if done else buffer
            if every:
                yield Candidate(entry, earlier, there + waiting, others, layer=layer, begins=True)
            if unit is not NOTHING:
                yield Candidate(entry, earlier, there + waiting + arriving, others, where="gathering", layer=layer)
            if every or done == last:
                others -= walk.cached_before
                yield Candidate(walk.forward, earlier, there + unit.weights + unit.buffer, others, layer=layer)
        before += run.count * (walk.kept + walk.cached)
        cache += run.count * (walk.cache - walk.cached_before)
        position += run.count
        buffer = unit.buffer
        held += 0 if gathered.reshards else run.count * unit.weights
    yield Candidate(ends.model_end, kept + cached + stays, held + buffer, cache, where=ends.places[1])


def _cached_before(runs: tuple[Run, ...]) -> Size:
    """Keys and values of earlier tokens, of all layers."""
    return sum(run.count * run.walk.cached_before for run in runs)


def _first_readers(runs: tuple[Run, ...]) -> dict[int | None, int]:
    """For each window, the first run that reads its mask."""
    first: dict[int | None, int] = {}
    for index, run in enumerate(runs):
        first.setdefault(run.layer.attention.window, index)
    return first


def _beside(ends: EndsWalk, first_readers: dict[int | None, int], index: int) -> tuple[Size, ...]:
    """What stands beside the runs that are left, up to this one: a mask goes with the first layer that reads it."""
    if not ends.masks:
        return ends.held_in_backward.tally
    tally = list(ends.held_in_backward.tally)
    gone = (size for window, size in ends.masks.items() if first_readers.get(window, index + 1) > index)
    tally[TEMPORARY] -= sum(gone)
    return tuple(tally)


def _comes_back(
    walk: LayerWalk, left: int, communication: int, gradients: int, beside: tuple[Size, ...], layer: int
) -> Candidate:
    """What is held as backward comes to a layer: what it kept, and the gradient of its output."""
    gradient = Peak(walk.input_bytes, (0, 0, walk.input_bytes, 0))
    return Candidate(gradient, left + walk.kept, communication, gradients, beside, layer=layer, begins=True)


def _ending(fullest: Candidate, walk: LayerWalk, late: int, reducing: int) -> Iterator[Candidate]:
    """A layer's last moments in backward, when only gradients of its input and weights are left: with what is gathered
    `late` of the next layer, and with what is there more (or less) for reducing."""
    ending = fullest._replace(peak=Peak(0, (0, 0, walk.input_bytes, walk.gradients)))
    if late:
        yield ending.with_more(late, 0)
    yield ending._replace(communication=fullest.communication + reducing, where="reducing")


def _backward(
    ends: EndsWalk, runs: tuple[Run, ...], kept: int, gathered: Gathering, held: int, *, every: bool
) -> Iterator[Candidate]:
    """The fullest moments after the loss: gradients grow and kept tensors fall, so they are at the ends of runs."""
    shards, root = bool(gathered.layers), gathered.root
    position = num_layers = sum(run.count for run in runs)
    order = [gathered.layers.get(run.layer, NOTHING) for run in runs]
    arriving = order[-1].buffer if gathered.reshards else 0
    at_loss = root.weights + held + arriving + gathered.at_loss + gathered.reused_after(0)
    yield Candidate(ends.loss_backward, kept, at_loss, where=ends.places[2])
    gradients, left, reducing, first_readers = 0, kept, 0, _first_readers(runs)
    for index in reversed(range(len(runs))):
        run, unit = runs[index], order[index]
        walk = run.walk
        per_layer = walk.gradients if not shards else unit.gradients if walk.gradients else 0
        before = order[index - 1] if index else NOTHING
        beside = _beside(ends, first_readers, index)
        # Buffers differ at the first and the last layer of a run, so their neighbours are looked at as well.
        last = run.count - 1
        looked_at = {0, min(1, last), max(0, last - 1), last} if shards else {0, last}
        for done in range(run.count) if every else sorted(looked_at):
            next_unit = unit if done < run.count - 1 else before
            arriving = next_unit.ahead if gathered.reshards else 0
            waiting = unit.behind if done else reducing
            still = held - done * unit.weights if held else unit.weights
            activations, done_gradients = left - (done + 1) * walk.kept, gradients + done * per_layer
            if gathered.holds_inputs:
                activations = kept - walk.kept + (num_layers - position + done) * walk.input_bytes
            layer = position - done
            communication = root.weights + still + arriving + waiting + gathered.reused_after(num_layers - layer + 1)
            if every:
                others = communication - (0 if held else unit.weights) - arriving
                yield _comes_back(walk, activations, others, done_gradients, beside, layer)
            fullest = Candidate(walk.backward, activations, communication, done_gradients, beside, layer=layer)
            yield fullest
            if shards:
                late = next_unit.at_end - next_unit.ahead if gathered.reshards else 0
                yield from _ending(fullest, walk, late, unit.reduce_buffer - unit.weights - waiting)
        gradients += run.count * per_layer
        left -= run.count * (walk.kept - walk.stays)
        held -= run.count * unit.weights if held else 0
        reducing = unit.behind
        position -= run.count
        if not walk.output_needs_grad:
            break
    at_start = root.weights + reducing + gathered.at_start
    yield Candidate(ends.embedding_backward, 0, at_start, gradients, where=ends.places[0])
    if shards:
        end = Peak(0, (ends.backward_end, 0, 0, ends.gradients))
        yield Candidate(end, 0, root.reduce_buffer, gradients, where="reducing the root unit")
