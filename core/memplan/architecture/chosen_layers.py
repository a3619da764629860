"""A model of whose layers some alone get what the others do not: adapters, checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from memplan.architecture.parts import Architecture, Layer


@lru_cache(maxsize=256)
def adapted_on_last(architecture: Architecture, count: int) -> Architecture:
    """The model with adapters on its last layers alone; the same one where these are all."""
    bare_layers = architecture.num_layers - count
    if bare_layers <= 0:
        return architecture
    bare: dict[Layer, Layer] = {}
    runs: list[tuple[Layer, int]] = []
    position = 0
    for layer, num_layers in architecture.layers:
        below = min(num_layers, max(0, bare_layers - position))
        if below:
            runs.append((bare.setdefault(layer, replace(layer, adapted=False)), below))
        if num_layers > below:
            runs.append((layer, num_layers - below))
        position += num_layers
    return replace(architecture, layers=tuple(runs))


@lru_cache(maxsize=64)
def checkpointed_every(architecture: Architecture, every: int) -> Architecture:
    """The model of which each layer is recomputed whose number, from 1, can be divided by `every`.

    Source: torchtitan at 238fa9953e4a, distributed/activation_checkpoint.py (selective_ac_option, a number).
    """
    if every == 1:
        return architecture
    return replace(architecture, layers=tuple(_every(architecture, every)))


def _every(architecture: Architecture, every: int) -> Iterator[tuple[Layer, int]]:
    keeping: dict[Layer, Layer] = {}
    position = 0
    for layer, num_layers in architecture.layers:
        keeps = keeping.setdefault(layer, replace(layer, checkpointed=False))
        end = position + num_layers
        while position < end:
            before = min(every - 1 - position % every, end - position)
            if before:
                yield keeps, before
            position += before
            if position < end:
                yield layer, 1
                position += 1
