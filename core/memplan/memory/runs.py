"""What is walked of a micro-batch: equal layers one after the other, each kind under each kind of input."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from memplan.architecture.dividing import share
from memplan.architecture.parts import Architecture, Attention, Layer
from memplan.memory.blocks.sharing import cuts_prompts, takes_heads
from memplan.memory.gathering import Gathering
from memplan.memory.setup import Setup
from memplan.memory.storage import Size
from memplan.memory.walk_layer import LayerWalk, walk_layer


@dataclass(frozen=True, slots=True)
class Work:
    """A micro-batch to walk, whatever its size."""

    architecture: Architecture
    setup: Setup
    accumulating: bool = False
    frozen_layers: int = 0
    with_backward: bool = True
    gathering: Gathering | None = None
    offloads: bool = False
    """What a layer keeps waits on the host from its forward to its backward."""
    staged: int = 0
    """Layers' inputs that are on the device from forward to backward though checkpoints wait on the host."""
    stays_bytes: int = 0
    """What kernels hold for themselves from the first forward on."""
    applies_gradients: bool = False
    """A layer's gradients are gone once it is through."""
    in_flight: int = 1
    """Micro-batches whose kept tensors are alive at once: several on a stage of a pipeline."""
    virtual_stages: int = 1
    """Parts of the layers; each of those in flight is of one of them."""
    backward_buckets: int = 0
    """Bytes of buckets that are there in backward alone."""

    def kept_by_others(self, runs: Iterable[Run]) -> Size:
        """What layers keep for the other micro-batches that are in flight."""
        more, parts = self.in_flight - self.virtual_stages, self.virtual_stages
        return sum(share(run.count * more, parts) * run.walk.kept for run in runs)


@dataclass(frozen=True, slots=True)
class Run:
    """Equal layers one after the other."""

    layer: Layer
    count: int
    walk: LayerWalk


def layer_runs(work: Work, batch: Size, sequence: Size) -> tuple[Run, ...]:
    """Walk each kind of layer under each kind of input that it meets."""
    runs, architecture, setup = list[Run](), work.architecture, work.setup
    dtype, needs = setup.first_input(architecture.tokens, architecture.tied)
    needs = needs or any(map(setup.outside.adapts, architecture.streams.projections if architecture.streams else ()))
    bare = architecture.feeds_rows and setup.first_input_is_bare(architecture.tokens, architecture.tied)
    if not architecture.starts:  # what is received needs a gradient where something before it trains
        needs, bare = setup.trains and (needs or work.frozen_layers == 0), False
    frozen = replace(setup, base_trains=False) if work.frozen_layers else setup
    cuts, reads = cuts_prompts(architecture, setup), setup.cache
    walks: dict[tuple[object, ...], LayerWalk] = {}  # kinds take turns, and set-ups are long to look up
    position = 0
    for layer, count in architecture.layers:
        left = count
        while left:
            is_frozen = position < work.frozen_layers
            limit = min(left, work.frozen_layers - position) if is_frozen else left
            if cuts and takes_heads(layer):
                reads = "cut" if reads == "prefill" else "last"
            met = layer, is_frozen, dtype, needs, bare, reads
            walk = walks.get(met)
            if walk is None:
                its_setup, seen_as = frozen if is_frozen else setup, _as_walked(work, layer, sequence)
                its_setup = its_setup if reads == setup.cache else replace(its_setup, cache=reads)
                walk = walk_layer(seen_as, its_setup, batch, sequence, dtype, needs, work.accumulating, bare)
                walks[met] = walk
            # The next layer meets another input as long as this one changes what its output is like.
            same = walk.output_dtype == dtype and walk.output_needs_grad == needs and not bare and reads != "cut"
            bare = False
            taken = limit if same else 1
            runs.append(Run(layer, taken, walk))
            dtype, needs = walk.output_dtype, walk.output_needs_grad
            left -= taken
            position += taken
    return tuple(runs)


def _as_walked(work: Work, layer: Layer, sequence: Size) -> Layer:
    """The layer whose walk is the same: a window wider than the sequence hides nothing, and takes no mask."""
    window = layer.attention.window
    if window is None or work.setup.cache != "none" or not sequence < window:
        return layer
    return _without_window(work.architecture, layer)


@lru_cache(maxsize=64)
def _without_window(architecture: Architecture, layer: Layer) -> Layer:
    """The architecture's layer that differs in its window alone, and has none; the layer itself where there is none."""
    if not isinstance(layer.attention, Attention):
        return layer
    wide = replace(layer.attention, window=None, chunked=False)
    rest = [one.name for one in fields(layer) if one.name != "attention"]
    alike = (
        other
        for other in architecture.kinds
        if other.attention == wide and all(getattr(other, name) == getattr(layer, name) for name in rest)
    )
    return next(alike, layer)
