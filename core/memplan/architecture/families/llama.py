"""llama and its nearest relatives: pre-norm layers, rotary positions, a gated feed-forward block."""

from __future__ import annotations

from collections.abc import Callable

from memplan.architecture.composing import (
    compose_decoder,
    llama_like,
    read_activation,
    read_head_dim,
    read_kv_heads,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import (
    Architecture,
    Attention,
    Layer,
    Linear,
    Mlp,
    Norm,
)


def _llama(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    return llama_like(reader, qkv_bias=bias, out_bias=bias)


def _mistral(reader: ConfigReader) -> Architecture:
    return llama_like(reader, default_kv_heads=8, window=reader.optional_size("sliding_window", 4096))


def _qwen2(reader: ConfigReader) -> Architecture:
    window = reader.optional_size("sliding_window", 4096) if reader.flag("use_sliding_window", False) else None
    return llama_like(reader, qkv_bias=True, default_kv_heads=32, window=window)


def _qwen3(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    window = reader.optional_size("sliding_window", 4096) if reader.flag("use_sliding_window", False) else None
    return llama_like(reader, qkv_bias=bias, out_bias=bias, qk_norm="rms", default_kv_heads=32, window=window)


def _phi3(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("hidden_size"), reader.size("num_attention_heads")
    kv_heads, head_dim = read_kv_heads(reader, heads), read_head_dim(reader, hidden, heads)
    width = reader.size("intermediate_size")
    rotary = reader.mapping("rope_parameters").get("partial_rotary_factor", reader.fraction("partial_rotary_factor", 1))
    attention = Attention(
        name="self_attn",
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        inputs=(Linear("qkv_proj", hidden, (heads + 2 * kv_heads) * head_dim),),
        output=Linear("o_proj", heads * head_dim, hidden),
        fused="by_part",
        rotary_dim=int(head_dim * rotary),
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
