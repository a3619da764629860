"""Hybrids of attention with short convolutions and state spaces. State spaces are walked by their nearest relative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memplan.architecture.composing import compose_decoder, gated_mlp, pre_norm_layer, read_activation, read_attention
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.expert_parts import Experts, Router
from memplan.architecture.families.experts import CORRECTED, after_dense_layers, dense, read_experts, runs, with_shared
from memplan.architecture.families.latent import read_latent_attention
from memplan.architecture.families.mamba2 import CAVEAT as FUSED
from memplan.architecture.families.mamba2 import Sizes, read_mamba2
from memplan.architecture.linear_parts import KimiDelta, Mamba, Nothing, ShortConvolution, StateSpace
from memplan.architecture.parts import Architecture, Layer, Linear, Mlp, Norm, Weight
from memplan.architecture.positions import Rotary
from memplan.errors import ConfigError
from memplan.plan.problems import shown

CAVEAT = (
    "State-space layers are walked as fused kernels keep their tensors, not traced; "
    "without those kernels PyTorch's own path takes several times as much."
)
KIMI = (
    "Kimi Delta Attention is counted on a device as the fused kernels of flash-linear-attention keep its tensors, not "
    "traced; PyTorch's own path, which runs without them, is traced and takes several times as much."
)


def layer_names(reader: ConfigReader, key: str) -> list[str]:
    """What each layer is called.

    Raises:
        ConfigError: not every layer has a name.
    """
    names = reader.listed(key)
    if names is None or len(names) != reader.size("num_hidden_layers"):
        raise ConfigError("it does not name every layer", place=f"{reader.place}.{key}")
    return [str(name) for name in names]


def _lfm2(reader: ConfigReader) -> Architecture:
    hidden, width = reader.size("hidden_size"), reader.size("intermediate_size")
    if reader.flag("block_auto_adjust_ff_dim", True):
        multiple, factor = reader.size("block_multiple_of", default=256), reader.factor("block_ffn_dim_multiplier")
        width = int(2 * width / 3)
        if factor is not None:
            width = -(-int(factor * width) // multiple) * multiple
    attention = read_attention(reader, qkv_bias=False, out_bias=False, qk_norm="rms")
    attention = replace(attention, output=replace(attention.output, name="out_proj"))
    convolution = short_convolution(reader)
    mlp = gated_mlp("feed_forward", hidden, width, "silu")
    mlp = replace(
        mlp,
        gate=Linear("w1", hidden, width, component="mlp"),
        up=Linear("w3", hidden, width, component="mlp"),
        down=Linear("w2", width, hidden, component="mlp"),
    )
    convolves, attends = pre_norm_layer(reader, convolution, mlp), pre_norm_layer(reader, attention, mlp)
    order = runs(convolves if name == "conv" else attends for name in layer_names(reader, "layer_types"))
    return compose_decoder(reader, order, tied_default=True)


def short_convolution(reader: ConfigReader, *, kernel: int = 3) -> ShortConvolution:
    """LFM2's, over the hidden size."""
    hidden, bias = reader.size("hidden_size"), reader.flag("conv_bias", False)
    return ShortConvolution(
        name="conv",
        inputs=(Linear("in_proj", hidden, 3 * hidden, bias),),
        output=Linear("out_proj", hidden, hidden, bias),
        width=hidden,
        kernel=reader.size("conv_L_cache", default=kernel),
    )


def _jamba_mixer(reader: ConfigReader) -> Mamba:
    hidden = reader.size("hidden_size")
    inner, bias = reader.size("mamba_expand", default=2) * hidden, reader.flag("mamba_proj_bias", False)
    state, rank = reader.size("mamba_d_state", default=16), _rank(reader, hidden)
    return Mamba(
        name="mamba",
        inputs=(Linear("in_proj", hidden, 2 * inner, bias),),
        inner=(Linear("x_proj", inner, rank + 2 * state), Linear("dt_proj", rank, inner, bias=True, bypassed=True)),
        output=Linear("out_proj", inner, hidden, bias),
        width=inner,
        kernel=reader.size("mamba_d_conv", default=4),
        state=inner * state,
        state_size=state,
        conv_bias=reader.flag("mamba_conv_bias", True),
        norms="with_gain",
    )


