"""What compositions share: attention, feed-forward and decoder parts read from a Hugging Face config."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.expert_parts import Experts
from memplan.architecture.latent_parts import LatentAttention
from memplan.architecture.linear_parts import StateMixer
from memplan.architecture.parts import (
    Activation,
    Architecture,
    Attention,
    EmbeddingScale,
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
    "relu2": "relu2",
    "xielu": "xielu",
}


def text_part(reader: ConfigReader) -> ConfigReader:
    """The language model of a multimodal config, or the config itself. Towers for other inputs are not counted."""
    if reader.config.get("text_config") is None:
        return reader
    inner = reader.part("text_config")
    tied = (
        {"tie_word_embeddings": reader.config["tie_word_embeddings"]} if "tie_word_embeddings" in reader.config else {}
    )
    return ConfigReader({**tied, **inner.config}, inner.place)


ACTIVATION_KEYS = ("hidden_act", "hidden_activation", "activation_function")


def unknown_activation(reader: ConfigReader) -> str | None:
    """The key of an activation that is not known, in the language model of a config; None where all are."""
    text = text_part(reader)
    for key in ACTIVATION_KEYS:
        named = text.config.get(key)
        if isinstance(named, str) and named not in _ACTIVATIONS and named not in _OF_FAMILIES:
            return key
    return None


_OF_FAMILIES = ("swigluoai",)
"""Names of activations that compositions have blocks of their own for."""


def read_activation(reader: ConfigReader, default: str, *keys: str) -> Activation:
    """The activation named under the first of the keys that is there; one that is not known counts as silu."""
    for key in keys:
        if reader.config.get(key) is not None:
            return _ACTIVATIONS.get(reader.text(key, default), "silu")
    return _ACTIVATIONS[default]


def read_head_dim(reader: ConfigReader, hidden: int, heads: int, default: int | None = None) -> int:
    """Width of one head: head_dim, or the hidden size divided among the heads (or the model type's own default)."""
    if reader.config.get("head_dim") is not None:
        return reader.size("head_dim")
    if default is not None and "head_dim" not in reader.config:
        return default
    if hidden % heads:
        raise ConfigError(
            f"hidden_size {hidden} is not divisible by {heads} heads",
            place=f"{reader.place}.num_attention_heads",
            remedy="Give head_dim, or heads that divide hidden_size.",
        )
    return hidden // heads


def read_kv_heads(reader: ConfigReader, heads: int, default: int | None = None) -> int:
    """Key and value heads; they share the query heads evenly."""
    kv_heads = reader.size("num_key_value_heads", default=heads if default is None else default)
    if heads % kv_heads:
        raise ConfigError(
            f"{heads} heads can not be shared by {kv_heads} key and value heads",
            place=f"{reader.place}.num_key_value_heads",
        )
    return kv_heads


def read_attention(
    reader: ConfigReader,
    *,
    qkv_bias: bool,
    out_bias: bool,
    qk_norm: NormKind | None = None,
    default_kv_heads: int | None = None,
    default_head_dim: int | None = None,
    window: int | None = None,
    softcap: bool = False,
) -> Attention:
    """Separate q, k and v projections with rotary positions over the whole head."""
    hidden, heads = reader.size("hidden_size"), reader.size("num_attention_heads")
    kv_heads = read_kv_heads(reader, heads, default_kv_heads)
    head_dim = read_head_dim(reader, hidden, heads, default_head_dim)
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


def gated_mlp(
    name: str, hidden: int, width: int, activation: Activation, bias: bool = False, *, adaptable: bool = True
) -> Mlp:
    """down(act(gate(x)) * up(x)) with three matrices."""
    return Mlp(
        name=name,
        gate=Linear("gate_proj", hidden, width, bias, "mlp", adaptable),
        up=Linear("up_proj", hidden, width, bias, "mlp", adaptable),
        down=Linear("down_proj", width, hidden, bias, "mlp", adaptable),
        activation=activation,
        width=width,
    )


def compose_decoder(
    reader: ConfigReader,
    layers: tuple[tuple[Layer, int], ...],
    *,
    norm: NormKind = "rms",
    tied_default: bool = False,
    embedding_scale: EmbeddingScale = "no",
    logits_softcap: bool = False,
    logits_scale: bool = False,
    known: bool = True,
) -> Architecture:
    """Embeddings, layers, a final norm and a head, named as llama names them."""
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
        logits_scale=logits_scale,
        known=known,
    )


def pre_norm_layer(
    reader: ConfigReader, attention: Attention | LatentAttention | StateMixer, mlp: Mlp | Experts
) -> Layer:
    """A layer with a norm before each of its two blocks."""
    hidden = reader.size("hidden_size")
    return Layer(
        attention=attention,
        mlp=mlp,
        attention_norm=Norm("input_layernorm", "rms", hidden),
        mlp_norm=Norm("post_attention_layernorm", "rms", hidden),
    )


def llama_like(
    reader: ConfigReader,
    *,
    qkv_bias: bool = False,
    out_bias: bool = False,
    qk_norm: NormKind | None = None,
    default_kv_heads: int | None = None,
    window: int | None = None,
    first_sliding_layer: int = 0,
    known: bool = True,
) -> Architecture:
    """A decoder of llama-like layers; with a window, those that `layer_types` names slide, or all from a first on."""
    attention = read_attention(
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
        read_activation(reader, "silu", "hidden_act"),
        reader.flag("mlp_bias", False),
    )
    layer = pre_norm_layer(reader, attention, mlp)
    full = layer if window is None else replace(layer, attention=replace(attention, window=None))
    slides = sliding_layers(reader, lambda index: index >= first_sliding_layer)
    return compose_decoder(reader, runs_of(layer if one else full for one in slides), known=known)


def sliding_layers(reader: ConfigReader, default: Callable[[int], bool]) -> list[bool]:
    """Which layers slide: those that `layer_types` names, or those that the model type's own rule does."""
    count, types = reader.size("num_hidden_layers"), reader.listed("layer_types")
    if types is not None and len(types) == count:
        return [name == "sliding_attention" for name in types]
    return [default(index) for index in range(count)]


def runs_of(layers: Iterable[Layer]) -> tuple[tuple[Layer, int], ...]:
    """Equal layers that follow each other, with how many there are."""
    return tuple((layer, len(list(run))) for layer, run in groupby(layers))


def equal_layers(reader: ConfigReader, layer: Layer) -> tuple[tuple[Layer, int], ...]:
    """As many of one layer as `num_hidden_layers` says."""
    return ((layer, reader.size("num_hidden_layers")),)


def plain_mlp(up: Linear, down: Linear, activation: Activation, name: str = "mlp") -> Mlp:
    """down(act(up(x)))."""
    return Mlp(name=name, up=up, down=down, activation=activation, width=up.outputs)


def read_rotary_dim(reader: ConfigReader, head_dim: int, default: float) -> int:
    """How many values of a head are turned: `partial_rotary_factor` of them."""
    own = reader.fraction("partial_rotary_factor", default)
    return int(head_dim * reader.part("rope_parameters").fraction("partial_rotary_factor", own))
