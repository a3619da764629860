"""Encoders with a masked-language-model head, and T5: counted exactly, walked as the nearest decoder.

What their walk leaves out (token types, the head's transform, cross-attention) is held and trains, but keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from memplan.architecture.composing import plain_mlp, read_activation, read_head_dim, runs_of, sliding_layers
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp, Norm, Table, Weight
from memplan.architecture.positions import Rotary

_NEAREST = "a decoder of this shape that predicts each next token"
_UNUSED_POSITIONS = {"roberta": 2, "xlm-roberta": 2, "camembert": 2, "data2vec-text": 2}
"""Positions begin behind the padding token's row (transformers, RobertaEmbeddings)."""


def _norm(name: str, size: int, *, bias: bool = True) -> Norm:
    return Norm(name, "layer", size, bias=bias)


def _once(*parts: Linear | Table | Norm) -> Iterator[tuple[Weight, int]]:
    for part in parts:
        for weight in part.weights():
            yield weight, 1


def _bert_layer(
    hidden: int,
    heads: int,
    mlp: Mlp,
    names: tuple[str, str, str, str],
    dropouts: tuple[float, float],
    head_dim: int,
) -> Layer:
    """Norms stand after the residual sums, everything has a bias."""
    q, k, v, out = names
    return Layer(
        attention=Attention(
            name="attention",
            heads=heads,
            kv_heads=heads,
            head_dim=head_dim,
            inputs=(Linear(q, hidden, hidden, True), Linear(k, hidden, hidden, True), Linear(v, hidden, hidden, True)),
            output=Linear(out, hidden, hidden, True),
            dropout=dropouts[1],
            softmax_in_fp32=False,
        ),
        mlp=mlp,
        attention_norm=_norm("attention.output.LayerNorm", hidden),
        mlp_norm=_norm("output.LayerNorm", hidden),
        post_norm=True,
        dropout=dropouts[0],
    )


def _masked_lm(
    reader: ConfigReader, hidden: int, layers: tuple[tuple[Layer, int], ...], *, dropout: float, types: int
) -> Architecture:
    vocab = reader.size("vocab_size")
    further: list[Linear | Table] = [Linear("transform.dense", hidden, hidden, True, "head")]
    further += [Table("token_type_embeddings", types, hidden)] if types else []
    return Architecture(
        model_type=reader.model_type,
        hidden_size=hidden,
        vocab_size=vocab,
        tokens=Table("word_embeddings", vocab, hidden),
        positions=Table(
            "position_embeddings",
            reader.size("max_position_embeddings", default=512),
            hidden,
            unused_rows=_UNUSED_POSITIONS.get(reader.model_type, 0),
        ),
        embedding_norm=_norm("LayerNorm", hidden),
        embedding_dropout=dropout,
        layers=layers,
        final_norm=_norm("transform.LayerNorm", hidden),
        head=Linear("decoder", hidden, vocab, True, "head"),
        tied=reader.flag("tie_word_embeddings", True),
        idle=tuple(_once(*further)),
        known=False,
        nearest=_NEAREST,
        generates=False,
    )


