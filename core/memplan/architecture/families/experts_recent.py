"""Mixtures of experts of 2025 and later, put together of what others brought."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from memplan.architecture.composing import (
    compose_decoder,
    pre_norm_layer,
    read_attention,
    read_rotary_dim,
    runs_of,
    sliding_layers,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.expert_parts import Experts, Router, Scores
from memplan.architecture.families.experts import (
    CORRECTED,
    after_dense_layers,
    compose_sparse,
    dense,
    glm4_moe,
    read_experts,
    with_shared,
)
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp, Norm, NormKind
from memplan.architecture.positions import Rotary

_COUNTS = ("num_experts", "num_local_experts", "n_routed_experts")
"""Keys of one and the same number: transformers reads each, and writes the first or the second."""


def _sizes(
    reader: ConfigReader,
    router: Router,
    adapter_names: Literal["none", "qwen"] = "qwen",
    *,
    width: str = "moe_intermediate_size",
    per_token: str = "num_experts_per_tok",
) -> Experts:
    count = next((key for key in _COUNTS if reader.config.get(key) is not None), _COUNTS[0])
    return read_experts(reader, router, count=count, width=width, per_token=per_token, adapter_names=adapter_names)


def _normed_attention(reader: ConfigReader, *, kv_heads: int | None = None, biased: bool = True) -> Attention:
    bias = biased and reader.flag("attention_bias", False)
    return read_attention(reader, qkv_bias=bias, out_bias=bias, qk_norm="rms", default_kv_heads=kv_heads)


def _sliding(
    reader: ConfigReader, attention: Attention, full: Attention, experts: Experts, sparse: list[bool], every: int
) -> Architecture:
    """Layers that slide by name, or all but every so many; dense or sparse ones."""
    plain = dense(reader, reader.size("intermediate_size"), experts)
    slides = sliding_layers(reader, lambda index: bool((index + 1) % every))
    kinds = {
        (one, other): pre_norm_layer(reader, attention if one else full, experts if other else plain)
        for one in (True, False)
        for other in (True, False)
    }
    return compose_decoder(reader, runs_of(kinds[one] for one in zip(slides, sparse, strict=True)))


def _afmoe(reader: ConfigReader) -> Architecture:
    """Four norms with their gains in fp32, a gate for what attention gives; full layers have no positions."""
    hidden, bias = reader.size("hidden_size"), reader.flag("attention_bias", False)
    full = read_attention(reader, qkv_bias=bias, out_bias=bias, qk_norm="late_rms", default_kv_heads=16)
    gate = Linear("gate_proj", hidden, full.heads * full.head_dim, adaptable=False)
    full = replace(full, rotary_dim=0, gate=gate)
    slides = replace(full, rotary_dim=full.head_dim, window=reader.size("sliding_window", default=1024))
    router = replace(CORRECTED, fp32=False, held_in_fp32=False, groups=False)
    router = replace(router, correction="parameter")
    experts = with_shared(reader, _sizes(reader, router), "num_shared_experts", first=True)
    plain = dense(reader, reader.size("intermediate_size"), experts)
    first, count = reader.whole("num_dense_layers", 1), reader.size("num_hidden_layers")
    every = reader.size("global_attn_every_n_layers", default=4)
    named = sliding_layers(reader, lambda index: bool((index + 1) % every))
    kinds = {
        (one, other): Layer(
            attention=slides if one else full,
            mlp=experts if other else plain,
            attention_norm=Norm("input_layernorm", "late_rms", hidden),
            attention_out_norm=Norm("post_attention_layernorm", "late_rms", hidden),
            mlp_norm=Norm("pre_mlp_layernorm", "late_rms", hidden),
            mlp_out_norm=Norm("post_mlp_layernorm", "late_rms", hidden),
        )
        for one in (True, False)
        for other in (True, False)
    }
    order = runs_of(kinds[named[index], index >= first] for index in range(count))
    scale = "number" if reader.flag("mup_enabled", False) else "no"
    return compose_decoder(reader, order, norm="late_rms", embedding_scale=scale)  # type: ignore[arg-type]


def _flex_olmo(reader: ConfigReader) -> Architecture:
    """OLMo 2 with experts."""
    hidden, bias = reader.size("hidden_size"), reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias)
    attention = replace(
        attention,
        rotary=Rotary(fp32_tables=True),
        query_norm=Norm("q_norm", "late_rms", attention.heads * attention.head_dim),
        key_norm=Norm("k_norm", "late_rms", attention.kv_heads * attention.head_dim),
    )
    router = Router(normalised=reader.flag("norm_topk_prob", False), scores_in_input_dtype=True)
    experts = _sizes(reader, router, width="intermediate_size")
    layer = Layer(
        attention=attention,
        mlp=experts,
        attention_norm=None,
        mlp_norm=None,
        attention_out_norm=Norm("post_attention_layernorm", "late_rms", hidden),
        mlp_out_norm=Norm("post_feedforward_layernorm", "late_rms", hidden),
    )
    return compose_decoder(reader, ((layer, reader.size("num_hidden_layers")),), norm="late_rms")


def _exaone_moe(reader: ConfigReader) -> Architecture:
    """Full layers have no positions where others slide."""
    full, window = _normed_attention(reader, biased=False), reader.optional_size("sliding_window", 4096)
    slides = replace(full, window=window)
    full = full if window is None else replace(full, rotary_dim=0)
    router = replace(CORRECTED, normalised=reader.flag("norm_topk_prob", True))
    experts = with_shared(reader, _sizes(reader, router), "num_shared_experts")
    return _sliding(reader, slides, full, experts, after_dense_layers(reader, 1), 4)


def _hy_v3(reader: ConfigReader) -> Architecture:
    router = replace(CORRECTED, groups=False)
    experts = _sizes(reader, router, "none")
    experts = with_shared(reader, experts, "num_shared_experts")
    return compose_sparse(reader, _normed_attention(reader), experts, after_dense_layers(reader, 1))


def _solar_open(reader: ConfigReader) -> Architecture:
    attention = read_attention(
        reader, qkv_bias=reader.flag("attention_bias", False), out_bias=False, default_kv_heads=8
    )
    router = replace(CORRECTED, normalised=reader.flag("norm_topk_prob", True))
    experts = with_shared(reader, _sizes(reader, router), "n_shared_experts")
    return compose_sparse(reader, attention, experts)


def _mellum(reader: ConfigReader) -> Architecture:
    """Sliding and full layers turn heads by positions of their own."""
    full = _normed_attention(reader, kv_heads=4)
    slides = replace(full, window=reader.size("sliding_window"), rotary=replace(full.rotary, table=1))
    router = Router(normalised=reader.flag("norm_topk_prob", False), scores_in_input_dtype=True)
    experts = _sizes(reader, router)
    return _sliding(reader, slides, full, experts, after_dense_layers(reader), 4)


def _laguna(reader: ConfigReader) -> Architecture:
    """Layers have heads of their own number, and a gate for each head; sliding ones turn whole heads."""
    hidden, count = reader.size("hidden_size"), reader.size("num_hidden_layers")
    router = Router(scores="sigmoid", correction="narrow_parameter", scores_in_input_dtype=True)
    experts = _sizes(reader, router, "none")
    shared = dense(reader, reader.size("shared_expert_intermediate_size", default=512), experts, "mlp.shared_experts")
    experts = replace(experts, shared=shared, shared_first=True, scaled=True)
    plain = dense(reader, reader.size("intermediate_size"), experts)
    named = reader.listed("num_attention_heads_per_layer") or []
    heads = named if len(named) == count else [reader.size("num_attention_heads", default=48)] * count
    slides, sparse = sliding_layers(reader, lambda _: False), after_dense_layers(reader, 1)
    by_head = reader.config.get("gating", True) in (True, "per-head")
    layers = []
    for own, slide, one in zip(heads, slides, sparse, strict=True):
        attention = _normed_attention(ConfigReader({**reader.config, "num_attention_heads": own}), kv_heads=8)
        turned = reader.part("rope_parameters").part("sliding_attention" if slide else "full_attention")
        width = read_rotary_dim(turned, attention.head_dim, 1)
        gate = Linear("g_proj", hidden, own if by_head else own * attention.head_dim)
        attention = replace(
            attention,
            gate=gate,
            softplus_gate=True,
            rotary_dim=width,
            rotary=Rotary(joins=True, table=int(slide)),
            window=reader.optional_size("sliding_window", 512) if slide else None,
        )
        layers.append(pre_norm_layer(reader, attention, experts if one else plain))
    return compose_decoder(reader, runs_of(layers))


def _hunyuan_moe(reader: ConfigReader) -> Architecture:
    """HunYuan's attention, whose heads are normed once turned; a router in fp32 that is a linear module."""
    attention = replace(_normed_attention(reader), norms_after_turning=True)
    attention = replace(
        attention,
        query_norm=Norm("query_layernorm", "rms", attention.head_dim),
        key_norm=Norm("key_layernorm", "rms", attention.head_dim),
    )
    router = Router(name="gate.wg", fp32=True, held_in_fp32=True, is_module=True)
    experts = _sizes(reader, router, width="intermediate_size", per_token="moe_topk")
    shared = dense(reader, experts.width, experts, "mlp.shared_mlp")
    return compose_sparse(reader, attention, replace(experts, shared=shared, shared_first=True))


