"""Multi-head latent attention with mixtures of experts: DeepSeek and those that follow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memplan.architecture.composing import (
    compose_decoder,
    equal_layers,
    gated_mlp,
    pre_norm_layer,
    read_activation,
    text_part,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.expert_parts import Experts, Router
from memplan.architecture.families.experts import (
    CORRECTED,
    after_dense_layers,
    compose_sparse,
    read_experts,
    runs,
    with_shared,
)
from memplan.architecture.latent_parts import Indexer, LatentAttention
from memplan.architecture.parts import Architecture, Layer, Linear, Mlp, Norm
from memplan.architecture.positions import Rotary


def read_latent_attention(reader: ConfigReader, rotary: Rotary) -> LatentAttention:
    """Projections through latents; queries through one only where `q_lora_rank` is given."""
    hidden, heads, bias = reader.size("hidden_size"), reader.size("num_attention_heads"), _bias(reader)
    plain, turned = reader.size("qk_nope_head_dim"), reader.size("qk_rope_head_dim")
    value, latent = reader.size("v_head_dim"), reader.size("kv_lora_rank")
    rank, wide = reader.optional_size("q_lora_rank", 1536), heads * (plain + turned)
    queries: tuple[Linear, ...] = (Linear("q_proj", hidden, wide),)
    if rank is not None:
        queries = Linear("q_a_proj", hidden, rank, bias), Linear("q_b_proj", rank, wide)
    return LatentAttention(
        name="self_attn",
        heads=heads,
        plain_dim=plain,
        rotary_dim=turned,
        value_dim=value,
        latent_dim=latent,
        queries=queries,
        query_norm=Norm("q_a_layernorm", "rms", rank) if rank is not None else None,
        down=Linear("kv_a_proj_with_mqa", hidden, latent + turned, bias),
        latent_norm=Norm("kv_a_layernorm", "rms", latent),
        up=Linear("kv_b_proj", latent, heads * (plain + value)),
        output=Linear("o_proj", heads * value, hidden, bias),
        rotary=rotary,
        dropout=reader.fraction("attention_dropout", 0.0),
    )


def _bias(reader: ConfigReader) -> bool:
    return reader.flag("attention_bias", False)


def _deepseek_v3(reader: ConfigReader) -> Architecture:
    reader = text_part(reader)
    attention = read_latent_attention(reader, Rotary(pairs=reader.flag("rope_interleave", True)))
    router = replace(CORRECTED, normalised=reader.flag("norm_topk_prob", True))
    experts = read_experts(reader, router, count="n_routed_experts", width="moe_intermediate_size")
    experts = with_shared(reader, experts, "n_shared_experts")
    return compose_sparse(reader, attention, experts, after_dense_layers(reader, 3))


def _youtu(reader: ConfigReader) -> Architecture:
    """DeepSeek-V3's attention in a model without experts."""
    attention = read_latent_attention(reader, Rotary(pairs=reader.flag("rope_interleave", True)))
    layer = pre_norm_layer(reader, attention, _gated(reader))
    return compose_decoder(reader, equal_layers(reader, layer), tied_default=True)


