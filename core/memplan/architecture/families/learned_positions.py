"""Decoders whose positions are looked up and added, with layer norms and biases: BioGPT, XGLM and the first GPT."""

from __future__ import annotations

from collections.abc import Callable

from memplan.architecture.composing import plain_mlp, read_activation, read_head_dim
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Activation, Architecture, Attention, Layer, Linear, Norm, Table

_OFFSET = 2
"""Positions begin at the table's third row (transformers, BioGptLearnedPositionalEmbedding)."""


_GPT_ACTIVATIONS: dict[str, Activation] = {"relu": "relu", "silu": "silu", "swish": "silu"}
"""What its `afn` names; its gelu is the one that GPT-2 calls new."""


def _norm(name: str, size: int) -> Norm:
    return Norm(name, "layer", size, bias=True)


def _biogpt(reader: ConfigReader) -> Architecture:
    hidden, heads, vocab = reader.size("hidden_size"), reader.size("num_attention_heads"), reader.size("vocab_size")
    dropout, width = reader.fraction("hidden_dropout_prob", 0.1), reader.size("intermediate_size")
    positions = reader.size("max_position_embeddings", default=1024)
    layer = Layer(
        attention=Attention(
            name="self_attn",
            heads=heads,
            kv_heads=heads,
            head_dim=read_head_dim(reader, hidden, heads),
            inputs=tuple(Linear(name, hidden, hidden, True) for name in ("q_proj", "k_proj", "v_proj")),
            output=Linear("out_proj", hidden, hidden, True),
            dropout=reader.fraction("attention_probs_dropout_prob", 0.1),
            softmax_in_fp32=False,
        ),
        mlp=plain_mlp(
            Linear("fc1", hidden, width, True, "mlp"),
            Linear("fc2", width, hidden, True, "mlp"),
            read_activation(reader, "gelu", "hidden_act"),
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
        layers=((layer, reader.size("num_hidden_layers")),),
        final_norm=_norm("layer_norm", hidden),
        head=Linear("output_projection", hidden, vocab, component="head"),
        tied=reader.flag("tie_word_embeddings", True),
    )


def _xglm(reader: ConfigReader) -> Architecture:
    """Its positions are sines and cosines, a table that does not train; it has no fused attention."""
    hidden, heads = reader.size("d_model", "hidden_size"), reader.size("attention_heads", "num_attention_heads")
    dropout, width, vocab = reader.fraction("dropout", 0.1), reader.size("ffn_dim"), reader.size("vocab_size")
    positions = reader.size("max_position_embeddings", default=2048)
    layer = Layer(
        attention=Attention(
            name="self_attn",
            heads=heads,
            kv_heads=heads,
            head_dim=read_head_dim(reader, hidden, heads),
            inputs=tuple(Linear(name, hidden, hidden, True) for name in ("q_proj", "k_proj", "v_proj")),
            output=Linear("out_proj", hidden, hidden, True),
            dropout=reader.fraction("attention_dropout", 0.1),
            scaled_queries="first",
            scores="xglm",
        ),
        mlp=plain_mlp(
            Linear("fc1", hidden, width, True, "mlp"),
            Linear("fc2", width, hidden, True, "mlp"),
            read_activation(reader, "gelu", "activation_function"),
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
        fixed_positions=Table("embed_positions", positions + _OFFSET, hidden, unused_rows=_OFFSET),
        embedding_dropout=dropout,
        layers=((layer, reader.size("num_layers", "num_hidden_layers")),),
        final_norm=_norm("layer_norm", hidden),
        head=Linear("lm_head", hidden, vocab, component="head"),
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
