"""Mixtures of experts on a llama-like frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from typing import Literal

from memplan.architecture.composing import (
    compose_decoder,
    gated_mlp,
    pre_norm_layer,
    read_activation,
    read_attention,
    text_part,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.expert_parts import Experts, Router
from memplan.architecture.latent_parts import LatentAttention
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp, Norm
from memplan.architecture.positions import Rotary
from memplan.errors import ConfigError

CORRECTED = Router(
    scores="sigmoid",
    fp32=True,
    held_in_fp32=True,
    correction="fp32_buffer",
    groups=True,
    guarded=True,
    scaled=True,
)
"""DeepSeek-V3's router, which many took over."""


def read_experts(
    reader: ConfigReader,
    router: Router,
    *,
    count: str,
    width: str,
    per_token: str = "num_experts_per_tok",
    adapter_names: Literal["none", "qwen", "mixtral"] = "qwen",
) -> Experts:
    """The routed experts, their number, width and choice under the family's own keys."""
    number, chosen = reader.size(count), reader.size(per_token)
    if chosen > number:
        raise ConfigError(f"{chosen} experts per token of {number} experts", place=f"{reader.place}.{per_token}")
    return Experts(
        name="mlp",
        count=number,
        per_token=chosen,
        hidden=reader.size("hidden_size"),
        width=reader.size(width),
        activation=read_activation(reader, "silu", "hidden_act"),
        router=router,
        adapter_names=adapter_names,
    )


def with_shared(reader: ConfigReader, experts: Experts, count_key: str, *, first: bool = False) -> Experts:
    """The same with shared experts, which are one block as wide as all of them; none at 0."""
    count = reader.whole(count_key, 0)
    if not count:
        return experts
    width = experts.width * count
    return replace(experts, shared=dense(reader, width, experts, "mlp.shared_experts"), shared_first=first)


def dense(reader: ConfigReader, width: int, experts: Experts, name: str = "mlp") -> Mlp:
    """A dense block. PEFT leaves it alone where it puts adapters on the experts under its modules' names."""
    return gated_mlp(
        name, reader.size("hidden_size"), width, experts.activation, adaptable=experts.adapter_names != "qwen"
    )


def compose_sparse(
    reader: ConfigReader,
    attention: Attention | LatentAttention,
    experts: Experts,
    is_sparse: Iterable[bool] | None = None,
) -> Architecture:
    """Layers with experts, or with a dense block of `intermediate_size` where they are not sparse."""
    sparse = pre_norm_layer(reader, attention, experts)
    if is_sparse is None:
        return compose_decoder(reader, ((sparse, reader.size("num_hidden_layers")),))
    plain = pre_norm_layer(reader, attention, dense(reader, reader.size("intermediate_size"), experts))
    return compose_decoder(reader, runs(sparse if one else plain for one in is_sparse))


def runs(order: Iterable[Layer]) -> tuple[tuple[Layer, int], ...]:
    """Equal layers one after the other, each with how many there are."""
    return tuple((layer, len(list(run))) for layer, run in groupby(order))


def after_dense_layers(reader: ConfigReader, default: int = 0) -> list[bool]:
    """Sparse from `first_k_dense_replace` on, or where `mlp_layer_types` says so."""
    count = reader.size("num_hidden_layers")
    types = reader.listed("mlp_layer_types")
    if types is not None and len(types) == count:
        return [one == "sparse" for one in types]
    first = reader.whole("first_k_dense_replace", default)
    return [index >= first for index in range(count)]


def _mixtral(reader: ConfigReader) -> Architecture:
    window = reader.optional_size("sliding_window")
    attention = read_attention(reader, qkv_bias=False, out_bias=False, default_kv_heads=8, window=window)
    experts = read_experts(
        reader, Router(), count="num_local_experts", width="intermediate_size", adapter_names="mixtral"
    )
    return compose_sparse(reader, attention, experts)


def by_step(reader: ConfigReader) -> list[bool]:
    """Sparse at every `decoder_sparse_step`, but for `mlp_only_layers`."""
    step, dense_only = reader.size("decoder_sparse_step", default=1), set(reader.layer_numbers("mlp_only_layers") or ())
    count = reader.size("num_hidden_layers")
    return [index not in dense_only and (index + 1) % step == 0 and not _has_none(reader) for index in range(count)]


