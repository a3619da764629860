"""Llama's relatives of 2025 and later, and hybrids of attention with Mamba 2 or short convolutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memplan.architecture.composing import (
    compose_decoder,
    gated_mlp,
    llama_like,
    pre_norm_layer,
    read_activation,
    read_attention,
    read_head_dim,
    sliding_layers,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.expert_parts import Experts, Router
from memplan.architecture.families.experts import CORRECTED, read_experts, runs
from memplan.architecture.families.llama_relatives import FAMILIES as LLAMA_RELATIVES
from memplan.architecture.families.mamba2 import CAVEAT, read_mamba2
from memplan.architecture.families.state_space import layer_names, short_convolution
from memplan.architecture.parts import Architecture, Attention, HeadTransform, Layer, Linear, Mlp, Norm
from memplan.architecture.positions import Rotary


def _plain(reader: ConfigReader) -> Architecture:
    """Llama by another name, with a window where layers have one."""
    bias = reader.flag("attention_bias", reader.flag("qkv_bias", False))
    return llama_like(reader, qkv_bias=bias, out_bias=bias, window=reader.optional_size("sliding_window"))


def _exaone(reader: ConfigReader) -> Architecture:
    """EXAONE 3, under the keys it was published with or transformers' own."""
    own = {"num_hidden_layers": "num_layers", "hidden_act": "activation_function"}
    found = {key: reader.config.get(key, reader.config.get(published)) for key, published in own.items()}
    reader = ConfigReader({**reader.config, **found}, reader.place)
    bias = reader.flag("attention_bias", False)
    return llama_like(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=8)


def _ministral(reader: ConfigReader) -> Architecture:
    return llama_like(reader, default_kv_heads=8, window=reader.optional_size("sliding_window", 4096))


def _hunyuan_dense(reader: ConfigReader) -> Architecture:
    """Queries and keys are normed over each head once they are turned."""
    bias = reader.flag("attention_bias", False)
    model = llama_like(reader, qkv_bias=bias, out_bias=bias)
    layer = model.layers[0][0]
    attention = replace(
        read_attention(reader, qkv_bias=bias, out_bias=bias),
        norms_after_turning=True,
        query_norm=Norm("query_layernorm", "rms", reader.size("head_dim", default=_head_dim(reader))),
        key_norm=Norm("key_layernorm", "rms", reader.size("head_dim", default=_head_dim(reader))),
    )
    return replace(model, layers=((replace(layer, attention=attention), reader.size("num_hidden_layers")),))


def _head_dim(reader: ConfigReader) -> int:
    return reader.size("hidden_size") // reader.size("num_attention_heads")


def _granite_shared(reader: ConfigReader) -> Experts | Mlp:
    """Granite's experts beside a shared one; the shared one alone where there are none."""
    hidden, width = reader.size("hidden_size"), reader.whole("shared_intermediate_size", 0)
    shared = Mlp(
        name="shared_mlp",
        up=Linear("input_linear", hidden, 2 * width, component="mlp"),
        down=Linear("output_linear", width, hidden, component="mlp"),
        activation="silu",
        fused=True,
        width=width,
    )
    if not reader.whole("num_local_experts", 8):
        return shared
    router = Router(name="router", scores="top_softmax", normalised=False, scores_in_input_dtype=True)
    experts = read_experts(reader, router, count="num_local_experts", width="intermediate_size", adapter_names="none")
    return replace(experts, shared=shared if width else None)


def _granite_like(reader: ConfigReader, layers: tuple[tuple[Layer, int], ...]) -> Architecture:
    return replace(compose_decoder(reader, layers, embedding_scale="number"), logits_scale=True)


def _granitemoeshared(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias)
    layer = replace(pre_norm_layer(reader, attention, _granite_shared(reader)), residual_scale=True)
    return _granite_like(reader, ((layer, reader.size("num_hidden_layers")),))


def _granitemoe_swa(reader: ConfigReader) -> Architecture:
    """Granite whose layers mostly slide, with experts beside a shared one; not tied unless the config says so."""
    fed = _granite_shared(reader)
    kv_heads = reader.config.get("num_key_value_heads") or reader.size("num_attention_heads")
    own = {"tie_word_embeddings": False, **reader.config, "num_key_value_heads": kv_heads}
    model = LLAMA_RELATIVES["granite_swa"](ConfigReader(own, reader.place))
    return replace(model, layers=tuple((replace(layer, mlp=fed), count) for layer, count in model.layers))


def _granitemoehybrid(reader: ConfigReader) -> Architecture:
    """Granite 4: Mamba 2 and attention take turns, mostly without positions."""
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias)
    if reader.config.get("position_embedding_type") != "rope":
        attention = replace(attention, rotary_dim=0)
    fed = _granite_shared(reader)
    mamba = read_mamba2(reader, inner=reader.size("mamba_expand", default=2) * reader.size("hidden_size"))
    kinds = {
        attends: replace(pre_norm_layer(reader, attention if attends else mamba, fed), residual_scale=True)
        for attends in (True, False)
    }
    key = "layer_types" if reader.config.get("layer_types") is not None else "layers_block_type"
    names = layer_names(reader, key)
    model = _granite_like(reader, runs(kinds[name in ("attention", "full_attention")] for name in names))
    return replace(model, caveat=CAVEAT) if any(name in ("mamba", "linear_attention") for name in names) else model