def _kolibri(reader: ConfigReader) -> Architecture:
    """Four norms; only sliding layers have positions; sigmoids of the logits that are largest once corrected."""
    hidden, full = reader.size("hidden_size"), _normed_attention(reader, biased=False)
    window = reader.optional_size("sliding_window", 513)
    router = Router(scores="top_sigmoid", fp32=True, correction="fp32_buffer")
    router = replace(router, normalised=reader.flag("norm_topk_prob", False))
    experts = _sizes(reader, router, "none")
    shared = dense(reader, reader.size("shared_expert_intermediate_size", default=512), experts, "mlp.shared_experts")
    slides = sliding_layers(reader, lambda index: bool((index + 1) % 5))
    kinds = {
        True: replace(full, window=window),
        False: full if window is None else replace(full, rotary_dim=0),
    }
    layers = {
        one: replace(
            pre_norm_layer(reader, attention, replace(experts, shared=shared)),
            attention_out_norm=Norm("post_self_attn_layernorm", "rms", hidden),
            mlp_out_norm=Norm("post_mlp_layernorm", "rms", hidden),
        )
        for one, attention in kinds.items()
    }
    return compose_decoder(reader, runs_of(layers[one] for one in slides))


def _aria(reader: ConfigReader) -> Architecture:
    """Experts held as (experts, inputs, outputs), beside shared ones."""
    own = {"moe_num_experts": 8, "moe_topk": 2, "moe_num_shared_experts": 2}
    reader = ConfigReader({**own, **reader.config}, reader.place)
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias)
    router = Router(name="router", scores="top_softmax", normalised=False, scores_in_input_dtype=True)
    experts = read_experts(
        reader,
        router,
        count="moe_num_experts",
        width="intermediate_size",
        per_token="moe_topk",
        adapter_names="none",
    )
    experts = with_shared(reader, replace(experts, transposed=True), "moe_num_shared_experts")
    return compose_sparse(reader, attention, experts)