def or_one(reader: ConfigReader) -> ConfigReader:
    """The config; where it has no experts, with one that no layer has: `by_step` makes all of them dense.

    Source: transformers 5.24, models/qwen3_moe and its like (num_experts > 0 beside decoder_sparse_step).
    """
    one = {"num_experts": 1, "num_experts_per_tok": 1}
    return ConfigReader({**reader.config, **one}, reader.place) if _has_none(reader) else reader


def _has_none(reader: ConfigReader) -> bool:
    return type(reader.config.get("num_experts")) is int and reader.config["num_experts"] == 0


def _softmax_router(reader: ConfigReader, normalised: bool = False) -> Router:
    return Router(normalised=reader.flag("norm_topk_prob", normalised), scores_in_input_dtype=True)


def read_qwen_experts(
    reader: ConfigReader, *, adapter_names: Literal["none", "qwen"], normalised: bool = False
) -> Experts:
    """Experts beside a shared one that has a gate (Qwen 1.5 MoE, Qwen3-Next, Qwen3.5 MoE)."""
    router = _softmax_router(reader, normalised)
    experts = read_experts(
        reader, router, count="num_experts", width="moe_intermediate_size", adapter_names=adapter_names
    )
    shared = dense(reader, reader.size("shared_expert_intermediate_size"), experts, "mlp.shared_expert")
    gate = Linear("shared_expert_gate", experts.hidden, 1, component="experts")
    return replace(experts, shared=shared, shared_gate=gate, shared_first=True)


def _qwen3_moe(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, qk_norm="rms", default_kv_heads=4)
    router = _softmax_router(reader)
    experts = read_experts(or_one(reader), router, count="num_experts", width="moe_intermediate_size")
    return compose_sparse(reader, attention, experts, by_step(reader))


def _qwen3_vl_moe(reader: ConfigReader) -> Architecture:
    """The text part: Qwen3 MoE with positions for each row, and weights that are always divided by their sum."""
    reader = text_part(reader)
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, qk_norm="rms", default_kv_heads=4)
    attention = replace(attention, rotary=Rotary(per_row=True))
    router = Router(scores_in_input_dtype=True)
    experts = read_experts(
        or_one(reader), router, count="num_experts", width="moe_intermediate_size", adapter_names="none"
    )
    return compose_sparse(reader, attention, experts, by_step(reader))


def _qwen2_moe(reader: ConfigReader) -> Architecture:
    bias = reader.flag("qkv_bias", True)
    attention = read_attention(reader, qkv_bias=bias, out_bias=False, default_kv_heads=16)
    experts = read_qwen_experts(or_one(reader), adapter_names="none")
    return compose_sparse(reader, attention, experts, by_step(reader))


def _whole_norms(attention: Attention) -> Attention:
    """Query and key norms over all heads at once."""
    width = attention.heads * attention.head_dim, attention.kv_heads * attention.head_dim
    return replace(attention, query_norm=Norm("q_norm", "rms", width[0]), key_norm=Norm("k_norm", "rms", width[1]))


