"""Gemma: norms before and after each block, scaled embeddings, capped scores and logits."""

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


def _gemma(reader: ConfigReader) -> Architecture:
    hidden, bias = reader.size("hidden_size"), reader.flag("attention_bias", False)
    layer = Layer(
        attention=read_attention(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=16),
        mlp=_mlp(reader, "hidden_act"),
        attention_norm=Norm("input_layernorm", "gemma_rms", hidden),
        mlp_norm=Norm("post_attention_layernorm", "gemma_rms", hidden),
    )
    return compose_decoder(
        reader, equal_layers(reader, layer), norm="gemma_rms", tied_default=True, embedding_scale="buffer"
    )


def _gemma3(reader: ConfigReader) -> Architecture:
    hidden, bias = reader.size("hidden_size"), reader.flag("attention_bias", False)
    attention = read_attention(
        reader,
        qkv_bias=bias,
        out_bias=bias,
        qk_norm="gemma_rms",
        default_kv_heads=4,
        softcap=reader.config.get("attn_logit_softcapping") is not None,
    )
    window = reader.optional_size("sliding_window", 4096)
    # Sliding and full layers turn heads by positions of their own.
    sliding = _sandwich(reader, hidden, replace(attention, window=window, rotary=Rotary(table=1)))
    full = _sandwich(reader, hidden, attention)
    pattern = reader.size("sliding_window_pattern", "_sliding_window_pattern", default=6)
    slides = sliding_layers(reader, lambda index: (index + 1) % pattern != 0)
    return compose_decoder(
        reader,
        runs_of(sliding if one else full for one in slides),
        norm="gemma_rms",
        tied_default=True,
        embedding_scale="buffer",
        logits_softcap=reader.config.get("final_logit_softcapping") is not None,
    )


def _mlp(reader: ConfigReader, *keys: str) -> Mlp:
    activation = read_activation(reader, "gelu_pytorch_tanh", *keys)
    return gated_mlp("mlp", reader.size("hidden_size"), reader.size("intermediate_size"), activation)


def _sandwich(reader: ConfigReader, hidden: int, attention: Attention) -> Layer:
    """Norms before and after each block."""
    return Layer(
        attention=attention,
        mlp=_mlp(reader, "hidden_activation", "hidden_act"),
        attention_norm=Norm("input_layernorm", "gemma_rms", hidden),
        attention_out_norm=Norm("post_attention_layernorm", "gemma_rms", hidden),
        mlp_norm=Norm("pre_feedforward_layernorm", "gemma_rms", hidden),
        mlp_out_norm=Norm("post_feedforward_layernorm", "gemma_rms", hidden),
    )


def _gemma2(reader: ConfigReader) -> Architecture:
    hidden, window = reader.size("hidden_size"), reader.optional_size("sliding_window", 4096)
    softcap = reader.config.get("attn_logit_softcapping", 50.0) is not None
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=4, softcap=softcap)
    sliding, full = _sandwich(reader, hidden, replace(attention, window=window)), _sandwich(reader, hidden, attention)
    slides = sliding_layers(reader, lambda index: index % 2 == 0)
    return compose_decoder(
        reader,
        runs_of(sliding if one else full for one in slides),
        norm="gemma_rms",
        tied_default=True,
        embedding_scale="buffer",
        logits_softcap=reader.config.get("final_logit_softcapping", 30.0) is not None,
    )


def _vaultgemma(reader: ConfigReader) -> Architecture:
    """Gemma 2 without the norms after its blocks."""
    model = _gemma2(reader)
    bare = {layer: replace(layer, attention_out_norm=None, mlp_out_norm=None) for layer in model.kinds}
    return replace(model, layers=tuple((bare[layer], count) for layer, count in model.layers))


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "gemma": _gemma,
    "gemma2": _gemma2,
    "gemma3_text": _gemma3,
    "vaultgemma": _vaultgemma,
}
"""Model types with a composition of their own."""
