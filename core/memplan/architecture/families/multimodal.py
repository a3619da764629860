"""The language models of multimodal configs; what turns images into tokens is counted by `towers`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memplan.architecture.composing import llama_like, read_head_dim, text_part
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.families import gemma, llama, llama_relatives
from memplan.architecture.parts import Architecture, Linear, Table
from memplan.architecture.positions import Rotary
from memplan.architecture.tower_parts import Counted, idle
from memplan.errors import ConfigError


def _gemma3(reader: ConfigReader) -> Architecture:
    return gemma.FAMILIES["gemma3_text"](text_part(reader))


def _mistral3(reader: ConfigReader) -> Architecture:
    text = text_part(reader)
    families = {**llama.FAMILIES, **llama_relatives.FAMILIES}
    return families.get(text.text("model_type", "mistral"), families["mistral"])(text)


def _qwen3_vl(reader: ConfigReader) -> Architecture:
    text = text_part(reader)
    bias = text.flag("attention_bias", False)
    model = llama_like(text, qkv_bias=bias, out_bias=bias, qk_norm="rms", default_kv_heads=32)
    return _with_positions_per_row(model)


def _qwen2_vl(reader: ConfigReader) -> Architecture:
    """Qwen 2 or 2.5 with positions in time, height and width."""
    return _with_positions_per_row(llama.FAMILIES["qwen2"](text_part(reader)))


def _with_positions_per_row(model: Architecture) -> Architecture:
    """Positions in time, height and width are worked out for each row."""
    layers = tuple(
        (replace(layer, attention=replace(layer.attention, rotary=Rotary(per_row=True))), count)
        for layer, count in model.layers
    )
    return replace(model, layers=layers)


def _mllama(reader: ConfigReader) -> Architecture:
    """Llama; the layers that look at images have no part in a training step on text."""
    text = text_part(reader)
    looking = text.layer_numbers("cross_attention_layers")
    count, all_layers = 8 if looking is None else len(looking), text.size("num_hidden_layers", default=40)
    if count >= all_layers:
        raise ConfigError(
            f"{count} of {all_layers} layers look at images", place=f"{text.place}.cross_attention_layers"
        )
    model = llama_like(ConfigReader({**text.config, "num_hidden_layers": all_layers - count}), default_kv_heads=8)
    layer, head_dim = model.layers[0][0], read_head_dim(text, model.hidden_size, text.size("num_attention_heads"))
    cross = tuple((replace(weight, frozen=True), count) for weight in layer.weights())
    gates: tuple[Counted, ...] = ((idle("cross_attn_gate", 1, component="attention"), 2 * count),)
    norms: tuple[Counted, ...] = ((idle("cross_attn.norm.weight", head_dim, component="norms"), 2 * count),)
    return replace(
        model,
        tokens=Table("embed_tokens", model.vocab_size + 8, model.hidden_size),
        head=Linear("lm_head", model.hidden_size, model.vocab_size, component="head"),
        idle=cross + gates + norms,
    )


FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    "gemma3": _gemma3,
    "mistral3": _mistral3,
    "qwen2_vl": _qwen2_vl,
    "qwen2_vl_text": _qwen2_vl,
    "qwen2_5_vl": _qwen2_vl,
    "qwen2_5_vl_text": _qwen2_vl,
    "qwen3_vl": _qwen3_vl,
    "mllama": _mllama,
}
"""Model types with a composition of their own."""
