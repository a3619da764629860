"""Gemma 3n and 4: inputs made for each layer, keys and values that layers share. Gemma 3n: several residual streams.
Gemma 4: heads of two widths, experts beside an MLP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from memplan.architecture.composing import (
    compose_decoder,
    gated_mlp,
    read_activation,
    runs_of,
    sliding_layers,
    text_part,
)
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.expert_parts import BesideMlp, Experts, Router
from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp, Norm, Table, Weight
from memplan.architecture.positions import Rotary
from memplan.architecture.shared_parts import LayerInput, LayerInputs, NamedMlp, Streams
from memplan.errors import ConfigError
from memplan.number_style import number
from memplan.plan.problems import shown

Sharing = tuple[str, bool, tuple[tuple[int, int], ...]]
"""Whether a layer gives or takes keys and values, whether a gradient of them waits, and what else waits."""


ALONE: Sharing = ("no", False, ())


@dataclass(frozen=True)
class _Plan:
    """Which layers slide, and which of them share keys and values."""

    slides: tuple[bool, ...]
    own: int
    """So many first layers have keys and values of their own."""
    heads: tuple[tuple[int, int], tuple[int, int]]
    """Heads of keys and values and their width: of full layers, of those that slide."""

    @cached_property
    def givers(self) -> dict[bool, int]:
        """The last layer of each kind that has keys and values of its own."""
        return {kind: index for index, kind in enumerate(self.slides[: self.own])}

    def sharing(self, index: int) -> Sharing:
        """What layer `index` shares. Gradients wait from the last layer that takes to the one that gave."""
        kind = self.slides[index]
        shares = "takes" if index >= self.own else "gives" if self.givers[kind] == index else "no"
        waiting = {
            one: giver <= index and one in self.slides[max(index + 1, self.own) :] for one, giver in self.givers.items()
        }
        others = tuple(self.heads[one] for one, waits in waiting.items() if waits and (one != kind or shares == "no"))
        return shares, shares != "no" and waiting[kind], others


def _plan(reader: ConfigReader, heads: tuple[tuple[int, int], tuple[int, int]], slides: list[bool]) -> _Plan:
    count, shared = len(slides), reader.whole("num_kv_shared_layers", 0)
    plan = _Plan(tuple(slides), count - shared, heads)
    if shared >= count or set(plan.givers) != set(slides):
        raise ConfigError(
            f"{shared} of {count} layers share keys and values, which leaves none of their kind that has some",
            place=f"{reader.place}.num_kv_shared_layers",
            remedy="Use the model's own config.json.",
        )
    return plan


def _attention(
    reader: ConfigReader, heads: tuple[int, int], sharing: Sharing, slides: bool, key_is_value: bool
) -> Attention:
    hidden, count, bias = reader.size("hidden_size"), reader.size("num_attention_heads"), _bias(reader)
    (kv_heads, width), (shares, waits, _) = heads, sharing
    names = ("k_proj",) if key_is_value else ("k_proj", "v_proj")
    if count % kv_heads:
        raise ConfigError(
            f"{count} heads can not be shared by {kv_heads} key and value heads",
            place=f"{reader.place}.num_key_value_heads",
        )
    own = [Linear(name, hidden, kv_heads * width, bias) for name in names]
    return Attention(
        name="self_attn",
        heads=count,
        kv_heads=kv_heads,
        head_dim=width,
        inputs=(Linear("q_proj", hidden, count * width, bias), *(own if shares != "takes" else ())),
        output=Linear("o_proj", count * width, hidden, bias),
        rotary_dim=width,
        rotary=Rotary(table=1 if slides else 0),
        query_norm=Norm("q_norm", "power_rms", width),
        key_norm=Norm("k_norm", "power_rms", width) if shares != "takes" else None,
        value_norm=Norm("v_norm", "power_rms", width, affine=False),
        shares=shares,  # type: ignore[arg-type]
        waits=waits,
        dropout=reader.fraction("attention_dropout", 0.0),
        window=reader.size("sliding_window", default=512) if slides else None,
    )


def _bias(reader: ConfigReader) -> bool:
    return reader.flag("attention_bias", False)


def _composed(reader: ConfigReader, layers: Iterable[Layer], *, capped: bool) -> Architecture:
    return compose_decoder(
        reader,
        runs_of(layers),
        norm="power_rms",
        tied_default=True,
        embedding_scale="buffer",
        logits_softcap=capped,
    )


def _gemma4(reader: ConfigReader) -> Architecture:
    reader = text_part(reader)
    kv_heads, width = reader.size("num_key_value_heads", default=4), reader.size("head_dim", default=256)
    key_is_value = reader.flag("attention_k_eq_v", False)
    full = _full_layers(reader)
    full_heads = full.size("num_key_value_heads", default=kv_heads) if key_is_value else kv_heads
    heads = (full_heads, full.size("head_dim", default=512)), (kv_heads, width)
    slides = sliding_layers(reader, lambda index: (index + 1) % 6 != 0)
    plan = _plan(reader, heads, [*slides[:-1], False])
    inputs = _layer_inputs(reader)
    kinds: dict[tuple[bool, bool, Sharing], Layer] = {}
    count = len(plan.slides)

    def layer(index: int) -> Layer:
        slides, sharing, last = plan.slides[index], plan.sharing(index), index == count - 1
        met = slides, last, sharing
        if met not in kinds:
            attention = _attention(reader, heads[slides], sharing, slides, key_is_value and not slides)
            wide = reader.flag("use_double_wide_mlp", False) and sharing[0] == "takes"
            kinds[met] = _layer(reader, attention, _mlp(reader, 2 if wide else 1), inputs, sharing, last=last)
        return kinds[met]

    capped = reader.config.get("final_logit_softcapping") is not None
    model = _composed(reader, map(layer, range(count)), capped=capped)
    return replace(model, layer_inputs=inputs, buffers=(1,) if inputs is not None else ())


def _full_layers(reader: ConfigReader) -> ConfigReader:
    """Heads of full layers, where they differ: as published, or as transformers 5.24 saves them, layer by layer."""
    by_layer = reader.part("per_layer_config")
    for key, value in by_layer.config.items():
        if isinstance(value, Mapping):
            return by_layer.part(key)
    names = {"num_key_value_heads": "num_global_key_value_heads", "head_dim": "global_head_dim"}
    return ConfigReader({**reader.config, **{own: reader.config.get(key) for own, key in names.items()}}, reader.place)


def _gemma4_unified(reader: ConfigReader) -> Architecture:
    """Gemma 4 without inputs of the layers' own."""
    own = {"hidden_size_per_layer_input": 0, "sliding_window": 1024, "enable_moe_block": False}
    return _gemma4(ConfigReader({**own, **reader.config}, reader.place))


