"""Families with Mamba 2, and how each names its sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from memplan.architecture.composing import (
    compose_decoder,
    gated_mlp,
    pre_norm_layer,
    read_activation,
    read_attention,
    runs_of,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.linear_parts import Beside, Mamba2, StateSpace
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp, Norm
from memplan.architecture.positions import Rotary
from memplan.errors import ConfigError

CAVEAT = (
    "Mamba's layers are counted on a device as the fused kernels of mamba_ssm keep their tensors, not traced; "
    "PyTorch's own path, which runs without them, is traced and takes several times as much."
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Under which keys a family has the sizes of Mamba 2, and what it takes for those that are missing."""

    name: str = "mamba"
    heads: tuple[str, int] = ("mamba_n_heads", 128)
    head_dim: tuple[str, int] = ("mamba_d_head", 64)
    groups: tuple[str, int] = ("mamba_n_groups", 1)
    state: tuple[str, int] = ("mamba_d_state", 256)
    kernel: tuple[str, int] = ("mamba_d_conv", 4)
    chunk: tuple[str, int] = ("mamba_chunk_size", 256)
    bias: str = "mamba_proj_bias"
    conv_bias: str = "mamba_conv_bias"


def read_mamba2(
    reader: ConfigReader,
    sizes: Sizes = Sizes(),
    *,
    inner: int | None = None,
    out_bias: bool | None = None,
    gated: Literal["before_norm", "after_norm", "no_norm"] = "before_norm",
    scaled: bool = False,
) -> Mamba2:
    """The mixer. What it computes with inside is as wide as its heads unless the family says otherwise.

    Raises:
        ConfigError: heads can not share groups, or are not as wide together as what is computed with inside, which
            transformers refuses (validate_architecture of each family's configuration).
    """
    hidden = reader.size("hidden_size")

    def size(key: tuple[str, int]) -> int:
        return reader.size(key[0], default=key[1])

    heads, groups, state = size(sizes.heads), size(sizes.groups), size(sizes.state)
    if heads % groups:
        raise ConfigError(
            f"{heads} heads can not be divided in {groups} groups", place=f"{reader.place}.{sizes.groups[0]}"
        )
    inner = heads * size(sizes.head_dim) if inner is None else inner
    _check_heads(reader, sizes, heads, inner)
    width, bias = inner + 2 * groups * state, reader.flag(sizes.bias, False)
    return Mamba2(
        name=sizes.name,
        inputs=(Linear("in_proj", hidden, inner + width + heads, bias),),
        output=Linear("out_proj", inner, hidden, bias if out_bias is None else out_bias),
        width=width,
        kernel=size(sizes.kernel),
        state=inner * state,
        heads=heads,
        head_dim=inner // heads,
        groups=groups,
        state_size=state,
        chunk=size(sizes.chunk),
        conv_bias=reader.flag(sizes.conv_bias, True),
        gated=gated,
        scaled=scaled,
    )


def _check_heads(reader: ConfigReader, sizes: Sizes, heads: int, inner: int) -> None:
    if inner % heads:
        raise ConfigError(
            f"{inner} values can not be divided among {heads} heads", place=f"{reader.place}.{sizes.heads[0]}"
        )
    key = sizes.head_dim[0]
    if reader.config.get(key) not in (None, "auto") and heads * reader.size(key) != inner:
        words = f"{heads} heads of {reader.size(key)} are not the {inner} values that there are inside"
        raise ConfigError(words, place=f"{reader.place}.{key}")


def _feed_forward(reader: ConfigReader) -> Mlp:
    width, bias = reader.size("intermediate_size"), reader.flag("mlp_bias", False)
    activation = read_activation(reader, "silu", "hidden_act")
    return gated_mlp("feed_forward", reader.size("hidden_size"), width, activation, bias)


def _layer(reader: ConfigReader, mixer: Attention | Mamba2 | Beside, mlp: Mlp) -> Layer:
    layer = pre_norm_layer(reader, mixer, mlp)
    return replace(layer, mlp_norm=Norm("pre_ff_layernorm", "rms", reader.size("hidden_size")))


