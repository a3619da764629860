"""llama and its nearest relatives: pre-norm layers, rotary positions, a gated feed-forward block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

from memplan.architecture.composing import (
    compose_decoder,
    llama_like,
    read_activation,
    read_head_dim,
    read_kv_heads,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp, Norm
from memplan.architecture.positions import Rotary


class _Window(TypedDict):
    window: int | None
    first_sliding_layer: int


def _llama(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    return llama_like(reader, qkv_bias=bias, out_bias=bias)


def _mistral(reader: ConfigReader) -> Architecture:
    return llama_like(reader, default_kv_heads=8, window=reader.optional_size("sliding_window", 4096))


def _qwen2(reader: ConfigReader) -> Architecture:
    return llama_like(reader, qkv_bias=True, default_kv_heads=32, **_qwen_window(reader))


def _qwen3(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    return llama_like(reader, qkv_bias=bias, out_bias=bias, qk_norm="rms", default_kv_heads=32, **_qwen_window(reader))


def _qwen_window(reader: ConfigReader) -> _Window:
    """A window only where it is switched on, and then from `max_window_layers` on."""
    if not reader.flag("use_sliding_window", False):
        return {"window": None, "first_sliding_layer": 0}
    return {
        "window": reader.optional_size("sliding_window", 4096),
        "first_sliding_layer": reader.whole("max_window_layers", 28),
    }


def _phi3(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("hidden_size"), reader.size("num_attention_heads")
    kv_heads, head_dim = read_kv_heads(reader, heads), read_head_dim(reader, hidden, heads)
    width = reader.size("intermediate_size")
    rotary = reader.part("rope_parameters").fraction(
        "partial_rotary_factor", reader.fraction("partial_rotary_factor", 1)
    )
    attention = Attention(
        name="self_attn",
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        inputs=(Linear("qkv_proj", hidden, (heads + 2 * kv_heads) * head_dim),),
        output=Linear("o_proj", heads * head_dim, hidden),
        fused="by_part",
        rotary_dim=int(head_dim * rotary),
        rotary=Rotary(joins=True),
        dropout=reader.fraction("attention_dropout", 0.0),
        window=reader.optional_size("sliding_window"),
    )
    mlp = Mlp(
        name="mlp",
        up=Linear("gate_up_proj", hidden, 2 * width, component="mlp"),
        down=Linear("down_proj", width, hidden, component="mlp"),
        activation=read_activation(reader, "silu", "hidden_act"),
        fused=True,
        width=width,
    )
    layer = Layer(
        attention=attention,
        mlp=mlp,
        attention_norm=Norm("input_layernorm", "rms", hidden),
        mlp_norm=Norm("post_attention_layernorm", "rms", hidden),
        dropout=reader.fraction("resid_pdrop", 0.0),
    )
    return compose_decoder(reader, ((layer, reader.size("num_hidden_layers")),))


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "llama": _llama,
    "mistral": _mistral,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "phi3": _phi3,
}
"""Model types with a composition of their own."""