def _gemma3n(reader: ConfigReader) -> Architecture:
    reader = text_part(reader)
    count = reader.size("num_hidden_layers")
    own = reader.size("num_key_value_heads", default=2), reader.size("head_dim", default=256)
    if reader.config.get("num_kv_shared_layers") is None:
        reader = ConfigReader({**reader.config, "num_kv_shared_layers": 15}, reader.place)
    plan = _plan(reader, (own, own), sliding_layers(reader, lambda index: (index + 1) % 5 != 0))
    inputs, streams = _layer_inputs(reader), _streams(reader)
    sparse = _of_layers(reader, "activation_sparsity_pattern") or [index < 10 < count for index in range(count)]
    one_width = not isinstance(reader.config.get("intermediate_size"), list)
    widths = [reader.config.get("intermediate_size", 16_384)] * count if one_width else _widths(reader)
    kinds: dict[tuple[object, ...], Layer] = {}

    def layer(index: int) -> Layer:
        slides, sharing = plan.slides[index], plan.sharing(index) if plan.own < count else ALONE
        plain = _mlp(ConfigReader({**reader.config, "intermediate_size": widths[index]}, reader.place), 1)
        mlp = NamedMlp(**{one.name: getattr(plain, one.name) for one in fields(plain)})
        mlp = replace(mlp, sparse=bool(sparse[index]))
        met = slides, sharing, index == count - 1, mlp
        if met not in kinds:
            attention = _attention(reader, own, sharing, slides, key_is_value=False)
            one = _layer(reader, attention, mlp, inputs, sharing, last=index == count - 1)
            kinds[met] = replace(one, streams=streams, scaled_in_place=False)
        return kinds[met]

    capped = reader.config.get("final_logit_softcapping", 30.0) is not None  # the class's default
    model = _composed(reader, map(layer, range(count)), capped=capped)
    made = replace(inputs, in_place=True) if inputs is not None else None
    return replace(model, streams=streams, layer_inputs=made, buffers=(1, 1, 1))


def _of_layers(reader: ConfigReader, key: str) -> list[Any] | None:
    """A list with something for each layer, as transformers asks for; None when missing."""
    found, count = reader.listed(key), reader.size("num_hidden_layers")
    if found is not None and len(found) != count:
        raise ConfigError(
            f"names {number(len(found))} layers, but num_hidden_layers is {number(count)}",
            place=f"{reader.place}.{key}",
            remedy="Name each layer once.",
        )
    return found


def _widths(reader: ConfigReader) -> list[Any]:
    """Each layer's own width."""
    found = _of_layers(reader, "intermediate_size") or []
    for index, width in enumerate(found):
        if type(width) is not int or width < 1:
            words = f"{shown(width)} is not a whole number from 1"
            raise ConfigError(words, place=f"{reader.place}.intermediate_size[{index}]", remedy="Give a width.")
    return found


