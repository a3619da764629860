"""Mixtures of experts with attention of their own, and two that are walked by their nearest relative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memplan.architecture.composing import compose_decoder, pre_norm_layer, read_attention
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.expert_parts import Router
from memplan.architecture.families.experts import (
    CORRECTED,
    after_dense_layers,
    compose_sparse,
    dense,
    read_experts,
    runs,
    with_shared,
)
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Norm
from memplan.architecture.positions import Rotary


def _mimo_v2_flash(reader: ConfigReader) -> Architecture:
    count = reader.size("num_hidden_layers")
    full, sliding = _mimo_attention(reader, slides=False), _mimo_attention(reader, slides=True)
    router = replace(CORRECTED, normalised=reader.flag("norm_topk_prob", True))
    experts = read_experts(
        reader, router, count="n_routed_experts", width="moe_intermediate_size", adapter_names="none"
    )
    plain = dense(reader, reader.size("intermediate_size"), experts)
    slides, sparse = _switches(reader, "hybrid_layer_pattern", count), _switches(reader, "moe_layer_freq", count)
    kinds: dict[tuple[bool, bool], Layer] = {
        (window, moe): pre_norm_layer(reader, sliding if window else full, experts if moe else plain)
        for window in (True, False)
        for moe in (True, False)
    }
    return compose_decoder(reader, runs(kinds[one] for one in zip(slides, sparse, strict=True)))


def _switches(reader: ConfigReader, key: str, count: int) -> list[bool]:
    """A list of 0 and 1 for each layer; all 1 without one."""
    found = reader.listed(key)
    return [bool(one) for one in found] if found is not None and len(found) == count else [True] * count


def _mimo_attention(reader: ConfigReader, *, slides: bool) -> Attention:
    """Sliding layers have twice the key heads, and sinks."""
    hidden, heads, head_dim = reader.size("hidden_size"), reader.size("num_attention_heads"), reader.size("head_dim")
    kv_heads = reader.size("num_key_value_heads") * (2 if slides else 1)
    width, bias = reader.size("v_head_dim", default=head_dim), reader.flag("attention_bias", False)
    part = reader.fraction("partial_rotary_factor", 1.0)
    return Attention(
        name="self_attn",
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        inputs=(
            Linear("q_proj", hidden, heads * head_dim, bias),
            Linear("k_proj", hidden, kv_heads * head_dim, bias),
            Linear("v_proj", hidden, kv_heads * width, bias),
        ),
        output=Linear("o_proj", heads * width, hidden),
        rotary_dim=int(head_dim * part) // 2 * 2,
        rotary=Rotary(joins=True, table=1 if slides else 0),
        dropout=reader.fraction("attention_dropout", 0.0),
        window=reader.optional_size("sliding_window", 128) if slides else None,
        value_width=width,
        scaled="values",
        steadied=True,
        sinks=slides,
    )


def _deepseek(reader: ConfigReader) -> Architecture:
    """The first DeepSeek MoE, whose code is not part of transformers."""
    attention = read_attention(reader, qkv_bias=False, out_bias=False)
    router = Router(normalised=reader.flag("norm_topk_prob", False), scores_in_input_dtype=True)
    experts = read_experts(
        reader, router, count="n_routed_experts", width="moe_intermediate_size", adapter_names="none"
    )
    experts = with_shared(reader, experts, "n_shared_experts")
    architecture = compose_sparse(reader, attention, experts, after_dense_layers(reader))
    return replace(architecture, caveat="Its code is not part of transformers: experts are walked as DeepSeek-V2's.")


def _dbrx(reader: ConfigReader) -> Architecture:
    attention, ffn = reader.part("attn_config"), reader.part("ffn_config")
    flat = ConfigReader(
        {
            "model_type": reader.model_type,
            "hidden_size": reader.size("d_model", default=2048),
            "num_attention_heads": reader.size("n_heads", default=16),
            "num_key_value_heads": attention.size("kv_n_heads", default=1),
            "num_hidden_layers": reader.size("n_layers", default=24),
            "vocab_size": reader.size("vocab_size", default=32000),
            "tie_word_embeddings": reader.flag("tie_word_embeddings", False),
            "num_experts": ffn.size("moe_num_experts", default=4),
            "num_experts_per_tok": ffn.size("moe_top_k", default=1),
            "intermediate_size": ffn.size("ffn_hidden_size", default=3584),
        }
    )
    hidden = flat.size("hidden_size")
    separate = read_attention(flat, qkv_bias=False, out_bias=False)
    fused = Linear("Wqkv", hidden, sum(linear.outputs for linear in separate.inputs))
    output = replace(separate.output, name="out_proj")
    experts = read_experts(
        flat,
        Router(name="router", scores_in_input_dtype=True),
        count="num_experts",
        width="intermediate_size",
        adapter_names="none",
    )
    layer = Layer(
        attention=replace(separate, inputs=(fused,), output=output, fused="by_part"),
        mlp=experts,
        attention_norm=Norm("norm_1", "layer", hidden),
        mlp_norm=Norm("norm_2", "layer", hidden),
    )
    architecture = compose_decoder(flat, ((layer, flat.size("num_hidden_layers")),))
    caveat = "transformers runs DBRX's experts one by one, which no trace can follow: walked as Mixtral's."
    return replace(architecture, final_norm=Norm("norm_f", "layer", hidden), caveat=caveat)


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "dbrx": _dbrx,
    "deepseek": _deepseek,
    "mimo_v2_flash": _mimo_v2_flash,
}
"""Model types with a composition of their own."""
