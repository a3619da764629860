"""Megatron's transformer layer: the same matrices, with norms, softmax and activations in kernels of their own."""

from __future__ import annotations

from dataclasses import replace

from memplan.architecture.parts import Architecture, Attention, Layer, Mlp, Norm

_FAMILIES = ("llama", "mistral", "qwen2", "gpt2")


def of_megatron(architecture: Architecture) -> Architecture | None:
    """The model with Megatron's modules, or None for families that they are not written down for."""
    if architecture.model_type not in _FAMILIES:
        return None
    layers: dict[Layer, Layer] = {}
    for layer in architecture.kinds:
        attention = layer.attention
        if not isinstance(attention, Attention) or not isinstance(layer.mlp, Mlp):
            return None
        layers[layer] = replace(
            layer,
            attention=replace(attention, window=None),
            attention_norm=_fused(layer.attention_norm),
            mlp_norm=_fused(layer.mlp_norm),
            modules_of="megatron",
        )
    return replace(
        architecture,
        layers=tuple((layers[layer], count) for layer, count in architecture.layers),
        final_norm=_fused(architecture.final_norm),
    )


def _fused(norm: Norm | None) -> Norm | None:
    return replace(norm, kind="fused") if norm is not None else None
