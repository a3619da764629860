"""The nearest composition for a model type that has none of its own: a llama-like frame, dense or with experts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memplan.architecture.composing import llama_like, read_attention
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.expert_parts import Router
from memplan.architecture.families.experts import after_dense_layers, compose_sparse, read_experts, with_shared
from memplan.architecture.parts import Architecture

EXPERT_COUNTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", "num_routed_experts")
"""Keys under which configs say how many experts a layer has."""
PER_TOKEN = ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "top_k_experts", "experts_per_token")
WIDTHS = ("moe_intermediate_size", "expert_intermediate_size", "ffn_hidden_size", "intermediate_size")
SHARED = ("n_shared_experts", "num_shared_experts")


def _nearest(reader: ConfigReader) -> Architecture:
    """Read a config as its keys suggest; the architecture says that it is not known.

    Raises:
        ConfigError: a size is missing; names the key.
    """
    bias = reader.flag("attention_bias", False)
    count = _first(reader, EXPERT_COUNTS)
    if count is None or reader.size(count) == 1:
        return llama_like(reader, qkv_bias=bias, out_bias=bias, known=False)
    experts = read_experts(
        reader,
        Router(),
        count=count,
        width=_first(reader, WIDTHS) or "moe_intermediate_size",
        per_token=_first(reader, PER_TOKEN) or "num_experts_per_tok",
        adapter_names="none",
    )
    if (shared := _first(reader, SHARED)) is not None:
        experts = with_shared(reader, experts, shared)
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias)
    has_dense_layers = _first(reader, ("first_k_dense_replace", "mlp_layer_types")) is not None
    sparse = after_dense_layers(reader) if has_dense_layers else None
    return replace(compose_sparse(reader, attention, experts, sparse), known=False)


def _first(reader: ConfigReader, keys: tuple[str, ...]) -> str | None:
    """The first of the keys that the config has a value for; 0 is none."""
    return next((key for key in keys if reader.config.get(key)), None)


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {"*": _nearest}
"""For every model type that has no composition of its own."""
