"""litgpt's GPT: queries, keys and values by one matrix, positions in fp32 tables, a head of its own.

Source: litgpt 0.5.13, model.py (GPT, Block, CausalSelfAttention, LLaMAMLP, GptNeoxMLP) and lora.py (LoRAQKVLinear).
"""

from __future__ import annotations

from dataclasses import replace

from memplan.architecture.parts import Activation, Architecture, Attention, Layer, Linear, Mlp, Norm
from memplan.architecture.positions import Rotary

_ACTIVATIONS: dict[Activation, Activation] = {
    "silu": "silu",
    "gelu": "gelu",
    "gelu_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
}
"""litgpt runs PyTorch's own gelu where transformers has an older one."""
_NORMS = ("rms", "late_rms", "gemma_rms", "layer")
_CUTS = ("no", "by_part", "by_head")


def of_litgpt(architecture: Architecture) -> Architecture | None:
    """The model as litgpt holds it, or None where it has parts that litgpt's modules are not read for.

    Its configuration never ties the head to the embeddings.
    """
    layers: dict[Layer, Layer] = {}
    for layer in architecture.kinds:
        own = _layer(layer)
        if own is None:
            return None
        layers[layer] = own
    norm = _norm(architecture.final_norm)
    around = (architecture.positions, architecture.projections, architecture.embedding_norm, architecture.idle)
    of_head = (architecture.logits_softcap, architecture.logits_scale, architecture.scales_head_input)
    if norm is None or not _is_known(norm) or any((*around, *of_head, architecture.head_transform)):
        return None
    if len(architecture.rotary_tables) != 1:
        return None
    return replace(
        architecture,
        layers=tuple((layers[layer], count) for layer, count in architecture.layers),
        final_norm=norm,
        tied=False,
        embedding_dropout=0.0,
    )


def _layer(layer: Layer) -> Layer | None:
    attention, mlp = layer.attention, layer.mlp
    if not isinstance(attention, Attention) or not isinstance(mlp, Mlp) or mlp.fused:
        return None
    activation = _ACTIVATIONS.get(mlp.activation)
    own = _attention(attention)
    if own is None or activation is None or layer.post_norm or layer.residual_scale:
        return None
    if attention.inner_norm is not None or mlp.inner_norm is not None or attention.differential:
        return None
    around = (layer.attention_norm, layer.mlp_norm, layer.attention_out_norm, layer.mlp_out_norm)
    if not all(map(_is_known, (*around, own.query_norm, own.key_norm))):
        return None
    return replace(
        layer,
        attention=own,
        mlp=replace(
            mlp,
            gate=_adaptable(mlp.gate) if mlp.gate is not None else None,
            up=_adaptable(mlp.up),
            down=_adaptable(mlp.down),
            activation=activation,
        ),
        dropout=0.0,
        attention_norm=_norm(layer.attention_norm),
        mlp_norm=_norm(layer.mlp_norm),
        attention_out_norm=_norm(layer.attention_out_norm),
        mlp_out_norm=_norm(layer.mlp_out_norm),
        modules_of="litgpt",
    )


def _attention(attention: Attention) -> Attention | None:
    usual = replace(
        attention,
        inputs=(),
        fused="no",
        rotary=Rotary(),
        query_norm=None,
        key_norm=None,
        dropout=0.0,
        window=None,
        softmax_in_fp32=True,
    )
    bare = Attention(
        name=attention.name,
        heads=attention.heads,
        kv_heads=attention.kv_heads,
        head_dim=attention.head_dim,
        inputs=(),
        output=attention.output,
        rotary_dim=attention.rotary_dim,
    )
    if usual != bare or attention.fused not in _CUTS or not attention.rotary_dim:
        return None
    heads = (attention.heads, attention.kv_heads, attention.kv_heads)
    names = [linear.name for linear in attention.inputs]
    names = names if len(names) == 3 else names * 3
    first = attention.inputs[0]
    fused = Linear(
        "qkv",
        first.inputs,
        sum(heads) * attention.head_dim,
        first.bias,
        parts=tuple(zip(names, heads, strict=True)),
    )
    return replace(
        attention,
        inputs=(fused,),
        fused="by_part",
        rotary=Rotary(joins=True, buffered=True),
        query_norm=_norm(attention.query_norm),
        key_norm=_norm(attention.key_norm),
        dropout=0.0,
        window=None,
    )


def _is_known(norm: Norm | None) -> bool:
    """litgpt has two kinds of norms, each with a gain over the whole of its axis."""
    return norm is None or (norm.affine and norm.kind in (*_NORMS, "litgpt_rms") and not norm.heads)


def _norm(norm: Norm | None) -> Norm | None:
    if norm is None or norm.kind == "layer":
        return norm
    return replace(norm, kind="litgpt_rms")


def _adaptable(linear: Linear) -> Linear:
    return replace(linear, adaptable=True)