def _streams(reader: ConfigReader) -> Streams:
    hidden, count = reader.size("hidden_size"), reader.size("altup_num_inputs", default=4)
    rank = reader.size("laurel_rank", default=64)
    to, back = (
        tuple(Linear(f"{name}.{index}", hidden, hidden, component="embeddings") for index in range(count - 1))
        for name in ("altup_projections", "altup_unembed_projections")
    )
    return Streams(
        count=count,
        router=Linear("modality_router", hidden, count, component="mlp"),
        router_norm=Norm("altup.router_norm", "power_rms", hidden),
        prediction=Linear("prediction_coefs", count, count * count, component="mlp"),
        correction=Linear("correction_coefs", count, count, component="mlp", idle=True),
        laurel=(Linear("linear_left", hidden, rank), Linear("linear_right", rank, hidden)),
        laurel_norm=Norm("laurel.post_laurel_norm", "power_rms", hidden),
        scales=reader.flag("altup_correct_scale", True),
        projections=to,
        unembeddings=back,
    )


def _mlp(reader: ConfigReader, times: int) -> Mlp:
    width = reader.size("intermediate_size") * times
    activation = read_activation(reader, "gelu_pytorch_tanh", "hidden_activation")
    return gated_mlp("mlp", reader.size("hidden_size"), width, activation)


def _layer(
    reader: ConfigReader, attention: Attention, mlp: Mlp, inputs: LayerInputs | None, sharing: Sharing, *, last: bool
) -> Layer:
    hidden, own = reader.size("hidden_size"), None
    feed_forward: Mlp | Experts = mlp
    if reader.flag("enable_moe_block", False):
        feed_forward = _experts(reader, mlp)
    if inputs is not None:
        own = LayerInput(
            made_by=inputs,
            gate=Linear("per_layer_input_gate", hidden, inputs.width, component="mlp"),
            projection=Linear("per_layer_projection", inputs.width, hidden, component="mlp"),
            norm=Norm("post_per_layer_input_norm", "power_rms", hidden),
            activation=mlp.activation,
            waits=not last,
        )
    return Layer(
        attention=attention,
        mlp=feed_forward,
        attention_norm=Norm("input_layernorm", "power_rms", hidden),
        attention_out_norm=Norm("post_attention_layernorm", "power_rms", hidden),
        mlp_norm=Norm("pre_feedforward_layernorm", "power_rms", hidden),
        mlp_out_norm=Norm("post_feedforward_layernorm", "power_rms", hidden),
        layer_input=own,
        scaled_in_place=True,
        waiting=sharing[2],
        buffers=(1,),
    )


def _experts(reader: ConfigReader, mlp: Mlp) -> Experts:
    hidden, count = reader.size("hidden_size"), reader.size("num_experts")
    chosen = reader.size("top_k_experts")
    if chosen > count:
        raise ConfigError(f"{chosen} of {count} experts for each token", place=f"{reader.place}.top_k_experts")
    names = ("post_feedforward_layernorm_1", "pre_feedforward_layernorm_2", "post_feedforward_layernorm_2")
    first, second, third = (Norm(name, "power_rms", hidden) for name in names)
    return Experts(
        name="",
        count=count,
        per_token=chosen,
        hidden=hidden,
        width=reader.size("moe_intermediate_size"),
        activation=mlp.activation,
        router=Router(),
        shared=mlp,
        beside=BesideMlp(
            norms=(first, second, third),
            router=Linear("router.proj", hidden, count, component="experts"),
            scales=(
                Weight("router.scale", (hidden,), "experts"),
                Weight("router.per_expert_scale", (count,), "experts"),
            ),
        ),
    )


def _layer_inputs(reader: ConfigReader) -> LayerInputs | None:
    width, layers = reader.whole("hidden_size_per_layer_input", 256), reader.size("num_hidden_layers")
    if not width:
        return None
    hidden, rows = reader.size("hidden_size"), reader.size("vocab_size_per_layer_input", default=262_144)
    return LayerInputs(
        layers=layers,
        width=width,
        table=Table("embed_tokens_per_layer", rows, layers * width),
        projection=Linear("per_layer_model_projection", hidden, layers * width, component="embeddings"),
        norm=Norm("per_layer_projection_norm", "power_rms", width),
        tokens=Table("embed_tokens", reader.size("vocab_size"), hidden),
        tied=reader.flag("tie_word_embeddings", True),
        cuts_prompts=not reader.model_type.startswith("gemma3n"),
    )


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "gemma3n": _gemma3n,
    "gemma3n_text": _gemma3n,
    "gemma4": _gemma4,
    "gemma4_text": _gemma4,
    "gemma4_unified_text": _gemma4_unified,
}
"""Model types with a composition of their own."""
