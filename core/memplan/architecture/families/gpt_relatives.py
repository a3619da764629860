"""GPT-BigCode, GPT-J, GPT-Neo, Bloom, MPT, Falcon: layer norms, plain feed-forward blocks, positions of many kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memplan.architecture.composing import plain_mlp, read_activation, read_head_dim
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Activation, Architecture, Attention, Layer, Linear, Mlp, Norm, Table
from memplan.architecture.positions import Rotary


def _norm(name: str, size: int, *, bias: bool = True) -> Norm:
    return Norm(name, "layer", size, bias=bias)


def _mlp(
    names: tuple[str, str], hidden: int, width: int, activation: Activation, *, bias: bool, transposed: bool = False
) -> Mlp:
    up = Linear(names[0], hidden, width, bias, "mlp", transposed=transposed)
    return plain_mlp(up, Linear(names[1], width, hidden, bias, "mlp", transposed=transposed), activation)


def _decoder(reader: ConfigReader, hidden: int, layers: tuple[tuple[Layer, int], ...], tied: bool) -> Architecture:
    vocab = reader.size("vocab_size")
    return Architecture(
        model_type=reader.model_type,
        hidden_size=hidden,
        vocab_size=vocab,
        tokens=Table("wte", vocab, hidden),
        layers=layers,
        final_norm=_norm("ln_f", hidden),
        head=Linear("lm_head", hidden, vocab, component="head"),
        tied=reader.flag("tie_word_embeddings", tied),
    )


def _gpt_bigcode(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("n_embd", "hidden_size", default=768), reader.size("n_head", default=12)
    head_dim, shared = read_head_dim(reader, hidden, heads), reader.flag("multi_query", True)
    positions = reader.size("n_positions", default=1024)
    kv_heads = 1 if shared else heads
    layer = Layer(
        attention=Attention(
            name="attn",
            heads=heads,
            kv_heads=kv_heads,
            head_dim=head_dim,
            inputs=(Linear("c_attn", hidden, hidden + 2 * kv_heads * head_dim, bias=True),),
            output=Linear("c_proj", hidden, hidden, bias=True),
            fused="by_part" if shared else "by_head",
            dropout=reader.fraction("attn_pdrop", 0.1),
        ),
        mlp=_mlp(
            ("c_fc", "c_proj"),
            hidden,
            reader.optional_size("n_inner") or 4 * hidden,
            read_activation(reader, "gelu_pytorch_tanh", "activation_function"),
            bias=True,
        ),
        attention_norm=_norm("ln_1", hidden),
        mlp_norm=_norm("ln_2", hidden),
        dropout=reader.fraction("resid_pdrop", 0.1),
        holds_attention=True,
    )
    return replace(
        _decoder(reader, hidden, ((layer, reader.size("n_layer", default=12)),), tied=True),
        positions=Table("wpe", positions, hidden),
        embedding_dropout=reader.fraction("embd_pdrop", 0.1),
        buffers=(positions * positions,),
        loss_was_narrow=True,
    )


def _gptj(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("n_embd", "hidden_size", default=4096), reader.size("n_head", default=16)
    turned = reader.optional_size("rotary_dim", 64)
    head_dim, positions = read_head_dim(reader, hidden, heads), reader.size("n_positions", default=2048)
    layer = Layer(
        attention=Attention(
            name="attn",
            heads=heads,
            kv_heads=heads,
            head_dim=head_dim,
            inputs=tuple(Linear(name, hidden, hidden) for name in ("q_proj", "k_proj", "v_proj")),
            output=Linear("out_proj", hidden, hidden),
            rotary_dim=turned or head_dim,
            rotary=Rotary(joins=turned is not None, pairs=True, spread="each", inline=True, by_token=True, stored=True),
            dropout=reader.fraction("attn_pdrop", 0.0),
            scores_in_fp32=True,
        ),
        mlp=_mlp(
            ("fc_in", "fc_out"),
            hidden,
            reader.optional_size("n_inner") or 4 * hidden,
            read_activation(reader, "gelu_new", "activation_function"),
            bias=True,
        ),
        attention_norm=_norm("ln_1", hidden),
        mlp_norm=None,
        parallel=True,
        dropout=reader.fraction("resid_pdrop", 0.0),
    )
    model = _decoder(reader, hidden, ((layer, reader.size("n_layer", default=28)),), tied=False)
    return replace(
        model,
        head=replace(model.head, bias=True),
        embedding_dropout=reader.fraction("embd_pdrop", 0.0),
        buffers=(4 * positions * (turned or hidden),),
    )


def _codegen(reader: ConfigReader) -> Architecture:
    """GPT-J with one product for queries, values and keys, cut within each of four parts of it."""
    model = _gptj(reader)
    (layer, count), hidden = model.layers[0], model.hidden_size
    attention = layer.attention
    assert isinstance(attention, Attention), "GPT-J has no other"
    attention = replace(
        attention,
        inputs=(Linear("qkv_proj", hidden, 3 * hidden),),
        fused="by_shard",
        rotary=replace(attention.rotary, fp32_tables=True),
    )
    return replace(model, layers=((replace(layer, attention=attention), count),))


def _gpt_neo(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("hidden_size", default=2048), reader.size("num_heads", default=16)
    positions = reader.size("max_position_embeddings", default=2048)
    # Local and global layers differ in what their causal buffer holds, not in what they keep.
    layer = Layer(
        attention=Attention(
            name="attn.attention",
            heads=heads,
            kv_heads=heads,
            head_dim=read_head_dim(reader, hidden, heads),
            inputs=tuple(Linear(name, hidden, hidden) for name in ("q_proj", "k_proj", "v_proj")),
            output=Linear("out_proj", hidden, hidden, bias=True),
            dropout=reader.fraction("attention_dropout", 0.0),
            scores="gpt_neo",
        ),
        mlp=_mlp(
            ("c_fc", "c_proj"),
            hidden,
            reader.optional_size("intermediate_size") or 4 * hidden,
            read_activation(reader, "gelu_new", "activation_function"),
            bias=True,
        ),
        attention_norm=_norm("ln_1", hidden),
        mlp_norm=_norm("ln_2", hidden),
        dropout=reader.fraction("resid_dropout", 0.0),
        holds_attention=True,
        buffers=(positions * positions,),
    )
    return replace(
        _decoder(reader, hidden, ((layer, reader.size("num_layers", default=24)),), tied=True),
        positions=Table("wpe", positions, hidden),
        embedding_dropout=reader.fraction("embed_dropout", 0.0),
    )


def _bloom(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("hidden_size", "n_embed", default=64), reader.size("n_head", default=8)
    layer = Layer(
        attention=Attention(
            name="self_attention",
            heads=heads,
            kv_heads=heads,
            head_dim=read_head_dim(reader, hidden, heads),
            inputs=(Linear("query_key_value", hidden, 3 * hidden, bias=True),),
            output=Linear("dense", hidden, hidden, bias=True),
            fused="by_index",
            dropout=reader.fraction("attention_dropout", 0.0),
            scores="bloom",
        ),
        mlp=_mlp(("dense_h_to_4h", "dense_4h_to_h"), hidden, 4 * hidden, "bloom_gelu", bias=True),
        attention_norm=_norm("input_layernorm", hidden),
        mlp_norm=_norm("post_attention_layernorm", hidden),
        dropout=reader.fraction("hidden_dropout", 0.0),
        holds_norm="until_next",
    )
    return replace(
        _decoder(reader, hidden, ((layer, reader.size("n_layer", default=2)),), tied=True),
        embedding_norm=_norm("word_embeddings_layernorm", hidden),
    )


def _mpt(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("d_model", default=2048), reader.size("n_heads", default=16)
    own = reader.part("attn_config")
    layer = Layer(
        attention=Attention(
            name="attn",
            heads=heads,
            kv_heads=heads,
            head_dim=read_head_dim(reader, hidden, heads),
            inputs=(Linear("Wqkv", hidden, 3 * hidden),),
            output=Linear("out_proj", hidden, hidden),
            fused="by_part",
            dropout=own.fraction("attn_pdrop", 0.0),
            scores="mpt",
            bias_distances=reader.size("max_seq_len", default=2048),
        ),
        mlp=_mlp(("up_proj", "down_proj"), hidden, 4 * hidden, "gelu", bias=False),
        attention_norm=_norm("norm_1", hidden, bias=False),
        mlp_norm=_norm("norm_2", hidden, bias=False),
        dropout=own.fraction("attn_pdrop", 0.0),
        holds_attention=True,
        holds_norm="until_next",
    )
    model = _decoder(reader, hidden, ((layer, reader.size("n_layers", default=24)),), tied=True)
    return replace(model, final_norm=_norm("norm_f", hidden, bias=False))


def _falcon(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("hidden_size", default=4544), reader.size("num_attention_heads", default=71)
    bias, parallel = reader.flag("bias", False), reader.flag("parallel_attn", True)
    newer = reader.flag("new_decoder_architecture", False)
    norms = reader.optional_size("num_ln_in_parallel_attn") or (2 if newer else 1)
    if not parallel:
        names: tuple[str, str | None] = ("input_layernorm", "post_attention_layernorm")
    else:
        names = ("ln_attn", "ln_mlp") if norms == 2 else ("input_layernorm", None)
    layer = Layer(
        attention=_falcon_attention(reader, hidden, heads, bias=bias, newer=newer),
        mlp=_mlp(
            ("dense_h_to_4h", "dense_4h_to_h"),
            hidden,
            reader.optional_size("ffn_hidden_size") or 4 * hidden,
            read_activation(reader, "gelu", "activation"),
            bias=bias,
            transposed=True,
        ),
        attention_norm=_norm(names[0], hidden),
        mlp_norm=_norm(names[1], hidden) if names[1] else None,
        parallel=parallel or newer,
        dropout=reader.fraction("hidden_dropout", 0.0),
        holds_attention=True,
        holds_norm="until_end",
    )
    model = _decoder(reader, hidden, ((layer, reader.size("num_hidden_layers", default=32)),), tied=True)
    unread = reader.flag("alibi", False)  # frequencies of positions come with the model, though biases replace them
    return replace(model, buffers=(2 * read_head_dim(reader, hidden, heads),) * 2 if unread else ())


def _falcon_attention(reader: ConfigReader, hidden: int, heads: int, *, bias: bool, newer: bool) -> Attention:
    head_dim, alibi = read_head_dim(reader, hidden, heads), reader.flag("alibi", False)
    if newer:
        kv_heads = reader.optional_size("num_kv_heads") or heads
    else:
        kv_heads = 1 if reader.flag("multi_query", True) else heads
    return Attention(
        name="self_attention",
        heads=heads,
        kv_heads=heads if newer else kv_heads,
        head_dim=head_dim,
        inputs=(Linear("query_key_value", hidden, (heads + 2 * kv_heads) * head_dim, bias, transposed=True),),
        output=Linear("dense", hidden, hidden, bias, transposed=True),
        fused="grouped" if newer else "by_index" if kv_heads == heads else "one_pair",
        rotary_dim=0 if alibi else head_dim,
        dropout=reader.fraction("attention_dropout", 0.0) if alibi else 0.0,
        scores="falcon",
        alibi=alibi,
        groups=heads // kv_heads,
    )


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "gpt_bigcode": _gpt_bigcode,
    "gptj": _gptj,
    "codegen": _codegen,
    "gpt_neo": _gpt_neo,
    "bloom": _bloom,
    "mpt": _mpt,
    "falcon": _falcon,
}
"""Model types with a composition of their own."""