def _bert(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("hidden_size", default=768), reader.size("num_attention_heads", default=12)
    width = reader.size("intermediate_size", default=3072)
    dropouts = reader.fraction("hidden_dropout_prob", 0.1), reader.fraction("attention_probs_dropout_prob", 0.1)
    up, down = Linear("dense", hidden, width, True, "mlp"), Linear("dense", width, hidden, True, "mlp")
    mlp = plain_mlp(up, down, read_activation(reader, "gelu", "hidden_act"))
    names = ("query", "key", "value", "dense")
    layer = _bert_layer(hidden, heads, mlp, names, dropouts, read_head_dim(reader, hidden, heads))
    layers = ((layer, reader.size("num_hidden_layers", default=12)),)
    return _masked_lm(reader, hidden, layers, dropout=dropouts[0], types=reader.size("type_vocab_size", default=2))


def _distilbert(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("dim", default=768), reader.size("n_heads", default=12)
    width = reader.size("hidden_dim", default=3072)
    dropouts = reader.fraction("dropout", 0.1), reader.fraction("attention_dropout", 0.1)
    up, down = Linear("lin1", hidden, width, True, "mlp"), Linear("lin2", width, hidden, True, "mlp")
    mlp = plain_mlp(up, down, read_activation(reader, "gelu", "activation"), name="ffn")
    names = ("q_lin", "k_lin", "v_lin", "out_lin")
    layer = _bert_layer(hidden, heads, mlp, names, dropouts, read_head_dim(reader, hidden, heads))
    layers = ((layer, reader.size("n_layers", default=6)),)
    return _masked_lm(reader, hidden, layers, dropout=dropouts[0], types=0)


def _modernbert_layer(reader: ConfigReader, hidden: int, heads: int, *, slides: bool, first: bool) -> Layer:
    width, head_dim = reader.size("intermediate_size"), read_head_dim(reader, hidden, heads)
    bias, norm_bias = reader.flag("attention_bias", False), reader.flag("norm_bias", False)
    mlp_bias = reader.flag("mlp_bias", False)
    return Layer(
        attention=Attention(
            name="attn",
            heads=heads,
            kv_heads=heads,
            head_dim=head_dim,
            inputs=(Linear("Wqkv", hidden, 3 * hidden, bias),),
            output=Linear("Wo", hidden, hidden, bias),
            fused="by_part",
            rotary_dim=head_dim,
            rotary=Rotary(table=int(slides)),
            dropout=reader.fraction("attention_dropout", 0.0),
            window=reader.size("local_attention", default=128) // 2 + 1 if slides else None,
        ),
        mlp=Mlp(
            name="mlp",
            up=Linear("Wi", hidden, 2 * width, mlp_bias, "mlp"),
            down=Linear("Wo", width, hidden, mlp_bias, "mlp"),
            activation=read_activation(reader, "gelu", "hidden_activation"),
            fused=True,
            width=width,
        ),
        attention_norm=None if first else _norm("attn_norm", hidden, bias=norm_bias),
        mlp_norm=_norm("mlp_norm", hidden, bias=norm_bias),
    )


def _modernbert(reader: ConfigReader) -> Architecture:
    hidden, heads, vocab = reader.size("hidden_size"), reader.size("num_attention_heads"), reader.size("vocab_size")
    norm_bias, every = reader.flag("norm_bias", False), reader.size("global_attn_every_n_layers", default=3)
    kinds = {
        (slides, first): _modernbert_layer(reader, hidden, heads, slides=slides, first=first)
        for slides in (False, True)
        for first in (False, True)
    }
    slides = sliding_layers(reader, lambda index: index % every != 0)
    transform = Linear("head.dense", hidden, hidden, reader.flag("classifier_bias", False), "head")
    return Architecture(
        model_type=reader.model_type,
        hidden_size=hidden,
        vocab_size=vocab,
        tokens=Table("tok_embeddings", vocab, hidden),
        embedding_norm=_norm("norm", hidden, bias=norm_bias),
        embedding_dropout=reader.fraction("embedding_dropout", 0.0),
        layers=runs_of(kinds[one, index == 0] for index, one in enumerate(slides)),
        final_norm=_norm("final_norm", hidden, bias=norm_bias),
        head=Linear("decoder", hidden, vocab, reader.flag("decoder_bias", True), "head"),
        tied=reader.flag("tie_word_embeddings", True),
        idle=tuple(_once(transform, _norm("head.norm", hidden, bias=norm_bias))),
        known=False,
        nearest=_NEAREST,
        generates=False,
    )


def _t5(reader: ConfigReader) -> Architecture:
    """Encoder and decoder layers one after the other, over the same tokens; cross-attention is not walked."""
    hidden, heads, vocab = (
        reader.size("d_model", default=512),
        reader.size("num_heads", default=8),
        reader.size("vocab_size"),
    )
    inner = heads * reader.size("d_kv", default=64)
    encoder = reader.size("num_layers", default=6)
    decoder = reader.size("num_decoder_layers", default=encoder)
    dropout, buckets = reader.fraction("dropout_rate", 0.1), reader.size("relative_attention_num_buckets", default=32)
    layer = Layer(
        attention=Attention(
            name="SelfAttention",
            heads=heads,
            kv_heads=heads,
            head_dim=inner // heads,
            inputs=tuple(Linear(name, hidden, inner) for name in "qkv"),
            output=Linear("o", inner, hidden),
            dropout=dropout,
            scores="mpt",
        ),
        mlp=_t5_mlp(reader, hidden),
        attention_norm=Norm("layer_norm", "rms", hidden),
        mlp_norm=Norm("layer_norm", "rms", hidden),
        dropout=dropout,
    )
    cross: list[Linear | Norm] = [Linear(name, hidden, inner) for name in "qkv"]
    cross += [Linear("o", inner, hidden), Norm("layer_norm", "rms", hidden)]
    walked_not: list[tuple[Weight, int]] = [(weight, decoder) for part in cross for weight in part.weights()]
    walked_not += [(Weight("relative_attention_bias.weight", (buckets, heads), "attention"), 2)]
    walked_not += list(_once(Norm("encoder.final_layer_norm", "rms", hidden)))
    return Architecture(
        model_type=reader.model_type,
        hidden_size=hidden,
        vocab_size=vocab,
        tokens=Table("shared", vocab, hidden),
        embedding_dropout=dropout,
        layers=((layer, encoder + decoder),),
        final_norm=Norm("final_layer_norm", "rms", hidden),
        head=Linear("lm_head", hidden, vocab, component="head"),
        tied=True,  # transformers 5 ties it whatever the configuration says
        idle=tuple(walked_not),
        known=False,
        nearest="encoder and decoder layers one after the other, over the same tokens",
    )


def _t5_mlp(reader: ConfigReader, hidden: int) -> Mlp:
    width, kind = reader.size("d_ff", default=2048), reader.text("feed_forward_proj", "relu")
    down = Linear("wo", width, hidden, component="mlp")
    if not kind.startswith("gated-"):
        up = Linear("wi", hidden, width, component="mlp")
        return Mlp(name="DenseReluDense", up=up, down=down, activation="relu", width=width)
    gate, up = (Linear(name, hidden, width, component="mlp") for name in ("wi_0", "wi_1"))
    return Mlp(name="DenseReluDense", gate=gate, up=up, down=down, activation="gelu_new", width=width)


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "bert": _bert,
    "roberta": _bert,
    "camembert": _bert,
    "data2vec-text": _bert,
    "ernie": _bert,
    "xlm-roberta": _bert,
    "distilbert": _distilbert,
    "modernbert": _modernbert,
    "t5": _t5,
}
"""Model types that are counted by a composition of their own, and walked by the nearest."""