def _cohere2_moe(reader: ConfigReader) -> Architecture:
    """Cohere's layers, in which attention and experts read the same norm; full layers turn nothing."""
    hidden, count, bias = (
        reader.size("hidden_size"),
        reader.size("num_hidden_layers"),
        reader.flag("attention_bias", False),
    )
    turned = replace(read_attention(reader, qkv_bias=bias, out_bias=bias), rotary=Rotary(pairs=True, fp32_heads=True))
    window, norm = reader.optional_size("sliding_window", 4096), _cohere_norm(reader)
    largest: Scores = "top_softmax" if reader.text("expert_selection_fn", "softmax") == "softmax" else "top_sigmoid"
    normalised = largest == "top_sigmoid" and reader.flag("norm_topk_prob", False)
    router = Router(scores=largest, normalised=normalised, scores_in_input_dtype=True)
    experts = with_shared(reader, _sizes(reader, router, width="intermediate_size"), "num_shared_experts")
    wide = reader.size("prefix_dense_intermediate_size", default=reader.size("intermediate_size"))
    fed: dict[bool, Experts | Mlp] = {True: experts, False: dense(reader, wide, experts)}
    prefix_turns = reader.size("prefix_dense_sliding_window_pattern", default=1) == 1
    layers = []
    slides, sparse = sliding_layers(reader, lambda index: bool((index + 1) % 4)), after_dense_layers(reader)
    for index in range(count):
        turns = slides[index] or (prefix_turns and not sparse[index])
        attention = replace(turned, window=window if slides[index] else None, rotary_dim=turned.rotary_dim * turns)
        name = Norm("input_layernorm", norm, hidden)
        layer = Layer(attention=attention, mlp=fed[sparse[index]], attention_norm=name, mlp_norm=None)
        layers.append(replace(layer, parallel=True, residual_first=True))
    return compose_decoder(reader, runs_of(layers), norm=norm, tied_default=True, logits_scale=True)


def _cohere_norm(reader: ConfigReader) -> NormKind:
    return "centred" if reader.config.get("rms_norm_eps") is None else "rms"


def _sarvam_moe(reader: ConfigReader) -> Architecture:
    """GLM 4.5's modules, with norms of queries and keys, and whole heads turned."""
    own = {"use_qk_norm": True, "partial_rotary_factor": 1.0}
    return glm4_moe(ConfigReader({**own, **reader.config}, reader.place), "none")


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "afmoe": _afmoe,
    "flex_olmo": _flex_olmo,
    "exaone_moe": _exaone_moe,
    "hy_v3": _hy_v3,
    "solar_open": _solar_open,
    "mellum": _mellum,
    "laguna": _laguna,
    "hunyuan_v1_moe": _hunyuan_moe,
    "sarvam_moe": _sarvam_moe,
    "kolibri1": _kolibri,
    "cohere2_moe": _cohere2_moe,
    "aria_text": _aria,
}
"""Model types with a composition of their own."""