def _lfm2_moe(reader: ConfigReader) -> Architecture:
    """LFM2 with experts behind the first layers, chosen by sigmoids in the layer's own dtype."""
    hidden = reader.size("hidden_size")
    attention = read_attention(reader, qkv_bias=False, out_bias=False, qk_norm="rms", default_kv_heads=8)
    attention = replace(attention, output=replace(attention.output, name="out_proj"))
    corrected = reader.flag("use_expert_bias", True)
    router = replace(
        CORRECTED,
        fp32=False,
        held_in_fp32=False,
        groups=False,
        correction="fp32_buffer" if corrected else "none",
        normalised=reader.flag("norm_topk_prob", True),
        guarded=True,
        scaled=True,
        scores_in_input_dtype=True,
        plain_scores=True,
    )
    experts = read_experts(reader, router, count="num_experts", width="moe_intermediate_size", adapter_names="none")
    plain = gated_mlp("feed_forward", hidden, reader.size("intermediate_size"), "silu")
    names = {"gate": "w1", "up": "w3", "down": "w2"}
    plain = replace(plain, **{part: replace(getattr(plain, part), name=name) for part, name in names.items()})
    mixers = {"conv": short_convolution(reader)}
    kinds = {
        (name == "conv", sparse): pre_norm_layer(reader, mixers.get(name, attention), experts if sparse else plain)
        for name in ("conv", "full_attention")
        for sparse in (True, False)
    }
    first = reader.whole("num_dense_layers", 2)
    named = enumerate(layer_names(reader, "layer_types"))
    order = runs(kinds[name == "conv", index >= first] for index, name in named)
    return compose_decoder(reader, order, tied_default=True)


def _modernbert_decoder(reader: ConfigReader) -> Architecture:
    """ModernBERT's layers, each token seeing those before it; what the head reads passes a matrix and a norm."""
    hidden, heads = reader.size("hidden_size"), reader.size("num_attention_heads")
    head_dim, biased = read_head_dim(reader, hidden, heads), reader.flag("norm_bias", False)
    local = reader.optional_size("local_attention", 128)
    every = reader.size("global_attn_every_n_layers", default=3)

    def norm(name: str) -> Norm:
        return Norm(name, "layer", hidden, bias=biased)

    def layer(slides: bool, first: bool) -> Layer:
        window = local // 2 if slides and local else None
        return _modernbert_layer(reader, (heads, head_dim), window, int(slides), None if first else norm("attn_norm"))

    kinds = {(slides, first): layer(slides, first) for slides in (False, True) for first in (False, True)}
    slides = sliding_layers(reader, lambda index: index % every != 0)
    transform = HeadTransform(
        name="lm_head",
        dense=Linear("dense", hidden, hidden, reader.flag("classifier_bias", False), "head"),
        activation=read_activation(reader, "gelu", "classifier_activation"),
        norm=norm("norm"),
    )
    model = compose_decoder(reader, runs(kinds[one, index == 0] for index, one in enumerate(slides)), tied_default=True)
    return replace(
        model,
        tokens=replace(model.tokens, name="tok_embeddings"),
        embedding_norm=norm("embeddings.norm"),
        embedding_dropout=reader.fraction("embedding_dropout", 0.0),
        final_norm=norm("final_norm"),
        head=replace(model.head, name="decoder", bias=reader.flag("decoder_bias", True)),
        head_transform=transform,
    )


def _modernbert_layer(
    reader: ConfigReader, heads: tuple[int, int], window: int | None, table: int, first_norm: Norm | None
) -> Layer:
    (count, head_dim), hidden = heads, reader.size("hidden_size")
    width, inner = reader.size("intermediate_size"), count * head_dim
    bias, mlp_bias = reader.flag("attention_bias", False), reader.flag("mlp_bias", False)
    return Layer(
        attention=Attention(
            name="attn",
            heads=count,
            kv_heads=count,
            head_dim=head_dim,
            inputs=tuple(Linear(name, hidden, inner, bias) for name in ("q_proj", "k_proj", "v_proj")),
            output=Linear("Wo", hidden, hidden, bias),
            rotary_dim=head_dim,
            rotary=Rotary(table=table, fp32_products=True, per_row=True),
            dropout=reader.fraction("attention_dropout", 0.0),
            window=window,
        ),
        mlp=Mlp(
            name="mlp",
            up=Linear("Wi", hidden, 2 * width, mlp_bias, "mlp"),
            down=Linear("Wo", width, hidden, mlp_bias, "mlp"),
            activation=read_activation(reader, "gelu", "hidden_activation"),
            fused=True,
            width=width,
        ),
        attention_norm=first_norm,
        mlp_norm=Norm("mlp_norm", "layer", hidden, bias=reader.flag("norm_bias", False)),
    )


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "cwm": _plain,
    "exaone": _exaone,
    "internlm3": _plain,
    "iquestcoder": _plain,
    "ministral": _ministral,
    "hunyuan_v1_dense": _hunyuan_dense,
    "granitemoeshared": _granitemoeshared,
    "granitemoehybrid": _granitemoehybrid,
    "granitemoe_swa": _granitemoe_swa,
    "lfm2_moe": _lfm2_moe,
    "modernbert-decoder": _modernbert_decoder,
}
"""Model types with a composition of their own."""
