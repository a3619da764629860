"""What ZeRO-3 gathers: module by module, some ahead, and what stays between two uses that are near.

The order of events, from DeepSpeed 0.19, zero/partitioned_param_coordinator.py:

- A module's weights are fetched before it runs and freed behind it, in forward and in backward. Weights that are used
  again within the reuse distance stay: the whole layer that a checkpoint runs again and backward then walks, and the
  last layers before the loss.
- Ahead of that, weights are fetched until they come to the prefetch bucket; several at once arrive in one flat buffer.
- Tensors up to the persistence threshold are never divided. Nothing is a root unit: embeddings and head come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memplan.architecture.dividing import share
from memplan.architecture.parts import Architecture
from memplan.memory.gathering import NOTHING, Gathering, Unit
from memplan.memory.setup import Setup
from memplan.memory.states import HeldTensor, layer_tensors, outer_tensors, packed_parts
from memplan.memory.storage import rounded
from memplan.memory.zero import persistence_threshold, prefetch_bucket
from memplan.number_formats import BYTES_PER_VALUE
from memplan.plan.hardware import Sharding


@dataclass(frozen=True, slots=True)
class _Divided:
    """Tensors of a layer, or of what stands outside, that are divided."""

    values: int
    num_bytes: int
    largest_values: int
    largest_bytes: int
    gradients: int
    """The device's share."""


def zero3_gathering(
    architecture: Architecture, setup: Setup, sharding: Sharding, devices: int, *, expert_parallel: int = 1
) -> Gathering:
    """Every layer's weights in use and on their way, the ends', and what stays from forward to backward."""
    layers = {
        layer: _divided(layer_tensors(layer, setup), architecture, sharding, devices, expert_parallel)
        for layer in architecture.kinds
    }
    ends = _divided(outer_tensors(architecture, setup), architecture, sharding, devices, expert_parallel)
    ahead = prefetch_bucket(sharding, architecture.hidden_size)
    in_order = [layers[layer] for layer, count in architecture.layers for _ in range(count)]
    head = ends.largest_values if architecture.ends else 0
    passes = 3 if setup.checkpointing else 2
    return Gathering(
        root=replace(NOTHING, gradients=ends.gradients),
        layers={layer: _unit(one, ahead, sharding.reuse_distance, setup) for layer, one in layers.items()},
        reshards=True,
        at_start=ends.largest_bytes if architecture.starts else 0,
        at_loss=ends.largest_bytes if architecture.ends else 0,
        # The last layers are soon used again where backward follows; without one each is used once in a step.
        reused=_reused(in_order, head, passes, sharding.reuse_distance) if setup.trains else (),
    )


def _unit(layer: _Divided, ahead: int, reuse_distance: int, setup: Setup) -> Unit:
    whole = setup.checkpointing and 2 * layer.values < reuse_distance
    width = layer.num_bytes / max(1, layer.values)
    arriving = min(layer.num_bytes, round(min(layer.values, ahead + layer.largest_values) * width)) if ahead else 0
    return Unit(
        weights=layer.num_bytes if whole else layer.largest_bytes,
        buffer=(buffer := int(rounded(arriving))),
        ahead=buffer,
        at_end=buffer,
        cast=0,
        reduce_buffer=0,
        behind=0,
        gradients=layer.gradients,
    )


def _reused(layers: Sequence[_Divided], head: int, passes: int, reuse_distance: int) -> tuple[int, ...]:
    """Bytes of each of the last layers that stay from forward to backward, from the last on.

    Equation: a layer stays if 2 h + c · e < R, with h values of the head, e values of the layers behind it and R the
    reuse distance: c = 2 (forward and backward), or 3 where each of them is run again first.

    Four layers of 1000 values behind a head of 500, R = 4000: of 2000 bytes each, the last two stay.

    >>> _reused([_Divided(1000, 2000, 0, 0, 0)] * 4, 500, 2, 4000)
    (2000, 2000)
    """
    found: list[int] = []
    traversed = 2 * head
    for layer in reversed(layers):
        if traversed >= reuse_distance:
            break
        found.append(layer.num_bytes)
        traversed += passes * layer.values
    return tuple(found)


def _divided(
    tensors: Sequence[HeldTensor], architecture: Architecture, sharding: Sharding, devices: int, expert_parallel: int
) -> _Divided:
    most = persistence_threshold(sharding, architecture.hidden_size)
    values = num_bytes = largest = largest_bytes = gradients = 0
    for tensor in tensors:
        shares = devices // expert_parallel if tensor.of_experts else devices
        width = BYTES_PER_VALUE[tensor.dtype]
        if tensor.trains:
            gradients += tensor.count * share(tensor.values, shares) * width
        if tensor.values <= most:
            continue
        of_one = packed_parts(tensor, double_quant=False)[0] if tensor.packed else tensor.values * width
        values, num_bytes = values + tensor.total_values, num_bytes + tensor.count * of_one
        largest, largest_bytes = max(largest, tensor.values), max(largest_bytes, of_one)
    return _Divided(values, num_bytes, largest, int(rounded(largest_bytes)), int(rounded(gradients)))