def _olmoe(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    attention = _whole_norms(read_attention(reader, qkv_bias=bias, out_bias=bias))
    experts = read_experts(reader, _softmax_router(reader), count="num_experts", width="intermediate_size")
    return compose_sparse(reader, attention, experts)


def _glm4_moe(reader: ConfigReader) -> Architecture:
    return glm4_moe(reader, "qwen")


def glm4_moe(reader: ConfigReader, adapter_names: Literal["none", "qwen"]) -> Architecture:
    """GLM 4.5's modules; PEFT knows the old names of its experts."""
    norm = "rms" if reader.flag("use_qk_norm", False) else None
    attention = read_attention(
        reader,
        qkv_bias=reader.flag("attention_bias", False),
        out_bias=False,
        qk_norm=norm,  # type: ignore[arg-type]
        default_kv_heads=8,
    )
    attention = _partly_turned(reader, attention, 0.5)
    experts = read_experts(
        reader,
        _corrected(reader),
        count="n_routed_experts",
        width="moe_intermediate_size",
        adapter_names=adapter_names,
    )
    experts = with_shared(reader, experts, "n_shared_experts")
    return compose_sparse(reader, attention, experts, after_dense_layers(reader, 1))


def _corrected(reader: ConfigReader, normalised: bool = True) -> Router:
    return replace(CORRECTED, normalised=reader.flag("norm_topk_prob", normalised))


def _partly_turned(reader: ConfigReader, attention: Attention, default: float) -> Attention:
    """Positions turn a part of each head, and the rest is joined to it, even when it is empty."""
    part = reader.fraction("partial_rotary_factor", default)
    width = reader.size("rotary_dim", default=int(attention.head_dim * part))
    return replace(attention, rotary_dim=width, rotary=Rotary(joins=True))


def _dots1(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, qk_norm="rms", default_kv_heads=32)
    experts = read_experts(reader, _corrected(reader, False), count="n_routed_experts", width="moe_intermediate_size")
    experts = with_shared(reader, experts, "n_shared_experts")
    return compose_sparse(reader, attention, experts, after_dense_layers(reader))


def _minimax_m2(reader: ConfigReader) -> Architecture:
    attention = _whole_norms(read_attention(reader, qkv_bias=False, out_bias=False, default_kv_heads=8))
    attention = _partly_turned(reader, attention, 1.0)
    router = Router(scores="sigmoid", correction="buffer")
    experts = read_experts(
        reader, router, count="num_local_experts", width="intermediate_size", adapter_names="mixtral"
    )
    return compose_sparse(reader, attention, experts)


def _ernie4_5_moe(reader: ConfigReader) -> Architecture:
    bias = reader.flag("use_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=4)
    attention = replace(
        attention, dropout=0.0, rotary=Rotary(pairs=True, spread="once", fp32_tables=True, fp32_products=True)
    )
    router = Router(
        fp32=True,
        leaves_autocast=True,
        held_in_fp32=True,
        correction="parameter",
        guarded=True,
        scores_in_input_dtype=True,
    )
    experts = read_experts(reader, router, count="moe_num_experts", width="moe_intermediate_size", per_token="moe_k")
    experts = with_shared(reader, experts, "moe_num_shared_experts", first=True)
    first, last = reader.size("moe_layer_start_index", default=1), reader.whole("moe_layer_end_index", -1, least=-1)
    step, count = reader.size("moe_layer_interval", default=1), reader.size("num_hidden_layers")
    end = count - 1 if last < 0 else last
    return compose_sparse(reader, attention, experts, [(i + 1) % step == 0 and first <= i <= end for i in range(count)])


def _granitemoe(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias)
    router = Router(name="router", scores="top_softmax", normalised=False, scores_in_input_dtype=True)
    experts = read_experts(reader, router, count="num_local_experts", width="intermediate_size", adapter_names="none")
    layer = replace(pre_norm_layer(reader, attention, experts), residual_scale=True)
    layers = ((layer, reader.size("num_hidden_layers")),)
    return replace(compose_decoder(reader, layers, embedding_scale="number"), logits_scale=True)


def _gpt_oss(reader: ConfigReader) -> Architecture:
    bias, count = reader.flag("attention_bias", True), reader.size("num_hidden_layers")
    window = reader.size("sliding_window", default=128)
    full = read_attention(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=8)
    full = replace(full, sinks=True, rotary=Rotary(form="half_cosines"))
    sliding = replace(full, window=window)
    router = Router(name="router", scores="top_softmax", bias=True, normalised=False)
    experts = read_experts(reader, router, count="num_local_experts", width="intermediate_size", adapter_names="none")
    experts = replace(experts, transposed=True, bias=True, clamped=True)
    names = reader.listed("layer_types")
    if names is None or len(names) != count:
        names = ["sliding_attention" if index % 2 == 0 else "full_attention" for index in range(count)]
    layers = {
        kind: late_norms(pre_norm_layer(reader, attention, experts))
        for kind, attention in (("sliding_attention", sliding), ("full_attention", full))
    }
    order = runs(layers.get(str(name), layers["full_attention"]) for name in names)
    return compose_decoder(reader, order, norm="late_rms")


def late_norms(layer: Layer) -> Layer:
    """The same with the gain in fp32 as well."""
    hidden = layer.attention.output.outputs
    return replace(
        layer,
        attention_norm=Norm("input_layernorm", "late_rms", hidden),
        mlp_norm=Norm("post_attention_layernorm", "late_rms", hidden),
    )


def _phimoe(reader: ConfigReader) -> Architecture:
    bias, hidden = reader.flag("attention_bias", False), reader.size("hidden_size")
    window = reader.optional_size("sliding_window")
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=8, window=window)
    router = Router(name="router", scores="sparse_mixer", normalised=False)
    experts = read_experts(reader, router, count="num_local_experts", width="intermediate_size", adapter_names="none")
    layer = Layer(
        attention=attention,
        mlp=experts,
        attention_norm=Norm("input_layernorm", "layer", hidden, bias=True),
        mlp_norm=Norm("post_attention_layernorm", "layer", hidden, bias=True),
    )
    architecture = compose_decoder(reader, ((layer, reader.size("num_hidden_layers")),))
    head = replace(architecture.head, bias=reader.flag("lm_head_bias", False))
    return replace(architecture, final_norm=Norm("norm", "layer", hidden, bias=True), head=head)


def _llama4(reader: ConfigReader) -> Architecture:
    reader = text_part(reader)
    count, hidden = reader.size("num_hidden_layers"), reader.size("hidden_size")
    bias = reader.flag("attention_bias", False)
    plain = read_attention(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=8)
    turned = replace(plain, rotary=Rotary(form="complex"), unit_heads=reader.flag("use_qk_norm", True))
    scaled = reader.flag("attn_temperature_tuning", True)
    plain = replace(plain, rotary_dim=0, scaled_queries="in_fp32" if scaled else "no")
    router = Router(name="router", scores="top_sigmoid", normalised=False)
    experts = read_experts(reader, router, count="num_local_experts", width="intermediate_size", adapter_names="none")
    shared = gated_mlp("feed_forward.shared_expert", hidden, experts.width, experts.activation)
    experts = replace(experts, shared=shared, transposed=True, dense=True)
    mlp = gated_mlp("feed_forward", hidden, reader.size("intermediate_size_mlp"), experts.activation)
    step = reader.size("interleave_moe_layer_step", default=1)
    sparse = reader.layer_numbers("moe_layers")
    has_experts = set(range(step - 1, count, step) if sparse is None else sparse)
    turns = reader.listed("no_rope_layers")
    if turns is None or len(turns) != count:
        every = reader.size("no_rope_layer_interval", default=4)
        turns = [int((index + 1) % every != 0) for index in range(count)]
    chunk = reader.optional_size("attention_chunk_size", 8192)
    kinds: dict[tuple[bool, bool], Layer] = {}
    for turning in (True, False):
        attention = replace(turned, window=chunk, chunked=True) if turning else plain
        for is_sparse in (True, False):
            layer = pre_norm_layer(reader, attention, experts if is_sparse else mlp)
            kinds[turning, is_sparse] = replace(layer, holds_attention=True)
    return compose_decoder(reader, runs(kinds[bool(turns[i]), i in has_experts] for i in range(count)))


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "mixtral": _mixtral,
    "qwen2_moe": _qwen2_moe,
    "qwen3_moe": _qwen3_moe,
    "olmoe": _olmoe,
    "glm4_moe": _glm4_moe,
    "dots1": _dots1,
    "minimax_m2": _minimax_m2,
    "ernie4_5_moe": _ernie4_5_moe,
    "granitemoe": _granitemoe,
    "gpt_oss": _gpt_oss,
    "phimoe": _phimoe,
    "llama4": _llama4,
    "llama4_text": _llama4,
    "qwen3_vl_moe": _qwen3_vl_moe,
    "qwen3_vl_moe_text": _qwen3_vl_moe,
}
"""Model types with a composition of their own."""
