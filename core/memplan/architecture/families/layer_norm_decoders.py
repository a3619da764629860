"""Decoders with layer norms and rotary positions: StarCoder 2, Phi, StableLM, Nemotron, Cohere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memplan.architecture.composing import (
    compose_decoder,
    equal_layers,
    gated_mlp,
    plain_mlp,
    read_activation,
    read_attention,
    read_rotary_dim,
    runs_of,
    sliding_layers,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp, Norm
from memplan.architecture.positions import Rotary


def _layer_norm(name: str, size: int) -> Norm:
    return Norm(name, "layer", size, bias=True)


def _plain(reader: ConfigReader, names: tuple[str, str], activation: str, *, bias: bool) -> Mlp:
    hidden, width = reader.size("hidden_size"), reader.size("intermediate_size")
    up, down = Linear(names[0], hidden, width, bias, "mlp"), Linear(names[1], width, hidden, bias, "mlp")
    return plain_mlp(up, down, read_activation(reader, activation, "hidden_act"))


def _gated(reader: ConfigReader) -> Mlp:
    activation = read_activation(reader, "silu", "hidden_act")
    return gated_mlp("mlp", reader.size("hidden_size"), reader.size("intermediate_size"), activation)


def _starcoder2(reader: ConfigReader) -> Architecture:
    hidden, bias = reader.size("hidden_size"), reader.flag("use_bias", True)
    layer = Layer(
        attention=read_attention(
            reader,
            qkv_bias=bias,
            out_bias=bias,
            default_kv_heads=2,
            window=reader.optional_size("sliding_window"),
        ),
        mlp=_plain(reader, ("c_fc", "c_proj"), "gelu_pytorch_tanh", bias=bias),
        attention_norm=_layer_norm("input_layernorm", hidden),
        mlp_norm=_layer_norm("post_attention_layernorm", hidden),
        dropout=reader.fraction("residual_dropout", 0.0),
    )
    model = compose_decoder(reader, equal_layers(reader, layer), tied_default=True)
    dropout = reader.fraction("embedding_dropout", 0.0)
    return replace(model, final_norm=_layer_norm("norm", hidden), embedding_dropout=dropout)


def _phi(reader: ConfigReader) -> Architecture:
    hidden = reader.size("hidden_size")
    attention = _partly_turned(reader, read_attention(reader, qkv_bias=True, out_bias=True), 0.5, inline=True)
    attention = replace(attention, output=replace(attention.output, name="dense"))
    if reader.flag("qk_layernorm", False):
        norms = (_layer_norm(name, attention.head_dim) for name in ("q_layernorm", "k_layernorm"))
        attention = replace(attention, query_norm=next(norms), key_norm=next(norms))
    layer = Layer(
        attention=attention,
        mlp=_plain(reader, ("fc1", "fc2"), "gelu_new", bias=True),
        attention_norm=_layer_norm("input_layernorm", hidden),
        mlp_norm=None,
        parallel=True,
        dropout=reader.fraction("resid_pdrop", 0.0),
    )
    model = compose_decoder(reader, equal_layers(reader, layer))
    return replace(
        model,
        final_norm=_layer_norm("final_layernorm", hidden),
        head=replace(model.head, bias=True),
        embedding_dropout=reader.fraction("embd_pdrop", 0.0),
    )


def _stablelm(reader: ConfigReader) -> Architecture:
    hidden, parallel = reader.size("hidden_size"), reader.flag("use_parallel_residual", False)
    attention = read_attention(reader, qkv_bias=reader.flag("use_qkv_bias", False), out_bias=False, default_kv_heads=32)
    attention = _partly_turned(reader, attention, 0.25, inline=True)
    if reader.flag("qk_layernorm", False):
        attention = replace(
            attention,
            query_norm=Norm("q_layernorm", "layer", attention.head_dim, heads=attention.heads),
            key_norm=Norm("k_layernorm", "layer", attention.head_dim, heads=attention.kv_heads),
        )
    layer = Layer(
        attention=attention,
        mlp=_gated(reader),
        attention_norm=_layer_norm("input_layernorm", hidden),
        mlp_norm=None if parallel else _layer_norm("post_attention_layernorm", hidden),
        parallel=parallel,
        residual_first=parallel,
        holds_attention=True,
        holds_norm="until_end",
        dropout=reader.fraction("hidden_dropout", 0.0),
    )
    model = compose_decoder(reader, equal_layers(reader, layer))
    return replace(model, final_norm=_layer_norm("norm", hidden))


def _nemotron(reader: ConfigReader) -> Architecture:
    hidden, bias = reader.size("hidden_size"), reader.flag("attention_bias", False)
    attention = _partly_turned(reader, read_attention(reader, qkv_bias=bias, out_bias=bias), 0.5)
    layer = Layer(
        attention=attention,
        mlp=_plain(reader, ("up_proj", "down_proj"), "relu2", bias=reader.flag("mlp_bias", False)),
        attention_norm=Norm("input_layernorm", "layer_1p", hidden, bias=True),
        mlp_norm=Norm("post_attention_layernorm", "layer_1p", hidden, bias=True),
    )
    model = compose_decoder(reader, equal_layers(reader, layer))
    return replace(model, final_norm=Norm("norm", "layer_1p", hidden, bias=True))


def _partly_turned(reader: ConfigReader, attention: Attention, default: float, *, inline: bool = False) -> Attention:
    turned = read_rotary_dim(reader, attention.head_dim, default)
    return replace(attention, rotary_dim=turned, rotary=Rotary(joins=True, inline=inline))


def _cohere(reader: ConfigReader) -> Architecture:
    attention = _cohere_attention(reader)
    if reader.flag("use_qk_norm", False):
        attention = replace(
            attention,
            query_norm=Norm("q_norm", "centred", attention.head_dim, heads=attention.heads),
            key_norm=Norm("k_norm", "centred", attention.head_dim, heads=attention.kv_heads),
        )
    layer = _cohere_layer(reader, attention)
    return compose_decoder(reader, equal_layers(reader, layer), norm="centred", tied_default=True, logits_scale=True)


def _cohere2(reader: ConfigReader) -> Architecture:
    attention, window = _cohere_attention(reader), reader.optional_size("sliding_window", 4096)
    every = reader.size("sliding_window_pattern", default=4)
    # Full layers turn nothing.
    sliding = _cohere_layer(reader, replace(attention, window=window))
    full = _cohere_layer(reader, replace(attention, rotary_dim=0))
    slides = sliding_layers(reader, lambda index: (index + 1) % every != 0)
    runs = runs_of(sliding if one else full for one in slides)
    return compose_decoder(reader, runs, norm="centred", tied_default=True, logits_scale=True)


def _cohere_compass(reader: ConfigReader) -> Architecture:
    """Cohere's layers, turned by positions in time, height and width; kinds without `rope_parameters` are not."""
    bias, own = reader.flag("attention_bias", False), reader.part("rope_parameters").config
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias)
    window = reader.optional_size("sliding_window", 4096)

    def layer(slides: bool) -> Layer:
        turned = own.get("sliding_attention" if slides else "full_attention", own) is not None
        return _cohere_layer(
            reader,
            replace(
                attention,
                rotary=Rotary(table=int(slides), per_row=True),
                rotary_dim=attention.rotary_dim if turned else 0,
                window=window if slides else None,
            ),
        )

    kinds = layer(False), layer(True)
    runs = runs_of(kinds[one] for one in sliding_layers(reader, lambda index: False))
    return compose_decoder(reader, runs, norm="centred", tied_default=True, logits_scale=True)


def _cohere_attention(reader: ConfigReader) -> Attention:
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias)
    return replace(attention, rotary=Rotary(pairs=True, fp32_heads=True))


def _cohere_layer(reader: ConfigReader, attention: Attention) -> Layer:
    return Layer(
        attention=attention,
        mlp=_gated(reader),
        attention_norm=Norm("input_layernorm", "centred", reader.size("hidden_size")),
        mlp_norm=None,
        parallel=True,
        residual_first=True,
    )


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "starcoder2": _starcoder2,
    "phi": _phi,
    "stablelm": _stablelm,
    "nemotron": _nemotron,
    "cohere": _cohere,
    "cohere2": _cohere2,
    "cohere_compass_text": _cohere_compass,
}
"""Model types with a composition of their own."""
