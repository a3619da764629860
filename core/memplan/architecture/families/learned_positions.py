"""Decoders whose positions are looked up and added, with layer norms and biases: BioGPT, XGLM and the first GPT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from memplan.architecture.composing import plain_mlp, read_activation, read_head_dim
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Activation, Architecture, Attention, Layer, Linear, Norm, Table

_OFFSET = 2
"""Positions begin at the table's third row (transformers, BioGptLearnedPositionalEmbedding)."""


_GPT_ACTIVATIONS: dict[str, Activation] = {"relu": "relu", "silu": "silu", "swish": "silu"}
"""What its `afn` names; its gelu is the one that GPT-2 calls new."""


def _norm(name: str, size: int) -> Norm:
    return Norm(name, "layer", size, bias=True)


@dataclass(frozen=True, slots=True)
class _Keys:
    """Under which keys BioGPT and XGLM have the same sizes and rates."""

    hidden: tuple[str, ...]
    heads: tuple[str, ...]
    layers: tuple[str, ...]
    width: str
    activation: str
    dropout: str
    attention_dropout: str
    positions: int
    """Of how many positions there are where the config does not say."""


_BIOGPT_KEYS = _Keys(
    hidden=("hidden_size",),
    heads=("num_attention_heads",),
    layers=("num_hidden_layers",),
    width="intermediate_size",
    activation="hidden_act",
    dropout="hidden_dropout_prob",
    attention_dropout="attention_probs_dropout_prob",
    positions=1024,
)
_XGLM_KEYS = _Keys(
    hidden=("d_model", "hidden_size"),
    heads=("attention_heads", "num_attention_heads"),
    layers=("num_layers", "num_hidden_layers"),
    width="ffn_dim",
    activation="activation_function",
    dropout="dropout",
    attention_dropout="attention_dropout",
    positions=2048,
)


def _biogpt(reader: ConfigReader) -> Architecture:
    return _decoder(reader, _BIOGPT_KEYS, "output_projection")


def _xglm(reader: ConfigReader) -> Architecture:
    """Its positions are sines and cosines, a table that does not train; it has no fused attention."""
    model = _decoder(reader, _XGLM_KEYS, "lm_head")
    ((layer, count),) = model.layers
    assert isinstance(layer.attention, Attention), "composed with one"
    attention = replace(layer.attention, scaled_queries="first", scores="xglm", softmax_in_fp32=True)
    layers = ((replace(layer, attention=attention), count),)
    return replace(model, layers=layers, positions=None, fixed_positions=model.positions)


def _decoder(reader: ConfigReader, keys: _Keys, head: str) -> Architecture:
    hidden, heads, vocab = reader.size(*keys.hidden), reader.size(*keys.heads), reader.size("vocab_size")
    dropout, width = reader.fraction(keys.dropout, 0.1), reader.size(keys.width)
    positions = reader.size("max_position_embeddings", default=keys.positions)
    layer = Layer(
        attention=Attention(
            name="self_attn",
            heads=heads,
            kv_heads=heads,
            head_dim=read_head_dim(reader, hidden, heads),
            inputs=tuple(Linear(name, hidden, hidden, True) for name in ("q_proj", "k_proj", "v_proj")),
            output=Linear("out_proj", hidden, hidden, True),
            dropout=reader.fraction(keys.attention_dropout, 0.1),
            softmax_in_fp32=False,
        ),
        mlp=plain_mlp(
            Linear("fc1", hidden, width, True, "mlp"),
            Linear("fc2", width, hidden, True, "mlp"),
            read_activation(reader, "gelu", keys.activation),
            name="",
        ),
        attention_norm=_norm("self_attn_layer_norm", hidden),
        mlp_norm=_norm("final_layer_norm", hidden),
        dropout=dropout,
    )
    return Architecture(
        model_type=reader.model_type,
        hidden_size=hidden,
        vocab_size=vocab,
        tokens=Table("embed_tokens", vocab, hidden),
        embedding_scale="number_inside",
        positions=Table("embed_positions", positions + _OFFSET, hidden, unused_rows=_OFFSET),
        embedding_dropout=dropout,
        layers=((layer, reader.size(*keys.layers)),),
        final_norm=_norm("layer_norm", hidden),
        head=Linear(head, hidden, vocab, component="head"),
        tied=reader.flag("tie_word_embeddings", True),
    )


def _gpt(reader: ConfigReader) -> Architecture:
    """Norms stand after the sums; it has no fused attention and no norm behind the last layer."""
    hidden, heads = reader.size("n_embd", default=768), reader.size("n_head", default=12)
    positions, vocab = reader.size("n_positions", default=512), reader.size("vocab_size", default=40478)
    layer = Layer(
        attention=Attention(
            name="attn",
            heads=heads,
            kv_heads=heads,
            head_dim=read_head_dim(reader, hidden, heads),
            inputs=(Linear("c_attn", hidden, 3 * hidden, True),),
            output=Linear("c_proj", hidden, hidden, True),
            fused="by_part",
            dropout=reader.fraction("attn_pdrop", 0.1),
            scores="gpt",
        ),
        mlp=plain_mlp(
            Linear("c_fc", hidden, 4 * hidden, True, "mlp"),
            Linear("c_proj", 4 * hidden, hidden, True, "mlp"),
            _GPT_ACTIVATIONS.get(reader.text("afn", "gelu"), "gelu_new"),
        ),
        attention_norm=_norm("ln_1", hidden),
        mlp_norm=_norm("ln_2", hidden),
        post_norm=True,
        dropout=reader.fraction("resid_pdrop", 0.1),
        holds_attention=True,
        mask_side=positions,
    )
    return Architecture(
        model_type=reader.model_type,
        hidden_size=hidden,
        vocab_size=vocab,
        tokens=Table("tokens_embed", vocab, hidden),
        positions=Table("positions_embed", positions, hidden),
        embedding_dropout=reader.fraction("embd_pdrop", 0.1),
        layers=((layer, reader.size("n_layer", default=12)),),
        final_norm=None,
        head=Linear("lm_head", hidden, vocab, component="head"),
        tied=reader.flag("tie_word_embeddings", True),
        buffers=(8 * positions,),
    )


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {"biogpt": _biogpt, "openai-gpt": _gpt, "xglm": _xglm}
"""Model types with a composition of their own."""
