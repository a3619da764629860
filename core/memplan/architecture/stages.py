"""A model cut into the stages of a pipeline: layers each, embeddings on the first alone, head and loss on the last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from memplan.architecture.parts import Architecture, Layer


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a pipeline, for all that are like it."""

    part: Architecture
    rank: int
    """Which it is, from 0; the first of those that are like it, and so the one with the most in flight."""
    ranks: int
    """How many stages there are."""
    first_layer: int
    """The model's layer that it begins with, from 0."""
    num_layers: int
    """Layers of the whole model."""
    alike: int = 1
    """How many stages are like it."""

    def in_flight(self, micro_batches: int, virtual: int = 1) -> int:
        """Micro-batches whose kept tensors it holds at once, of those that one step has; each of one of its `virtual`
        parts, where there are several.

        Equation, rank r of p, v parts, m micro-batches: min(p - r, m) for one forward and one backward in turn (1F1B):
        a stage runs as many forward passes as there are stages from it to the end before its first backward.
        Interleaved: min(2 (p - r - 1) + (v - 1) p + 1, m v), of 1/v of its layers each: on the first rank the layers of
        1 + (p - 1) / (p v) stages more than a micro-batch has.
        Source: Narayanan et al., 2021, section 2.2; Korthikanti et al., 2022, section 4.2.3; Megatron-LM,
        core/pipeline_parallel/schedules.py (num_warmup_microbatches, and the one that is run then).

        >>> [Stage(None, rank, 4, 0, 32).in_flight(8) for rank in range(4)]
        [4, 3, 2, 1]
        >>> Stage(None, 0, 4, 0, 32).in_flight(2), Stage(None, 0, 4, 0, 32).in_flight(8, 2)
        (2, 11)
        """
        if virtual == 1 or self.ranks == 1:
            return min(self.ranks - self.rank, micro_batches)
        return min(2 * (self.ranks - self.rank - 1) + (virtual - 1) * self.ranks + 1, micro_batches * virtual)


def layers_of(num_layers: int, stages: int) -> tuple[int, ...]:
    """How many layers each stage has: as even as can be, the first ones have one more.

    Source: DeepSpeed, runtime/utils.py, partition_uniform. Megatron-LM takes even stages alone.

    >>> layers_of(32, 4), layers_of(30, 4)
    ((8, 8, 8, 8), (8, 8, 7, 7))
    """
    each, more = divmod(num_layers, stages)
    return tuple(each + (rank < more) for rank in range(stages))


def the_whole(architecture: Architecture) -> Stage:
    """All of a model on one stage."""
    return Stage(architecture, 0, 1, 0, architecture.num_layers)


@lru_cache(maxsize=64)
def stages(architecture: Architecture, count: int) -> tuple[Stage, ...]:
    """One of each kind of stage, from first to last: of equal ones the first holds most. At most one for each layer.

    Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", 2021, section 2.2.
    """
    found: dict[object, Stage] = {}
    ranks = min(count, architecture.num_layers)
    if ranks == 1:
        return (the_whole(architecture),)
    begin = 0
    for rank, taken in enumerate(layers_of(architecture.num_layers, ranks)):
        runs = tuple(_cut(architecture, begin, begin + taken))
        first, last = rank == 0, rank == ranks - 1
        same = found.get((runs, first, last))
        if same is not None:
            found[runs, first, last] = replace(same, alike=same.alike + 1)
        else:
            part = replace(architecture, layers=runs, starts=first, ends=last, idle=architecture.idle if first else ())
            found[runs, first, last] = Stage(part, rank, ranks, begin, architecture.num_layers)
        begin += taken
    return tuple(found.values())


def _cut(architecture: Architecture, begin: int, end: int) -> Iterator[tuple[Layer, int]]:
    """The layers from `begin` to before `end`, in runs."""
    position = 0
    for layer, count in architecture.layers:
        taken = min(position + count, end) - max(position, begin)
        if taken > 0:
            yield layer, taken
        position += count