def _rank(reader: ConfigReader, hidden: int) -> int:
    """The width of time steps before they are widened; older configs say "auto"."""
    auto = -(-hidden // 16)
    return auto if reader.config.get("mamba_dt_rank") == "auto" else reader.size("mamba_dt_rank", default=auto)


def _jamba(reader: ConfigReader) -> Architecture:
    mamba, count = _jamba_mixer(reader), reader.size("num_hidden_layers")
    attention = replace(read_attention(reader, qkv_bias=False, out_bias=False, default_kv_heads=8), rotary_dim=0)
    router = Router(name="router", normalised=False, scores_in_input_dtype=True)
    experts = read_experts(reader, router, count="num_experts", width="intermediate_size", adapter_names="none")
    plain = dense(reader, experts.width, experts)
    kinds = {
        (attends, sparse): pre_norm_layer(reader, attention if attends else mamba, experts if sparse else plain)
        for attends in (True, False)
        for sparse in (True, False)
    }
    period = reader.size("attn_layer_period", default=8), reader.size("expert_layer_period", default=2)
    offset = reader.whole("attn_layer_offset", 4), reader.whole("expert_layer_offset", 1)
    order = runs(kinds[i % period[0] == offset[0], i % period[1] == offset[1]] for i in range(count))
    return replace(compose_decoder(reader, order), caveat=FUSED)


_NEMOTRON = {"M": "mamba", "E": "moe", "*": "attention", "-": "mlp"}
_NEMOTRON_NEWER = {"linear_attention": "mamba", "full_attention": "attention"}
"""What transformers 5.24 writes for them."""


_NEMOTRON_SIZES = Sizes(
    name="mixer",
    heads=("mamba_num_heads", 128),
    head_dim=("mamba_head_dim", 64),
    groups=("n_groups", 8),
    state=("ssm_state_size", 128),
    kernel=("conv_kernel", 4),
    chunk=("chunk_size", 128),
    bias="use_bias",
    conv_bias="use_conv_bias",
)


def _nemotron_h(reader: ConfigReader) -> Architecture:
    hidden = reader.size("hidden_size")
    inner = reader.size("mamba_num_heads", default=128) * reader.size("mamba_head_dim", default=64)
    pattern = reader.config.get("hybrid_override_pattern")
    names = [_NEMOTRON.get(one, "mlp") for one in pattern] if isinstance(pattern, str) else None
    if names is None:
        names = [str(one) for one in reader.listed("layers_block_type") or ()]
    attention = read_attention(_with_head_dim(reader), qkv_bias=False, out_bias=False, default_kv_heads=8)
    attention = replace(attention, rotary_dim=0)
    # The gain is cast to fp32, as Gemma's is.
    norm, nothing = (
        Norm("norm", "gemma_rms", hidden),
        Nothing(name="none", inputs=(), output=Linear("none", hidden, hidden)),
    )
    layers: dict[str, Layer] = {
        "mamba": Layer(
            attention=read_mamba2(reader, _NEMOTRON_SIZES, inner=inner), mlp=None, attention_norm=norm, mlp_norm=None
        ),
        "attention": Layer(attention=attention, mlp=None, attention_norm=norm, mlp_norm=None),
    }
    if "mlp" in names:
        mlp = _plain(reader, "mixer", reader.size("intermediate_size"))
        layers["mlp"] = Layer(attention=nothing, mlp=mlp, attention_norm=None, mlp_norm=norm)
    if "moe" in names:
        layers["moe"] = Layer(attention=nothing, mlp=_nemotron_experts(reader), attention_norm=None, mlp_norm=norm)
    names = [_NEMOTRON_NEWER.get(name, name) for name in names]
    if not names or (wrong := next((name for name in names if name not in layers), None)):
        words = f"found {shown(wrong)}; allowed are {', '.join(_NEMOTRON.values())}" if names else "it names no layer"
        raise ConfigError(words, place=f"{reader.place}.layers_block_type")
    order = runs(layers[name] for name in names)
    model = replace(compose_decoder(reader, order, norm="gemma_rms"), wide_logits=True)
    return replace(model, caveat=FUSED) if "mamba" in names else model


def _with_head_dim(reader: ConfigReader) -> ConfigReader:
    """Older configs call it attention_head_dim; with neither, transformers takes 128."""
    width = reader.config.get("head_dim") or reader.config.get("attention_head_dim") or 128
    return ConfigReader({**reader.config, "head_dim": width})


def _plain(reader: ConfigReader, name: str, width: int) -> Mlp:
    hidden = reader.size("hidden_size")
    return Mlp(
        name=name,
        up=Linear("up_proj", hidden, width, component="mlp"),
        down=Linear("down_proj", width, hidden, component="mlp"),
        activation="relu2",
        width=width,
    )


def _nemotron_experts(reader: ConfigReader) -> Experts:
    experts = read_experts(
        reader, CORRECTED, count="n_routed_experts", width="moe_intermediate_size", adapter_names="none"
    )
    shared = _plain(reader, "mixer.shared_experts", reader.size("moe_shared_expert_intermediate_size"))
    latent = reader.optional_size("moe_latent_size")
    return replace(experts, activation="relu2", gated=False, shared=shared, latent=latent)


def _minimax(reader: ConfigReader) -> Architecture:
    hidden, heads = reader.size("hidden_size"), reader.size("num_attention_heads")
    attention = read_attention(reader, qkv_bias=False, out_bias=False, default_kv_heads=8)
    wide = heads * attention.head_dim
    lightning = StateSpace(
        name="self_attn",
        inputs=(Linear("qkv_proj", hidden, 3 * wide), Linear("output_gate", hidden, wide)),
        output=Linear("out_proj", wide, hidden),
        width=3 * wide,
        kernel=0,
        state=wide * attention.head_dim,
        state_dtype="",
        others=(Weight("norm.weight", (wide,), "norms"),),
    )
    experts = read_experts(
        reader, Router(), count="num_local_experts", width="intermediate_size", adapter_names="mixtral"
    )
    linear, full = pre_norm_layer(reader, lightning, experts), pre_norm_layer(reader, attention, experts)
    order = runs(linear if name == "linear_attention" else full for name in layer_names(reader, "layer_types"))
    return replace(compose_decoder(reader, order), caveat=CAVEAT.replace("State-space", "Lightning attention"))


def _of_checkpoint(reader: ConfigReader) -> ConfigReader:
    """The config with what Kimi Linear's checkpoints say in `linear_attn_config` under transformers' own names.

    Source: transformers 5.24, models/kimi_linear/configuration_kimi_linear.py (layers are counted from 1 there).
    """
    own, count = reader.part("linear_attn_config"), reader.size("num_hidden_layers")
    renamed = {"head_dim": "linear_head_dim", "num_heads": "linear_num_heads"}
    renamed["short_conv_kernel_size"] = "linear_conv_kernel_dim"
    found: dict[str, Any] = {new: own.size(old) for old, new in renamed.items() if own.config.get(old) is not None}
    if reader.config.get("layer_types") is None:
        attends, recurs = own.layer_numbers("full_attn_layers"), own.layer_numbers("kda_layers")
        if attends is None or recurs is None:
            attends = [number for number in range(2, count + 1) if number % 4 == 1]
            recurs = sorted({*range(1, count + 1)}.difference(attends))
        if sorted([*attends, *recurs]) != list(range(1, count + 1)):
            raise ConfigError("full_attn_layers and kda_layers do not name each layer once", place=own.place)
        found["layer_types"] = [
            "full_attention" if number in attends else "linear_attention" for number in range(1, count + 1)
        ]
    return ConfigReader({**reader.config, **found}, reader.place)


def _kimi_linear(reader: ConfigReader) -> Architecture:
    reader = _of_checkpoint(reader)
    hidden = reader.size("hidden_size")
    heads, width = reader.size("linear_num_heads", default=32), reader.size("linear_head_dim", default=128)
    wide = heads * width
    delta = KimiDelta(
        name="self_attn",
        heads=heads,
        head_dim=width,
        inputs=(
            *(Linear(name, hidden, wide) for name in ("q_proj", "k_proj", "v_proj")),
            Linear("b_proj", hidden, heads),
            Linear("f_a_proj", hidden, width),
            Linear("g_a_proj", hidden, width),
        ),
        inner=(Linear("f_b_proj", width, wide), Linear("g_b_proj", width, wide)),
        output=Linear("o_proj", wide, hidden),
        width=3 * wide,
        kernel=reader.size("linear_conv_kernel_dim", default=4),
        state=wide * width,
        others=(
            Weight("dt_bias", (wide,), "attention", held_in="fp32"),
            Weight("A_log", (heads,), "attention"),
            Weight("o_norm.weight", (width,), "norms"),
        ),
    )
    attention = read_latent_attention(reader, Rotary())
    attention = replace(attention, rotary_dim=0, shared_dim=attention.rotary_dim)
    experts = read_experts(
        reader,
        CORRECTED,
        count="num_experts",
        width="moe_intermediate_size",
        per_token="num_experts_per_token",
        adapter_names="none",
    )
    experts = with_shared(reader, experts, "num_shared_experts")
    plain = gated_mlp("mlp", hidden, reader.size("intermediate_size"), read_activation(reader, "silu", "hidden_act"))
    sparse = after_dense_layers(reader, 1)
    names = layer_names(reader, "layer_types")
    kinds = {
        (attends, one): pre_norm_layer(reader, attention if attends else delta, experts if one else plain)
        for attends in (True, False)
        for one in (True, False)
    }
    order = runs(kinds[name == "full_attention", one] for name, one in zip(names, sparse, strict=True))
    return replace(compose_decoder(reader, order), caveat=KIMI)


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "jamba": _jamba,
    "kimi_linear": _kimi_linear,
    "lfm2": _lfm2,
    "minimax": _minimax,
    "nemotron_h": _nemotron_h,
}
"""Model types with a composition of their own."""
