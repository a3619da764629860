"""LFM3: short convolutions and attention with a gate for each head, between norms on both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memplan.architecture.composing import compose_decoder, gated_mlp, read_attention, runs_of
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.families.state_space import layer_names, short_convolution
from memplan.architecture.linear_parts import ShortConvolution
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp, Norm
from memplan.architecture.positions import Rotary


def _attention(reader: ConfigReader, *, slides: bool) -> Attention:
    """Sliding and full layers turn heads by tables of their own, in fp32."""
    bias, hidden = reader.flag("attention_bias", False), reader.size("hidden_size")
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, qk_norm="rms", default_kv_heads=4)
    gates = reader.flag("use_attention_gate", True)
    return replace(
        attention,
        gate=Linear("g_proj", hidden, attention.heads) if gates else None,
        rotary=Rotary(fp32_tables=True, table=int(slides)),
        window=reader.size("sliding_window", default=256) if slides else None,
    )


def _mlp(reader: ConfigReader) -> Mlp:
    hidden, width = reader.size("hidden_size"), reader.size("intermediate_size")
    mlp = gated_mlp("feed_forward", hidden, width, "silu")
    return replace(
        mlp,
        gate=Linear("w1", hidden, width, component="mlp"),
        up=Linear("w3", hidden, width, component="mlp"),
        down=Linear("w2", width, hidden, component="mlp"),
    )


def _layer(reader: ConfigReader, mixer: Attention | ShortConvolution) -> Layer:
    hidden, sandwich = reader.size("hidden_size"), reader.flag("use_sandwich_norm", True)
    return Layer(
        attention=mixer,
        mlp=_mlp(reader),
        attention_norm=Norm("operator_norm", "rms", hidden),
        mlp_norm=Norm("ffn_norm", "rms", hidden),
        attention_out_norm=Norm("post_operator_norm", "rms", hidden) if sandwich else None,
        mlp_out_norm=Norm("post_ffn_norm", "rms", hidden) if sandwich else None,
    )


def _lfm3(reader: ConfigReader) -> Architecture:
    kinds: dict[str, Layer] = {
        "conv": _layer(reader, short_convolution(reader, kernel=7)),
        "sliding_attention": _layer(reader, _attention(reader, slides=True)),
        "full_attention": _layer(reader, _attention(reader, slides=False)),
    }
    order = runs_of(kinds.get(name, kinds["full_attention"]) for name in layer_names(reader, "layer_types"))
    return compose_decoder(reader, order, tied_default=True)


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {"lfm3": _lfm3}
"""Model types with a composition of their own."""
