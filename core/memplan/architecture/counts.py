"""Exact parameter counts: whole, per component, and what one token passes through."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from memplan.architecture.expert_parts import Experts
from memplan.architecture.parts import Architecture, Component, Weight


def weights(architecture: Architecture) -> Iterator[tuple[Weight, int]]:
    """Every parameter tensor with how often it occurs; tied weights once."""
    for weight in architecture.outer_weights():
        yield weight, 1
    for layer, count in architecture.kinds.items():
        for weight in layer.weights():
            yield weight, count
    yield from architecture.idle


@lru_cache(maxsize=256)
def components(architecture: Architecture) -> dict[Component, int]:
    """Parameters by component.

    Equation: the sum over tensors of the product of their sizes.
    """
    totals: dict[Component, int] = {}
    for weight, count in weights(architecture):
        totals[weight.component] = totals.get(weight.component, 0) + weight.count * count
    return totals


def total(architecture: Architecture) -> int:
    """All parameters, tied weights once."""
    return sum(components(architecture).values())


@lru_cache(maxsize=256)
def active(architecture: Architecture) -> int:
    """Parameters that one token passes through: of each set of experts only those it is sent to."""
    idle = sum(weight.count * count for weight, count in architecture.idle)
    for layer, count in architecture.kinds.items():
        if isinstance(layer.mlp, Experts):
            idle += count * layer.mlp.idle_values
    return total(architecture) - idle
