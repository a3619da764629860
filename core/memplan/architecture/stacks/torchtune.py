"""torchtune's decoder for llama-like models: the same matrices as transformers', norms and positions in fp32.

Source: torchtune 0.6.1, models/llama3_2/_component_builders.py, models/mistral/_component_builders.py.
"""

from __future__ import annotations

from dataclasses import replace

from memplan.architecture.parts import Architecture, Attention, Layer, Mlp, NormKind
from memplan.architecture.positions import Rotary

_FAMILIES = ("llama", "mistral")


FP32_GAINS = (0, 5)
"""The first torchtune whose norms multiply by their gain in fp32 (modules/rms_norm.py of 0.4.0 and 0.5.0)."""


def of_torchtune(architecture: Architecture, version: tuple[int, int] | None = None) -> Architecture | None:
    """The model as torchtune holds it, or None where its modules are not read for it."""
    if architecture.model_type not in _FAMILIES or architecture.final_norm is None:
        return None
    kind: NormKind = "rms" if version is not None and version < FP32_GAINS else "late_rms"
    layers = {layer: _layer(layer, kind) for layer in architecture.kinds}
    return replace(
        architecture,
        layers=tuple((layers[layer], count) for layer, count in architecture.layers),
        final_norm=replace(architecture.final_norm, kind=kind),
    )


def _layer(layer: Layer, kind: NormKind) -> Layer:
    attention, mlp = layer.attention, layer.mlp
    assert isinstance(attention, Attention), "llama-like models have no other attention"
    assert isinstance(mlp, Mlp), "llama-like models have no other feed-forward block"
    return replace(
        layer,
        attention=replace(attention, rotary=Rotary("half_cosines", buffered=True), window=None, dropout=0.0),
        attention_norm=replace(layer.attention_norm, kind=kind) if layer.attention_norm is not None else None,
        mlp_norm=replace(layer.mlp_norm, kind=kind) if layer.mlp_norm is not None else None,
        modules_of="torchtune",
    )
