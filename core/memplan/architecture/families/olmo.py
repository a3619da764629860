"""OLMo: norms without gains in the first, norms after each block and over all queries and keys in later ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memplan.architecture.composing import (
    compose_decoder,
    equal_layers,
    gated_mlp,
    read_activation,
    read_attention,
    runs_of,
    sliding_layers,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Architecture, Attention, Layer, Mlp, Norm
from memplan.architecture.positions import Rotary


def _olmo(reader: ConfigReader) -> Architecture:
    hidden = reader.size("hidden_size")
    layer = Layer(
        attention=replace(_attention(reader), clips=reader.config.get("clip_qkv") is not None),
        mlp=_mlp(reader),
        attention_norm=Norm("input_layernorm", "fp32_layer", hidden, affine=False),
        mlp_norm=Norm("post_attention_layernorm", "fp32_layer", hidden, affine=False),
    )
    model = compose_decoder(reader, equal_layers(reader, layer))
    return replace(model, final_norm=Norm("norm", "fp32_layer", hidden, affine=False))


def _olmo2(reader: ConfigReader) -> Architecture:
    layer = _post_norm_layer(reader, _normed_attention(reader))
    return compose_decoder(reader, equal_layers(reader, layer), norm="late_rms")


def _olmo3(reader: ConfigReader) -> Architecture:
    attention = _normed_attention(reader)
    window = reader.optional_size("sliding_window", 4096)
    # Sliding and full layers turn heads by positions of their own.
    sliding = replace(attention, window=window, rotary=replace(attention.rotary, table=1))
    layers = _post_norm_layer(reader, attention), _post_norm_layer(reader, sliding)
    slides = sliding_layers(reader, lambda index: (index + 1) % 4 != 0)
    return compose_decoder(reader, runs_of(layers[one] for one in slides), norm="late_rms")


def _attention(reader: ConfigReader) -> Attention:
    bias = reader.flag("attention_bias", False)
    return replace(read_attention(reader, qkv_bias=bias, out_bias=bias), rotary=Rotary(fp32_tables=True))


def _normed_attention(reader: ConfigReader) -> Attention:
    attention = _attention(reader)
    return replace(
        attention,
        query_norm=Norm("q_norm", "late_rms", attention.heads * attention.head_dim),
        key_norm=Norm("k_norm", "late_rms", attention.kv_heads * attention.head_dim),
    )


def _mlp(reader: ConfigReader) -> Mlp:
    activation = read_activation(reader, "silu", "hidden_act")
    return gated_mlp("mlp", reader.size("hidden_size"), reader.size("intermediate_size"), activation)


def _post_norm_layer(reader: ConfigReader, attention: Attention) -> Layer:
    hidden = reader.size("hidden_size")
    return Layer(
        attention=attention,
        mlp=_mlp(reader),
        attention_norm=None,
        mlp_norm=None,
        attention_out_norm=Norm("post_attention_layernorm", "late_rms", hidden),
        mlp_out_norm=Norm("post_feedforward_layernorm", "late_rms", hidden),
    )


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {"olmo": _olmo, "olmo2": _olmo2, "olmo3": _olmo3}
"""Model types with a composition of their own."""
