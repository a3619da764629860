"""Decoders with rotary positions that square a relu to feed forward: BitNet, Jais 2, nanochat, Persimmon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memplan.architecture.composing import (
    compose_decoder,
    equal_layers,
    gated_mlp,
    plain_mlp,
    pre_norm_layer,
    read_activation,
    read_attention,
    read_head_dim,
    read_rotary_dim,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp, Norm
from memplan.architecture.positions import Rotary


def _layer_norm(name: str, size: int) -> Norm:
    return Norm(name, "layer", size, bias=True)


def _plain(reader: ConfigReader, names: tuple[str, str], *, bias: bool) -> Mlp:
    hidden, width = reader.size("hidden_size"), reader.size("intermediate_size")
    up, down = Linear(names[0], hidden, width, bias, "mlp"), Linear(names[1], width, hidden, bias, "mlp")
    return plain_mlp(up, down, read_activation(reader, "relu2", "hidden_act"))


def _bitnet(reader: ConfigReader) -> Architecture:
    """Llama with a norm before each block's last projection. In training its matrices are plain ones."""
    hidden, width, bias = reader.size("hidden_size"), reader.size("intermediate_size"), _bias(reader, False)
    attention = replace(
        read_attention(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=5),
        inner_norm=Norm("attn_sub_norm", "rms", hidden),
    )
    mlp = gated_mlp("mlp", hidden, width, read_activation(reader, "relu2", "hidden_act"))
    mlp = replace(mlp, inner_norm=Norm("ffn_sub_norm", "rms", width))
    return compose_decoder(reader, equal_layers(reader, pre_norm_layer(reader, attention, mlp)))


def _jais2(reader: ConfigReader) -> Architecture:
    hidden, bias = reader.size("hidden_size"), _bias(reader, True)
    layer = Layer(
        attention=read_attention(reader, qkv_bias=bias, out_bias=bias),
        mlp=_plain(reader, ("up_proj", "down_proj"), bias=reader.flag("mlp_bias", True)),
        attention_norm=_layer_norm("input_layernorm", hidden),
        mlp_norm=_layer_norm("post_attention_layernorm", hidden),
    )
    model = compose_decoder(reader, equal_layers(reader, layer))
    return replace(model, final_norm=_layer_norm("norm", hidden))


def _nanochat(reader: ConfigReader) -> Architecture:
    """No norm has a gain; one stands behind the embeddings, others behind the turning of queries and keys."""
    hidden, bias = reader.size("hidden_size"), _bias(reader, False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias)
    attention = replace(
        attention,
        norms_after_turning=True,
        query_norm=_bare("q_norm", attention.head_dim),
        key_norm=_bare("k_norm", attention.head_dim),
    )
    layer = Layer(
        attention=attention,
        mlp=_plain(reader, ("fc1", "fc2"), bias=False),
        attention_norm=_bare("input_layernorm", hidden),
        mlp_norm=_bare("post_attention_layernorm", hidden),
    )
    capped = reader.config.get("final_logit_softcapping", 15.0) is not None
    model = compose_decoder(reader, equal_layers(reader, layer), logits_softcap=capped)
    return replace(model, final_norm=_bare("norm", hidden), embedding_norm=_bare("norm", hidden))


def _bare(name: str, size: int) -> Norm:
    return Norm(name, "rms", size, affine=False)


def _persimmon(reader: ConfigReader) -> Architecture:
    """Queries, keys and values of each head stand side by side in one product; half of a head is turned."""
    hidden, heads = reader.size("hidden_size"), reader.size("num_attention_heads")
    head_dim = read_head_dim(ConfigReader({**reader.config, "head_dim": None}), hidden, heads)
    attention = Attention(
        name="self_attn",
        heads=heads,
        kv_heads=heads,
        head_dim=head_dim,
        inputs=(Linear("query_key_value", hidden, 3 * hidden, bias=True),),
        output=Linear("dense", hidden, hidden, bias=True),
        fused="by_index",
        rotary_dim=read_rotary_dim(reader, head_dim, 0.5),
        rotary=Rotary(joins=True, inline=True),
        dropout=reader.fraction("attention_dropout", 0.0),
    )
    if reader.flag("qk_layernorm", True):
        norms = (_layer_norm(name, head_dim) for name in ("q_layernorm", "k_layernorm"))
        attention = replace(attention, query_norm=next(norms), key_norm=next(norms))
    layer = Layer(
        attention=attention,
        mlp=_plain(reader, ("dense_h_to_4h", "dense_4h_to_h"), bias=True),
        attention_norm=_layer_norm("input_layernorm", hidden),
        mlp_norm=_layer_norm("post_attention_layernorm", hidden),
        dropout=reader.fraction("hidden_dropout", 0.0),
        drops_attention=False,
    )
    model = compose_decoder(reader, equal_layers(reader, layer))
    return replace(model, final_norm=_layer_norm("final_layernorm", hidden))


def _bias(reader: ConfigReader, default: bool) -> bool:
    return reader.flag("attention_bias", default)


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "bitnet": _bitnet,
    "jais2": _jais2,
    "nanochat": _nanochat,
    "persimmon": _persimmon,
}
"""Model types with a composition of their own."""
