"""Hybrids: most layers mix positions by linear attention, every few by attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memplan.architecture.composing import (
    compose_decoder,
    gated_mlp,
    pre_norm_layer,
    read_activation,
    read_attention,
    text_part,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.expert_parts import Experts
from memplan.architecture.families.experts import by_step, late_norms, or_one, read_qwen_experts, runs
from memplan.architecture.linear_parts import GatedDelta
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp, Norm
from memplan.architecture.positions import Rotary

CAVEAT = (
    "Linear attention is walked as transformers runs it without flash-linear-attention; with those fused kernels "
    "a device keeps far less of it."
)


def _delta(reader: ConfigReader, *, fused: bool) -> GatedDelta:
    """The gated delta rule, its projections separate or joined within key heads."""
    hidden = reader.size("hidden_size")
    key_heads = reader.size("linear_num_key_heads", default=16)
    value_heads = reader.size("linear_num_value_heads", default=32)
    key_dim = reader.size("linear_key_head_dim", default=128)
    value_dim = reader.size("linear_value_head_dim", default=128)
    keys, values = key_heads * key_dim, value_heads * value_dim
    inputs: tuple[Linear, ...]
    if fused:
        inputs = (
            Linear("in_proj_qkvz", hidden, 2 * keys + 2 * values),
            Linear("in_proj_ba", hidden, 2 * value_heads),
        )
    else:
        inputs = (
            Linear("in_proj_qkv", hidden, 2 * keys + values),
            Linear("in_proj_z", hidden, values),
            Linear("in_proj_b", hidden, value_heads),
            Linear("in_proj_a", hidden, value_heads),
        )
    return GatedDelta(
        name="linear_attn",
        key_heads=key_heads,
        value_heads=value_heads,
        key_dim=key_dim,
        value_dim=value_dim,
        kernel=reader.size("linear_conv_kernel_dim", default=4),
        inputs=inputs,
        output=Linear("out_proj", values, hidden),
    )


def _gated_attention(reader: ConfigReader, *, per_row: bool) -> Attention:
    """Attention whose queries come with a gate for the output; positions turn a quarter of each head."""
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, qk_norm="gemma_rms")
    query = replace(attention.inputs[0], outputs=2 * attention.inputs[0].outputs)
    part = reader.fraction("partial_rotary_factor", 0.25)
    return replace(
        attention,
        inputs=(query, *attention.inputs[1:]),
        rotary_dim=int(attention.head_dim * part),
        rotary=Rotary(joins=True, per_row=per_row),
        gated=True,
    )


def _layers(reader: ConfigReader) -> list[str]:
    """Each layer's kind; every fourth attends where the config does not say."""
    count, every = reader.size("num_hidden_layers"), reader.size("full_attention_interval", default=4)
    names = reader.listed("layer_types")
    if names is not None and len(names) == count:
        return [str(name) for name in names]
    return ["full_attention" if (index + 1) % every == 0 else "linear_attention" for index in range(count)]


def _gemma_norms(layer: Layer) -> Layer:
    hidden = layer.attention.output.outputs
    return replace(
        layer,
        attention_norm=Norm("input_layernorm", "gemma_rms", hidden),
        mlp_norm=Norm("post_attention_layernorm", "gemma_rms", hidden),
    )


def _compose(
    reader: ConfigReader, sparse: Mlp | Experts, plain: Mlp, is_sparse: list[bool], fused: bool
) -> Architecture:
    delta, attention = _delta(reader, fused=fused), _gated_attention(reader, per_row=not fused)
    kinds = {
        (attends, dense): _gemma_norms(
            pre_norm_layer(reader, attention if attends else delta, plain if dense else sparse)
        )
        for attends in (True, False)
        for dense in (True, False)
    }
    names = _layers(reader)
    order = runs(kinds[name == "full_attention", not one] for name, one in zip(names, is_sparse, strict=True))
    return replace(compose_decoder(reader, order, norm="gemma_rms"), caveat=CAVEAT)