def _bamba(reader: ConfigReader) -> Architecture:
    """Mamba 2, and attention where `attn_layer_indices` says; positions turn half of each head."""
    bias, count = reader.flag("attention_bias", False), reader.size("num_hidden_layers")
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=8)
    part = reader.part("rope_parameters").fraction(
        "partial_rotary_factor", reader.fraction("partial_rotary_factor", 0.5)
    )
    attention = replace(attention, rotary_dim=int(attention.head_dim * part), rotary=Rotary(joins=True))
    mamba = read_mamba2(reader, inner=reader.size("mamba_expand", default=2) * reader.size("hidden_size"))
    attends, mlp = set(reader.layer_numbers("attn_layer_indices") or ()), _feed_forward(reader)
    kinds = {True: _layer(reader, attention, mlp), False: _layer(reader, mamba, mlp)}
    layers = runs_of(kinds[index in attends] for index in range(count))
    return replace(compose_decoder(reader, layers), caveat=CAVEAT)


def _falcon_h1(reader: ConfigReader) -> Architecture:
    """Each layer has attention and Mamba 2 side by side; nearly everything is multiplied by a number."""
    bias, hidden = reader.flag("attention_bias", False), reader.size("hidden_size")
    attention = read_attention(reader, qkv_bias=bias, out_bias=bias, default_kv_heads=8)
    inner = reader.optional_size("mamba_d_ssm", 1024)
    norm_first = reader.flag("mamba_norm_before_gate", True)
    mamba = read_mamba2(
        reader,
        inner=reader.size("mamba_expand", default=2) * hidden if inner is None else inner,
        out_bias=reader.flag("projectors_bias", False),
        gated=("after_norm" if norm_first else "before_norm") if reader.flag("mamba_rms_norm", False) else "no_norm",
        scaled=True,
    )
    mixer = Beside.of(replace(attention, scaled="keys"), mamba)
    layer = _layer(reader, mixer, replace(_feed_forward(reader), scaled=True))
    columns = mamba.inputs[0].outputs  # a number for each, in 16 bit where weights are
    layer = replace(layer, buffers=(2 * columns,))
    layers = ((layer, reader.size("num_hidden_layers")),)
    return replace(compose_decoder(reader, layers, embedding_scale="number", logits_scale=True), caveat=CAVEAT)


_OWN_SIZES = Sizes(
    name="mixer",
    heads=("num_heads", 128),
    head_dim=("head_dim", 64),
    groups=("n_groups", 8),
    state=("state_size", 128),
    kernel=("conv_kernel", 4),
    chunk=("chunk_size", 256),
    bias="use_bias",
    conv_bias="use_conv_bias",
)


def _mamba2(reader: ConfigReader) -> Architecture:
    """Nothing but Mamba 2, and a norm before it."""
    hidden = reader.size("hidden_size")
    mixer = read_mamba2(reader, _OWN_SIZES, inner=reader.size("expand", default=2) * hidden)
    return only_mixers(reader, mixer)


def only_mixers(reader: ConfigReader, mixer: StateSpace, *, tied: bool = False) -> Architecture:
    """Layers of a norm and a mixer, on a residual that is in fp32 unless the config says otherwise."""
    hidden = reader.size("hidden_size")
    mixer = replace(mixer, wide_residual=reader.flag("residual_in_fp32", True))
    layer = Layer(attention=mixer, mlp=None, attention_norm=Norm("norm", "rms", hidden), mlp_norm=None)
    model = compose_decoder(reader, ((layer, reader.size("num_hidden_layers")),), tied_default=tied)
    return replace(
        model,
        tokens=replace(model.tokens, name="embeddings"),
        final_norm=Norm("norm_f", "rms", hidden),
        wide_logits=True,
        caveat=CAVEAT,
    )


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "bamba": _bamba,
    "falcon_h1": _falcon_h1,
    "mamba2": _mamba2,
}
"""Model types with a composition of their own."""
