"""Relatives of llama, each with a difference or two: scales, layers without positions, norms after the blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from memplan.architecture.composing import (
    compose_decoder,
    equal_layers,
    gated_mlp,
    plain_mlp,
    pre_norm_layer,
    read_activation,
    read_attention,
    read_rotary_dim,
    runs_of,
    sliding_layers,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Architecture, Layer, Linear, Mlp, Norm
from memplan.architecture.positions import Rotary
from memplan.errors import ConfigError


def _granite(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    layer = pre_norm_layer(reader, read_attention(reader, qkv_bias=bias, out_bias=bias), _gated(reader))
    layer = replace(layer, residual_scale=True)
    return compose_decoder(reader, equal_layers(reader, layer), embedding_scale="number", logits_scale=True)


def _diffllama(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    attention = replace(read_attention(reader, qkv_bias=bias, out_bias=bias), differential=True)
    if attention.kv_heads % 2:
        raise ConfigError(
            f"{attention.kv_heads} key and value heads can not be cut in halves, which a diffllama model does",
            place=f"{reader.place}.num_key_value_heads",
        )
    layer = pre_norm_layer(reader, attention, _gated(reader, bias=False))
    return compose_decoder(reader, equal_layers(reader, layer))


def _granite_swa(reader: ConfigReader) -> Architecture:
    """Granite whose layers mostly slide, with a number for each head that closes what it found."""
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=4)
    attention = replace(attention, sinks=True, scores="granite_swa")
    window, thetas = reader.optional_size("sliding_window", 128), reader.listed("layer_rope_theta") or []
    tables = {theta: number for number, theta in enumerate(sorted({theta for theta in thetas if theta}))}
    slides = sliding_layers(reader, lambda index: index % 4 != 0)

    @cache
    def layer(one: bool, theta: float | None) -> Layer:
        turned = replace(attention.rotary, table=tables.get(theta, 0))
        own = replace(attention, window=window if one else None, rotary=turned)
        own = own if theta is None or theta else replace(own, rotary_dim=0)
        return replace(pre_norm_layer(reader, own, _gated(reader)), residual_scale=True)

    by_layer = [thetas[index] if index < len(thetas) else None for index in range(len(slides))]
    runs = runs_of(map(layer, slides, by_layer))
    return compose_decoder(reader, runs, tied_default=True, embedding_scale="number", logits_scale=True)


def _hyperclovax(reader: ConfigReader) -> Architecture:
    """Granite with a norm after each block, too."""
    bias, hidden = reader.flag("attention_bias", False), reader.size("hidden_size")
    layer = pre_norm_layer(reader, read_attention(reader, qkv_bias=bias, out_bias=bias), _gated(reader))
    layer = replace(layer, residual_scale=True)
    if reader.flag("use_post_norm", True):
        norms = (Norm(name, "rms", hidden) for name in ("post_norm1", "post_norm2"))
        layer = replace(layer, attention_out_norm=next(norms), mlp_out_norm=next(norms))
    return compose_decoder(reader, equal_layers(reader, layer), embedding_scale="number", logits_scale=True)


def _helium(reader: ConfigReader) -> Architecture:
    """The gain of norms in fp32, neighbours turned, no bias behind the heads."""
    hidden = reader.size("hidden_size")
    attention = read_attention(
        reader, qkv_bias=reader.flag("attention_bias", False), out_bias=False, default_head_dim=128
    )
    layer = Layer(
        attention=replace(attention, rotary=Rotary(pairs=True, spread="once")),
        mlp=_gated(reader),
        attention_norm=Norm("input_layernorm", "late_rms", hidden),
        mlp_norm=Norm("post_attention_layernorm", "late_rms", hidden),
    )
    return compose_decoder(reader, equal_layers(reader, layer), norm="late_rms")


def _smollm3(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    window = reader.optional_size("sliding_window") if reader.flag("use_sliding_window", False) else None
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=4)
    turned = pre_norm_layer(reader, attention, _gated(reader))
    unturned = pre_norm_layer(reader, replace(attention, rotary_dim=0, window=window), _gated(reader))
    count, interval = reader.size("num_hidden_layers"), reader.size("no_rope_layer_interval", default=4)
    named = reader.listed("no_rope_layers")
    turns = named if named is not None and len(named) == count else [(i + 1) % interval for i in range(count)]
    return compose_decoder(reader, runs_of(turned if one else unturned for one in turns), tied_default=True)


def _seed_oss(reader: ConfigReader) -> Architecture:
    attention = read_attention(
        reader,
        qkv_bias=reader.flag("attention_bias", True),
        out_bias=reader.flag("attention_out_bias", False),
        default_kv_heads=8,
        default_head_dim=128,
    )
    attention = replace(attention, dropout=reader.fraction("attention_dropout", 0.1))
    layer = pre_norm_layer(reader, attention, _gated(reader))
    layer = replace(layer, dropout=reader.fraction("residual_dropout", 0.1))
    return compose_decoder(reader, equal_layers(reader, layer))


def _exaone4(reader: ConfigReader) -> Architecture:
    hidden, window = reader.size("hidden_size"), reader.optional_size("sliding_window", 4096)
    attention = read_attention(reader, qkv_bias=False, out_bias=False, qk_norm="rms", default_kv_heads=32)
    pattern = reader.config.get("sliding_window_pattern", 4)

    def layer(slides: bool) -> Layer:
        # Where some layers slide, the full ones turn nothing.
        turned = attention.rotary_dim if slides or window is None else 0
        return Layer(
            attention=replace(attention, window=window if slides else None, rotary_dim=turned),
            mlp=_gated(reader),
            attention_norm=None,
            mlp_norm=None,
            attention_out_norm=Norm("post_attention_layernorm", "rms", hidden),
            mlp_out_norm=Norm("post_feedforward_layernorm", "rms", hidden),
        )

    every = pattern if isinstance(pattern, int) and pattern > 0 and window is not None else 1
    slides = sliding_layers(reader, lambda index: (index + 1) % every != 0)
    layers = layer(False), layer(True)
    return compose_decoder(reader, runs_of(layers[one] for one in slides))


def _arcee(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias)
    layer = pre_norm_layer(reader, attention, _ungated(reader, "relu2", bias=reader.flag("mlp_bias", False)))
    return compose_decoder(reader, equal_layers(reader, layer))


def _apertus(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, qk_norm="rms")
    mlp = _ungated(reader, "xielu", bias=False)
    layer = pre_norm_layer(reader, attention, mlp)
    layer = replace(layer, buffers=(2, 2) if mlp.activation == "xielu" else ())
    return compose_decoder(reader, equal_layers(reader, layer))


def _apertus1p5(reader: ConfigReader) -> Architecture:
    """Apertus whose head may have lost the rows of images and sound, which the embeddings keep."""
    rows = reader.size("vocab_size")
    kept = reader.size("output_vocab_size", default=rows)
    model = _apertus(ConfigReader({**reader.config, "vocab_size": kept}, reader.place))
    return replace(model, tokens=replace(model.tokens, rows=rows))


def _ministral3(reader: ConfigReader) -> Architecture:
    attention = read_attention(
        reader,
        qkv_bias=False,
        out_bias=False,
        default_kv_heads=8,
        default_head_dim=128,
        window=reader.optional_size("sliding_window"),
    )
    layer = pre_norm_layer(reader, replace(attention, scaled_queries="after_turning"), _gated(reader))
    return compose_decoder(reader, equal_layers(reader, layer))


def _ernie4_5(reader: ConfigReader) -> Architecture:
    bias = reader.flag("use_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=2, default_head_dim=128)
    turning = Rotary(pairs=True, spread="once", fp32_tables=True, fp32_products=True)
    mlp = _gated(reader, bias=bias)
    layer = pre_norm_layer(reader, replace(attention, rotary=turning, dropout=0.0), mlp)
    return compose_decoder(reader, equal_layers(reader, layer), tied_default=True)


def _glm(reader: ConfigReader) -> Architecture:
    return compose_decoder(reader, equal_layers(reader, _glm_layer(reader)))


def _glm4(reader: ConfigReader) -> Architecture:
    hidden = reader.size("hidden_size")
    layer = replace(
        _glm_layer(reader),
        attention_out_norm=Norm("post_self_attn_layernorm", "rms", hidden),
        mlp_out_norm=Norm("post_mlp_layernorm", "rms", hidden),
    )
    return compose_decoder(reader, equal_layers(reader, layer))


def _glm_layer(reader: ConfigReader) -> Layer:
    hidden, width = reader.size("hidden_size"), reader.size("intermediate_size")
    attention = read_attention(
        reader,
        qkv_bias=reader.flag("attention_bias", True),
        out_bias=False,
        default_kv_heads=2,
        default_head_dim=128,
    )
    attention = replace(
        attention,
        rotary_dim=read_rotary_dim(reader, attention.head_dim, 0.5),
        rotary=Rotary(joins=True, pairs=True, spread="once"),
    )
    mlp = Mlp(
        name="mlp",
        up=Linear("gate_up_proj", hidden, 2 * width, component="mlp"),
        down=Linear("down_proj", width, hidden, component="mlp"),
        activation=read_activation(reader, "silu", "hidden_act"),
        fused=True,
        width=width,
    )
    return pre_norm_layer(reader, attention, mlp)


def _gated(reader: ConfigReader, bias: bool | None = None) -> Mlp:
    return gated_mlp(
        "mlp",
        reader.size("hidden_size"),
        reader.size("intermediate_size"),
        read_activation(reader, "silu", "hidden_act"),
        reader.flag("mlp_bias", False) if bias is None else bias,
    )


def _ungated(reader: ConfigReader, activation: str, *, bias: bool) -> Mlp:
    hidden, width = reader.size("hidden_size"), reader.size("intermediate_size")
    return plain_mlp(
        Linear("up_proj", hidden, width, bias, "mlp"),
        Linear("down_proj", width, hidden, bias, "mlp"),
        read_activation(reader, activation, "hidden_act"),
    )


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "granite": _granite,
    "diffllama": _diffllama,
    "granite_swa": _granite_swa,
    "hyperclovax": _hyperclovax,
    "helium": _helium,
    "smollm3": _smollm3,
    "seed_oss": _seed_oss,
    "exaone4": _exaone4,
    "arcee": _arcee,
    "apertus": _apertus,
    "apertus1p5_text": _apertus1p5,
    "ministral3": _ministral3,
    "ernie4_5": _ernie4_5,
    "glm": _glm,
    "glm4": _glm4,
    "glm4v_text": _glm4,
}
"""Model types with a composition of their own."""
