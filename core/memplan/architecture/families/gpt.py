"""GPT-2, GPT-NeoX and OPT: layer norms, plain feed-forward blocks, biases."""

from __future__ import annotations

from collections.abc import Callable

from memplan.architecture.composing import (
    read_activation,
    read_head_dim,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp, Norm, Table
from memplan.architecture.positions import Rotary


def _gpt2(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("n_embd", "hidden_size", default=768), reader.size("n_head", default=12)
    vocab, width = reader.size("vocab_size", default=50257), reader.optional_size("n_inner") or 4 * hidden
    layer = Layer(
        attention=Attention(
            name="attn",
            heads=heads,
            kv_heads=heads,
            head_dim=read_head_dim(reader, hidden, heads),
            inputs=(Linear("c_attn", hidden, 3 * hidden, bias=True),),
            output=Linear("c_proj", hidden, hidden, bias=True),
            fused="by_part",
            dropout=reader.fraction("attn_pdrop", 0.1),
            softmax_in_fp32=False,
        ),
        mlp=Mlp(
            name="mlp",
            up=Linear("c_fc", hidden, width, True, "mlp"),
            down=Linear("c_proj", width, hidden, True, "mlp"),
            activation=read_activation(reader, "gelu_new", "activation_function"),
            width=width,
        ),
        attention_norm=Norm("ln_1", "layer", hidden, bias=True),
        mlp_norm=Norm("ln_2", "layer", hidden, bias=True),
        dropout=reader.fraction("resid_pdrop", 0.1),
        holds_attention=True,
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
    rotary = reader.part("rope_parameters").fraction("partial_rotary_factor", reader.fraction("rotary_pct", 0.25))
    layer = Layer(
        attention=Attention(
            name="attention",
            heads=heads,
            kv_heads=heads,
            head_dim=read_head_dim(reader, hidden, heads),
            inputs=(Linear("query_key_value", hidden, 3 * hidden, bias),),
            output=Linear("dense", hidden, hidden, bias),
            fused="by_head",
            rotary_dim=int(head_dim * rotary),
            rotary=Rotary(joins=True),
            dropout=reader.fraction("attention_dropout", 0.0),
        ),
        mlp=Mlp(
            name="mlp",
            up=Linear("dense_h_to_4h", hidden, width, True, "mlp"),
            down=Linear("dense_4h_to_h", width, hidden, True, "mlp"),
            activation=read_activation(reader, "gelu", "hidden_act"),
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


_OPT_OFFSET = 2
"""Positions begin at the table's third row (transformers, OPTLearnedPositionalEmbedding)."""


def _opt(reader: ConfigReader) -> Architecture:
    hidden, heads, vocab = reader.size("hidden_size"), reader.size("num_attention_heads"), reader.size("vocab_size")
    width, bias = reader.size("ffn_dim"), reader.flag("enable_bias", True)
    narrow, before = reader.size("word_embed_proj_dim", default=hidden), reader.flag("do_layer_norm_before", True)
    affine = reader.flag("layer_norm_elementwise_affine", True)
    positions = reader.size("max_position_embeddings", default=2048)
    layer = Layer(
        attention=Attention(
            name="self_attn",
            heads=heads,
            kv_heads=heads,
            head_dim=read_head_dim(reader, hidden, heads),
            inputs=tuple(Linear(name, hidden, hidden, bias) for name in ("q_proj", "k_proj", "v_proj")),
            output=Linear("out_proj", hidden, hidden, bias),
            dropout=reader.fraction("attention_dropout", 0.0),
            scaled_queries="first",
        ),
        mlp=Mlp(
            name="",
            up=Linear("fc1", hidden, width, bias, "mlp"),
            down=Linear("fc2", width, hidden, bias, "mlp"),
            activation=read_activation(reader, "relu", "activation_function"),
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
        positions=Table("embed_positions", positions + _OPT_OFFSET, hidden, unused_rows=_OPT_OFFSET),
        position_ids_per_row=True,
        layers=((layer, reader.size("num_hidden_layers")),),
        final_norm=Norm("final_layer_norm", "layer", hidden, bias=True, affine=affine) if has_final_norm else None,
        head=Linear("lm_head", narrow, vocab, component="head"),
        tied=reader.flag("tie_word_embeddings", True),
        projections=around,
    )


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "gpt2": _gpt2,
    "gpt-sw3": _gpt2,
    "gpt_neox": _gpt_neox,
    "opt": _opt,
}
"""Model types with a composition of their own."""
