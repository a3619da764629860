"""A model of whose layers the last ones alone get adapters."""

from __future__ import annotations

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