def _minicpm3(reader: ConfigReader) -> Architecture:
    """Latent attention without experts; embeddings, residuals and what the head reads are scaled."""
    width = reader.size("v_head_dim", default=reader.size("hidden_size") // reader.size("num_attention_heads"))
    own = ConfigReader({"q_lora_rank": 768, **reader.config, "v_head_dim": width}, reader.place)
    attention = read_latent_attention(own, Rotary())
    layer = replace(pre_norm_layer(reader, attention, _gated(reader)), residual_scale=True)
    model = compose_decoder(reader, equal_layers(reader, layer), tied_default=True, embedding_scale="buffer")
    return replace(model, scales_head_input=True)


def _sarvam_mla(reader: ConfigReader) -> Architecture:
    """DeepSeek-V3's modules with defaults of its own."""
    own = {"q_lora_rank": None, "first_k_dense_replace": 1}
    return _deepseek_v3(ConfigReader({**own, **reader.config}, reader.place))


def _axk1(reader: ConfigReader) -> Architecture:
    """DeepSeek-V3 with a norm behind the experts."""
    attention = read_latent_attention(reader, Rotary(pairs=reader.flag("rope_interleave", True)))
    router = replace(CORRECTED, normalised=reader.flag("norm_topk_prob", True))
    experts = read_experts(
        reader, router, count="n_routed_experts", width="moe_intermediate_size", adapter_names="none"
    )
    experts = with_shared(reader, experts, "n_shared_experts")
    model = compose_sparse(reader, attention, experts, after_dense_layers(reader, 1))
    norm = Norm("mlp.post_mlp_layernorm", "rms", reader.size("hidden_size"))
    return replace(
        model,
        layers=tuple(
            (replace(layer, mlp_out_norm=norm) if isinstance(layer.mlp, Experts) else layer, count)
            for layer, count in model.layers
        ),
    )


def _gated(reader: ConfigReader) -> Mlp:
    activation = read_activation(reader, "silu", "hidden_act")
    return gated_mlp("mlp", reader.size("hidden_size"), reader.size("intermediate_size"), activation)


def _deepseek_v2(reader: ConfigReader) -> Architecture:
    attention = read_latent_attention(reader, Rotary(form="complex"))
    router = Router(
        fp32=True,
        held_in_fp32=True,
        groups=reader.text("topk_method", "greedy") == "group_limited_greedy",
        normalised=False,
        scaled=True,
    )
    experts = read_experts(reader, router, count="n_routed_experts", width="moe_intermediate_size")
    experts = with_shared(reader, experts, "n_shared_experts")
    return compose_sparse(reader, attention, experts, after_dense_layers(reader))


def _mistral4(reader: ConfigReader) -> Architecture:
    """DeepSeek's attention with scaled queries, and a softmax in the model's dtype that chooses from groups."""
    attention = replace(read_latent_attention(reader, Rotary(pairs=True)), scaled_queries=True)
    router = Router(softmax_in_fp32=False, groups=True, scaled=True, guarded=True)
    router = replace(router, normalised=reader.flag("norm_topk_prob", True))
    experts = read_experts(
        reader, router, count="n_routed_experts", width="moe_intermediate_size", adapter_names="none"
    )
    experts = with_shared(reader, experts, "n_shared_experts")
    return compose_sparse(reader, attention, experts, after_dense_layers(reader))


def _deepseek_v32(reader: ConfigReader) -> Architecture:
    """DeepSeek-V3 with an indexer for each layer, or for those that `indexer_types` calls full."""
    count = reader.size("num_hidden_layers")
    types = reader.listed("indexer_types")
    full = [one == "full" for one in types] if types is not None and len(types) == count else [True] * count
    plain = _deepseek_v3(reader)
    spec, hidden = read_latent_attention(reader, Rotary(pairs=True)), reader.size("hidden_size")
    rank, heads = reader.size("q_lora_rank"), reader.size("index_n_heads", default=64)
    width = reader.size("index_head_dim", default=128)
    indexer = Indexer(
        heads=heads,
        head_dim=width,
        queries=Linear("wq_b", rank, heads * width, idle=True),
        keys=Linear("wk", hidden, width, idle=True),
        key_norm=Norm("k_norm", "layer", width, bias=True),
        weights_of_heads=Linear("weights_proj", hidden, heads, idle=True),
        best=reader.size("index_topk", default=2048),
    )
    spec = replace(spec, selects=True)
    with_indexer = replace(spec, indexer=indexer)
    order: list[Layer] = []
    kinds: dict[tuple[int, bool], Layer] = {}
    for layer, number in plain.layers:
        for _ in range(number):
            key = id(layer), full[len(order)]
            attention = with_indexer if key[1] else spec
            order.append(kinds.setdefault(key, replace(layer, attention=attention)))
    return replace(plain, layers=runs(order))


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "deepseek_v2": _deepseek_v2,
    "deepseek_v3": _deepseek_v3,
    "deepseek_v32": _deepseek_v32,
    "glm4_moe_lite": _deepseek_v3,
    "glm_moe_dsa": _deepseek_v32,
    "kimi_k2": _deepseek_v3,
    "kimi_k25": _deepseek_v3,
    "mistral4": _mistral4,
    "sarvam_mla": _sarvam_mla,
    "axk1": _axk1,
    "minicpm3": _minicpm3,
    "youtu": _youtu,
}
"""Model types with a composition of their own."""