def _qwen3_next(reader: ConfigReader) -> Architecture:
    experts = read_qwen_experts(or_one(reader), adapter_names="qwen", normalised=True)
    plain = _plain(reader, adaptable=False)
    return _compose(reader, experts, plain, by_step(reader), fused=True)


def _qwen3_5(reader: ConfigReader) -> Architecture:
    reader = text_part(reader)
    plain = _plain(reader)
    return _compose(reader, plain, plain, [False] * reader.size("num_hidden_layers"), fused=False)


def _qwen3_5_moe(reader: ConfigReader) -> Architecture:
    reader = text_part(reader)
    experts = read_qwen_experts(reader, adapter_names="none", normalised=True)
    assert experts.shared is not None, "read with a shared expert"
    return _compose(reader, experts, experts.shared, [True] * reader.size("num_hidden_layers"), fused=False)


def _olmo_hybrid(reader: ConfigReader) -> Architecture:
    """OLMo 3's attention without positions where the config has none, and the delta rule between norms before."""
    hidden, count = reader.size("hidden_size"), reader.size("num_hidden_layers")
    bias = reader.flag("attention_bias", False)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias)
    missing = "rope_parameters" not in reader.config
    turned = missing or reader.part("rope_parameters").config.get("rope_theta") is not None
    attention = replace(
        attention,
        rotary_dim=attention.rotary_dim if turned else 0,
        rotary=Rotary(fp32_tables=True),
        query_norm=Norm("q_norm", "late_rms", attention.heads * attention.head_dim),
        key_norm=Norm("k_norm", "late_rms", attention.kv_heads * attention.head_dim),
    )
    mlp = _plain(reader)
    attends = Layer(
        attention=attention,
        mlp=mlp,
        attention_norm=None,
        mlp_norm=None,
        attention_out_norm=Norm("post_attention_layernorm", "late_rms", hidden),
        mlp_out_norm=Norm("post_feedforward_layernorm", "late_rms", hidden),
    )
    recurs = late_norms(pre_norm_layer(reader, _apart(reader, attention.heads), mlp))
    names = reader.listed("layer_types") or []
    if len(names) != count:
        names = ["linear_attention" if (index + 1) % 4 else "full_attention" for index in range(count)]
    order = runs(recurs if name == "linear_attention" else attends for name in names)
    return replace(compose_decoder(reader, order, norm="late_rms"), caveat=CAVEAT)


def _apart(reader: ConfigReader, heads: int) -> GatedDelta:
    hidden = reader.size("hidden_size")
    key_heads = reader.size("linear_num_key_heads", default=heads)
    value_heads = reader.size("linear_num_value_heads", default=heads)
    key_dim = reader.size("linear_key_head_dim", default=int(0.75 * hidden / key_heads))
    value_dim = reader.size("linear_value_head_dim", default=2 * key_dim)
    keys, values = key_heads * key_dim, value_heads * value_dim
    widths = {"q": keys, "k": keys, "v": values, "b": value_heads, "a": value_heads, "g": values}
    return GatedDelta(
        name="linear_attn",
        key_heads=key_heads,
        value_heads=value_heads,
        key_dim=key_dim,
        value_dim=value_dim,
        kernel=reader.size("linear_conv_kernel_dim", default=4),
        inputs=tuple(Linear(f"{name}_proj", hidden, width) for name, width in widths.items()),
        output=Linear("o_proj", values, hidden),
        decays_in_fp32=True,
    )


def _plain(reader: ConfigReader, *, adaptable: bool = True) -> Mlp:
    return gated_mlp(
        "mlp",
        reader.size("hidden_size"),
        reader.size("intermediate_size", default=5632),
        read_activation(reader, "silu", "hidden_act"),
        adaptable=adaptable,
    )


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "qwen3_next": _qwen3_next,
    "qwen3_5": _qwen3_5,
    "qwen3_5_text": _qwen3_5,
    "qwen3_5_moe": _qwen3_5_moe,
    "olmo_hybrid": _olmo_hybrid,
    "qwen3_5_moe_text": _qwen3_5_moe,
}
"""Model types with a composition of their own."""
