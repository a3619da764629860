"""The part of a model that one device holds when the model itself is divided: by matrices, by layers, by experts.

It follows the published rules of Megatron-LM and is not held against traces: estimates that use it are extrapolations.
Where a part has no rule (state-space mixers) the device is taken to hold it whole, which is never too little.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from memplan.architecture.expert_parts import Experts
from memplan.architecture.latent_parts import LatentAttention
from memplan.architecture.linear_parts import StateMixer
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp


def share(count: int, parts: int) -> int:
    """The largest part when things are divided as evenly as they can be.

    >>> share(84, 8), share(80, 8)
    (11, 10)
    """
    return -(-count // parts)


@lru_cache(maxsize=256)
def part_of(architecture: Architecture, *, tensor: int = 1, expert: int = 1) -> Architecture:
    """What one device of a stage holds; `stages` cuts the layers among the stages.

    Tensor parallelism (t devices) gives each heads / t, feed-forward width / t and vocabulary / t; keys and values are
    repeated once there are more devices than heads of them. Expert parallelism (e) gives each experts / e.
    Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", 2021, section 2.3.
    """
    if tensor == expert == 1:
        return architecture
    layers: dict[Layer, Layer] = {}
    runs = [(layers.setdefault(layer, _layer(layer, tensor, expert)), count) for layer, count in architecture.layers]
    vocabulary = share(architecture.vocab_size, tensor)
    return replace(
        architecture,
        layers=tuple(runs),
        vocab_size=vocabulary,
        tokens=replace(architecture.tokens, rows=share(architecture.tokens.rows, tensor)),
        head=replace(architecture.head, outputs=share(architecture.head.outputs, tensor)),
    )


def _layer(layer: Layer, tensor: int, expert: int) -> Layer:
    mlp = layer.mlp
    if isinstance(mlp, Experts):
        mlp = _experts(mlp, tensor, expert)
    elif mlp is not None:
        mlp = _mlp(mlp, tensor)
    return replace(layer, attention=_attention(layer.attention, tensor), mlp=mlp)


def _attention(
    attention: Attention | LatentAttention | StateMixer, tensor: int
) -> Attention | LatentAttention | StateMixer:
    if tensor == 1 or isinstance(attention, StateMixer):
        return attention
    if isinstance(attention, LatentAttention):
        return replace(
            attention,
            heads=share(attention.heads, tensor),
            queries=(*attention.queries[:-1], _fewer_outputs(attention.queries[-1], tensor)),
            up=_fewer_outputs(attention.up, tensor),
            output=_fewer_inputs(attention.output, tensor),
        )
    heads, kv_heads = share(attention.heads, tensor), share(attention.kv_heads, tensor)
    before, after = attention.heads + 2 * attention.kv_heads, heads + 2 * kv_heads
    if len(attention.inputs) == 3:
        queries, *others = attention.inputs
        parts = (heads, attention.heads), (kv_heads, attention.kv_heads), (kv_heads, attention.kv_heads)
        inputs = tuple(
            replace(linear, outputs=linear.outputs * now // was)
            for linear, (now, was) in zip((queries, *others), parts, strict=True)
        )
    else:
        inputs = tuple(replace(linear, outputs=linear.outputs * after // before) for linear in attention.inputs)
    output = replace(attention.output, inputs=attention.output.inputs * heads // attention.heads)
    return replace(attention, heads=heads, kv_heads=kv_heads, inputs=inputs, output=output)


def _mlp(mlp: Mlp, tensor: int) -> Mlp:
    return replace(
        mlp,
        up=_fewer_outputs(mlp.up, tensor),
        gate=_fewer_outputs(mlp.gate, tensor) if mlp.gate is not None else None,
        down=_fewer_inputs(mlp.down, tensor),
        width=share(mlp.width, tensor),
    )


def _experts(experts: Experts, tensor: int, expert: int) -> Experts:
    """The device's experts. As many tokens come to it from others as it sends away, so what passes stays the same."""
    return replace(
        experts,
        count=share(experts.count, expert),
        width=share(experts.width, tensor),
        shared=_mlp(experts.shared, tensor) if experts.shared is not None else None,
    )


def _fewer_outputs(linear: Linear, tensor: int) -> Linear:
    return replace(linear, outputs=share(linear.outputs, tensor))


def _fewer_inputs(linear: Linear, tensor: int) -> Linear:
    return replace(linear, inputs=share(linear.inputs, tensor))
