"""Mixtures of experts on a llama-like frame."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from memplan.architecture.composing import (
    compose_decoder,
    gated_mlp,
    pre_norm_layer,
    read_activation,
    read_attention,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import (
    Architecture,
    Experts,
)
from memplan.errors import ConfigError


def _experts(
    reader: ConfigReader,
    count_key: str,
    width_key: str,
    *,
    normalised: bool = True,
    scores_in_input_dtype: bool = False,
) -> Experts:
    count, per_token = reader.size(count_key), reader.size("num_experts_per_tok")
    if per_token > count:
        raise ConfigError(f"{per_token} experts per token of {count} experts", place="config.num_experts_per_tok")
    return Experts(
        name="mlp",
        count=count,
        per_token=per_token,
        hidden=reader.size("hidden_size"),
        width=reader.size(width_key),
        activation=read_activation(reader, "silu", "hidden_act"),
        normalised=normalised,
        scores_in_input_dtype=scores_in_input_dtype,
    )


def _mixtral(reader: ConfigReader) -> Architecture:
    attention = read_attention(
        reader,
        qkv_bias=False,
        out_bias=False,
        default_kv_heads=8,
        window=reader.optional_size("sliding_window"),
    )
    experts = _experts(reader, "num_local_experts", "intermediate_size")
    layer = pre_norm_layer(reader, attention, experts)
    return compose_decoder(reader, ((layer, reader.size("num_hidden_layers")),))


def _qwen3_moe(reader: ConfigReader) -> Architecture:
    bias, num_layers = reader.flag("attention_bias", False), reader.size("num_hidden_layers")
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, qk_norm="rms", default_kv_heads=4)
    normalised = reader.flag("norm_topk_prob", False)
    experts = _experts(
        reader, "num_experts", "moe_intermediate_size", normalised=normalised, scores_in_input_dtype=True
    )
    step, dense_only = reader.size("decoder_sparse_step", default=1), reader.config.get("mlp_only_layers") or []
    mlp = gated_mlp("mlp", reader.size("hidden_size"), reader.size("intermediate_size"), experts.activation)
    sparse, dense = pre_norm_layer(reader, attention, experts), pre_norm_layer(reader, attention, mlp)
    order = (sparse if index not in dense_only and (index + 1) % step == 0 else dense for index in range(num_layers))
    return compose_decoder(reader, tuple((layer, len(list(run))) for layer, run in groupby(order)))


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {"mixtral": _mixtral, "qwen3_moe": _qwen3_moe}
"""Model types with a composition of their own."""
