"""How each model type is composed, from its Hugging Face config. Defaults are those of transformers 5.24."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Any

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import (
    Activation,
    Architecture,
    Attention,
    Experts,
    Layer,
    Linear,
    Mlp,
    Norm,
    NormKind,
    Table,
)
from memplan.errors import ConfigError

_ACTIVATIONS: dict[str, Activation] = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu_new",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_new",
    "relu": "relu",
}


def architecture_of(config: Mapping[str, Any]) -> Architecture:
    """Compose the architecture of a config.json.

    Raises:
        ConfigError: a value is missing or wrong; names the key and the remedy.
    """
    try:
        key = json.dumps(config, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"not plain JSON ({error})", place="config") from error
    return _cached(key)


@lru_cache(maxsize=512)
def _cached(key: str) -> Architecture:
    reader = ConfigReader(json.loads(key))
    compose = FAMILIES.get(reader.model_type, _nearest)
    return compose(reader)


def _activation(reader: ConfigReader, default: str, *keys: str) -> Activation:
    for key in keys:
        if reader.config.get(key) is not None:
            return _ACTIVATIONS.get(reader.text(key, default), "silu")
    return _ACTIVATIONS[default]


def _head_dim(reader: ConfigReader, hidden: int, heads: int) -> int:
    if reader.config.get("head_dim") is not None:
        return reader.size("head_dim")
    if hidden % heads:
        raise ConfigError(
            f"hidden_size {hidden} is not divisible by {heads} heads",
            place="config.num_attention_heads",
            remedy="Give head_dim, or heads that divide hidden_size.",
        )
    return hidden // heads


def _kv_heads(reader: ConfigReader, heads: int, default: int | None = None) -> int:
    kv_heads = reader.size("num_key_value_heads", default=heads if default is None else default)
    if heads % kv_heads:
        raise ConfigError(
            f"{heads} heads can not be shared by {kv_heads} key and value heads", place="config.num_key_value_heads"
        )
    return kv_heads


def _attention(
    reader: ConfigReader,
    *,
    qkv_bias: bool,
    out_bias: bool,
    qk_norm: NormKind | None = None,
    default_kv_heads: int | None = None,
    window: int | None = None,
    softcap: bool = False,
) -> Attention:
    hidden, heads = reader.size("hidden_size"), reader.size("num_attention_heads")
    kv_heads, head_dim = _kv_heads(reader, heads, default_kv_heads), _head_dim(reader, hidden, heads)
    return Attention(
        name="self_attn",
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        inputs=(
            Linear("q_proj", hidden, heads * head_dim, qkv_bias),
            Linear("k_proj", hidden, kv_heads * head_dim, qkv_bias),
            Linear("v_proj", hidden, kv_heads * head_dim, qkv_bias),
        ),
        output=Linear("o_proj", heads * head_dim, hidden, out_bias),
        rotary_dim=head_dim,
        query_norm=Norm("q_norm", qk_norm, head_dim) if qk_norm else None,
        key_norm=Norm("k_norm", qk_norm, head_dim) if qk_norm else None,
        dropout=reader.fraction("attention_dropout", 0.0),
        window=window,
        softcap=softcap,
    )


def gated_mlp(name: str, hidden: int, width: int, activation: Activation, bias: bool = False) -> Mlp:
    """down(act(gate(x)) * up(x)) with three matrices."""
    return Mlp(
        name=name,
        gate=Linear("gate_proj", hidden, width, bias, "mlp"),
        up=Linear("up_proj", hidden, width, bias, "mlp"),
        down=Linear("down_proj", width, hidden, bias, "mlp"),
        activation=activation,
        width=width,
    )


def _decoder(
    reader: ConfigReader,
    layers: tuple[tuple[Layer, int], ...],
    *,
    norm: NormKind = "rms",
    tied_default: bool = False,
    embedding_scale: bool = False,
    logits_softcap: bool = False,
    known: bool = True,
) -> Architecture:
    hidden, vocab = reader.size("hidden_size"), reader.size("vocab_size")
    return Architecture(
        model_type=reader.model_type,
        hidden_size=hidden,
        vocab_size=vocab,
        tokens=Table("embed_tokens", vocab, hidden),
        layers=layers,
        final_norm=Norm("norm", norm, hidden),
        head=Linear("lm_head", hidden, vocab, component="head"),
        tied=reader.flag("tie_word_embeddings", tied_default),
        embedding_scale=embedding_scale,
        logits_softcap=logits_softcap,
        known=known,
    )


def _pre_norm_layer(reader: ConfigReader, attention: Attention, mlp: Mlp | Experts) -> Layer:
    hidden = reader.size("hidden_size")
    return Layer(
        attention=attention,
        mlp=mlp,
        attention_norm=Norm("input_layernorm", "rms", hidden),
        mlp_norm=Norm("post_attention_layernorm", "rms", hidden),
    )


def _llama_like(
    reader: ConfigReader,
    *,
    qkv_bias: bool = False,
    out_bias: bool = False,
    qk_norm: NormKind | None = None,
    default_kv_heads: int | None = None,
    window: int | None = None,
    known: bool = True,
) -> Architecture:
    attention = _attention(
        reader,
        qkv_bias=qkv_bias,
        out_bias=out_bias,
        qk_norm=qk_norm,
        default_kv_heads=default_kv_heads,
        window=window,
    )
    mlp = gated_mlp(
        "mlp",
        reader.size("hidden_size"),
        reader.size("intermediate_size"),
        _activation(reader, "silu", "hidden_act"),
        reader.flag("mlp_bias", False),
    )
    layer = _pre_norm_layer(reader, attention, mlp)
    return _decoder(reader, ((layer, reader.size("num_hidden_layers")),), known=known)


def _llama(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    return _llama_like(reader, qkv_bias=bias, out_bias=bias)


def _mistral(reader: ConfigReader) -> Architecture:
    return _llama_like(reader, default_kv_heads=8, window=reader.optional_size("sliding_window", 4096))


def _qwen2(reader: ConfigReader) -> Architecture:
    window = reader.optional_size("sliding_window", 4096) if reader.flag("use_sliding_window", False) else None
    return _llama_like(reader, qkv_bias=True, default_kv_heads=32, window=window)


def _qwen3(reader: ConfigReader) -> Architecture:
    bias = reader.flag("attention_bias", False)
    window = reader.optional_size("sliding_window", 4096) if reader.flag("use_sliding_window", False) else None
    return _llama_like(reader, qkv_bias=bias, out_bias=bias, qk_norm="rms", default_kv_heads=32, window=window)


def _nearest(reader: ConfigReader) -> Architecture:
    """A model type without a composition of its own is read as a llama-like decoder, and says so."""
    bias = reader.flag("attention_bias", False)
    return _llama_like(reader, qkv_bias=bias, out_bias=bias, known=False)


def _phi3(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("hidden_size"), reader.size("num_attention_heads")
    kv_heads, head_dim = _kv_heads(reader, heads), _head_dim(reader, hidden, heads)
    width = reader.size("intermediate_size")
    rotary = reader.mapping("rope_parameters").get("partial_rotary_factor", reader.fraction("partial_rotary_factor", 1))
    attention = Attention(
        name="self_attn",
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        inputs=(Linear("qkv_proj", hidden, (heads + 2 * kv_heads) * head_dim),),
        output=Linear("o_proj", heads * head_dim, hidden),
        fused="by_part",
        rotary_dim=int(head_dim * rotary),
        dropout=reader.fraction("attention_dropout", 0.0),
        window=reader.optional_size("sliding_window"),
    )
    mlp = Mlp(
        name="mlp",
        up=Linear("gate_up_proj", hidden, 2 * width, component="mlp"),
        down=Linear("down_proj", width, hidden, component="mlp"),
        activation=_activation(reader, "silu", "hidden_act"),
        fused=True,
        width=width,
    )
    layer = Layer(
        attention=attention,
        mlp=mlp,
        attention_norm=Norm("input_layernorm", "rms", hidden),
        mlp_norm=Norm("post_attention_layernorm", "rms", hidden),
        dropout=reader.fraction("resid_pdrop", 0.0),
    )
    return _decoder(reader, ((layer, reader.size("num_hidden_layers")),))


def _gemma2(reader: ConfigReader) -> Architecture:
    hidden, num_layers = reader.size("hidden_size"), reader.size("num_hidden_layers")
    window = reader.optional_size("sliding_window", 4096)
    softcap = reader.config.get("attn_logit_softcapping", 50.0) is not None
    bias = reader.flag("attention_bias", False)
    mlp = gated_mlp(
        "mlp",
        hidden,
        reader.size("intermediate_size"),
        _activation(reader, "gelu_pytorch_tanh", "hidden_activation", "hidden_act"),
    )

    def layer(of_window: int | None) -> Layer:
        return Layer(
            attention=_attention(
                reader, qkv_bias=bias, out_bias=bias, default_kv_heads=4, window=of_window, softcap=softcap
            ),
            mlp=mlp,
            attention_norm=Norm("input_layernorm", "gemma_rms", hidden),
            attention_out_norm=Norm("post_attention_layernorm", "gemma_rms", hidden),
            mlp_norm=Norm("pre_feedforward_layernorm", "gemma_rms", hidden),
            mlp_out_norm=Norm("post_feedforward_layernorm", "gemma_rms", hidden),
        )

    # Layers alternate between a sliding window and full attention, the first one slides.
    sliding, full = layer(window), layer(None)
    kinds = tuple(((full if index % 2 else sliding), 1) for index in range(num_layers))
    return _decoder(
        reader,
        kinds,
        norm="gemma_rms",
        tied_default=True,
        embedding_scale=True,
        logits_softcap=reader.config.get("final_logit_softcapping", 30.0) is not None,
    )


def _gpt2(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("n_embd", "hidden_size", default=768), reader.size("n_head", default=12)
    vocab, width = reader.size("vocab_size", default=50257), reader.optional_size("n_inner") or 4 * hidden
    layer = Layer(
        attention=Attention(
            name="attn",
            heads=heads,
            kv_heads=heads,
            head_dim=_head_dim(reader, hidden, heads),
            inputs=(Linear("c_attn", hidden, 3 * hidden, bias=True),),
            output=Linear("c_proj", hidden, hidden, bias=True),
            fused="by_part",
            dropout=reader.fraction("attn_pdrop", 0.1),
        ),
        mlp=Mlp(
            name="mlp",
            up=Linear("c_fc", hidden, width, True, "mlp"),
            down=Linear("c_proj", width, hidden, True, "mlp"),
            activation=_activation(reader, "gelu_new", "activation_function"),
            width=width,
        ),
        attention_norm=Norm("ln_1", "layer", hidden, bias=True),
        mlp_norm=Norm("ln_2", "layer", hidden, bias=True),
        dropout=reader.fraction("resid_pdrop", 0.1),
    )
    return Architecture(
        model_type=reader.model_type,
        hidden_size=hidden,
        vocab_size=vocab,
        tokens=Table("wte", vocab, hidden),
        positions=Table("wpe", reader.size("n_positions", default=1024), hidden),
        embedding_dropout=reader.fraction("embd_pdrop", 0.1),
        layers=((layer, reader.size("n_layer", default=12)),),
        final_norm=Norm("ln_f", "layer", hidden, bias=True),
        head=Linear("lm_head", hidden, vocab, component="head"),
        tied=reader.flag("tie_word_embeddings", True),
    )


def _gpt_neox(reader: ConfigReader) -> Architecture:
    hidden, heads, vocab = reader.size("hidden_size"), reader.size("num_attention_heads"), reader.size("vocab_size")
    width, bias, head_dim = reader.size("intermediate_size"), reader.flag("attention_bias", True), hidden // heads
    rotary = reader.mapping("rope_parameters").get("partial_rotary_factor", reader.fraction("rotary_pct", 0.25))
    layer = Layer(
        attention=Attention(
            name="attention",
            heads=heads,
            kv_heads=heads,
            head_dim=_head_dim(reader, hidden, heads),
            inputs=(Linear("query_key_value", hidden, 3 * hidden, bias),),
            output=Linear("dense", hidden, hidden, bias),
            fused="by_head",
            rotary_dim=int(head_dim * rotary),
            dropout=reader.fraction("attention_dropout", 0.0),
        ),
        mlp=Mlp(
            name="mlp",
            up=Linear("dense_h_to_4h", hidden, width, True, "mlp"),
            down=Linear("dense_4h_to_h", width, hidden, True, "mlp"),
            activation=_activation(reader, "gelu", "hidden_act"),
            width=width,
        ),
        attention_norm=Norm("input_layernorm", "layer", hidden, bias=True),
        mlp_norm=Norm("post_attention_layernorm", "layer", hidden, bias=True),
        parallel=reader.flag("use_parallel_residual", True),
        dropout=reader.fraction("hidden_dropout", 0.0),
    )
    return Architecture(
        model_type=reader.model_type,
        hidden_size=hidden,
        vocab_size=vocab,
        tokens=Table("embed_in", vocab, hidden),
        layers=((layer, reader.size("num_hidden_layers")),),
        final_norm=Norm("final_layer_norm", "layer", hidden, bias=True),
        head=Linear("embed_out", hidden, vocab, component="head"),
        tied=reader.flag("tie_word_embeddings", False),
    )


def _opt(reader: ConfigReader) -> Architecture:
    hidden, heads, vocab = reader.size("hidden_size"), reader.size("num_attention_heads"), reader.size("vocab_size")
    width, bias = reader.size("ffn_dim"), reader.flag("enable_bias", True)
    narrow, before = reader.size("word_embed_proj_dim", default=hidden), reader.flag("do_layer_norm_before", True)
    affine = reader.flag("layer_norm_elementwise_affine", True)
    layer = Layer(
        attention=Attention(
            name="self_attn",
            heads=heads,
            kv_heads=heads,
            head_dim=_head_dim(reader, hidden, heads),
            inputs=tuple(Linear(name, hidden, hidden, bias) for name in ("q_proj", "k_proj", "v_proj")),
            output=Linear("out_proj", hidden, hidden, bias),
            dropout=reader.fraction("attention_dropout", 0.0),
            scaled_queries=True,
        ),
        mlp=Mlp(
            name="",
            up=Linear("fc1", hidden, width, bias, "mlp"),
            down=Linear("fc2", width, hidden, bias, "mlp"),
            activation=_activation(reader, "relu", "activation_function"),
            width=width,
        ),
        attention_norm=Norm("self_attn_layer_norm", "layer", hidden, bias=True, affine=affine),
        mlp_norm=Norm("final_layer_norm", "layer", hidden, bias=True, affine=affine),
        post_norm=not before,
        dropout=reader.fraction("dropout", 0.1),
    )
    has_final_norm = before and not reader.flag("_remove_final_layer_norm", False)
    around = (Linear("project_in", narrow, hidden), Linear("project_out", hidden, narrow)) if narrow != hidden else ()
    return Architecture(
        model_type=reader.model_type,
        hidden_size=hidden,
        vocab_size=vocab,
        tokens=Table("embed_tokens", vocab, narrow),
        positions=Table("embed_positions", reader.size("max_position_embeddings", default=2048) + 2, hidden),
        position_ids_per_row=True,
        layers=((layer, reader.size("num_hidden_layers")),),
        final_norm=Norm("final_layer_norm", "layer", hidden, bias=True, affine=affine) if has_final_norm else None,
        head=Linear("lm_head", narrow, vocab, component="head"),
        tied=reader.flag("tie_word_embeddings", True),
        projections=around,
    )


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
        activation=_activation(reader, "silu", "hidden_act"),
        normalised=normalised,
        scores_in_input_dtype=scores_in_input_dtype,
    )


def _mixtral(reader: ConfigReader) -> Architecture:
    attention = _attention(
        reader,
        qkv_bias=False,
        out_bias=False,
        default_kv_heads=8,
        window=reader.optional_size("sliding_window"),
    )
    experts = _experts(reader, "num_local_experts", "intermediate_size")
    layer = _pre_norm_layer(reader, attention, experts)
    return _decoder(reader, ((layer, reader.size("num_hidden_layers")),))


def _qwen3_moe(reader: ConfigReader) -> Architecture:
    bias, num_layers = reader.flag("attention_bias", False), reader.size("num_hidden_layers")
    attention = _attention(reader, qkv_bias=bias, out_bias=bias, qk_norm="rms", default_kv_heads=4)
    normalised = reader.flag("norm_topk_prob", False)
    experts = _experts(
        reader, "num_experts", "moe_intermediate_size", normalised=normalised, scores_in_input_dtype=True
    )
    step, dense_only = reader.size("decoder_sparse_step", default=1), reader.config.get("mlp_only_layers") or []
    mlp = gated_mlp("mlp", reader.size("hidden_size"), reader.size("intermediate_size"), experts.activation)
    sparse, dense = _pre_norm_layer(reader, attention, experts), _pre_norm_layer(reader, attention, mlp)
    order = (sparse if index not in dense_only and (index + 1) % step == 0 else dense for index in range(num_layers))
    return _decoder(reader, tuple((layer, len(list(run))) for layer, run in groupby(order)))


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "llama": _llama,
    "mistral": _mistral,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "phi3": _phi3,
    "gemma2": _gemma2,
    "gpt2": _gpt2,
    "gpt_neox": _gpt_neox,
    "opt": _opt,
    "mixtral": _mixtral,
    "qwen3_moe": _qwen3_moe,
}
"""Model types with a composition of their own."""
