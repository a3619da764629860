"""Towers that turn images into tokens: their parameters, held beside the language model that training walks.

Text alone does not pass through them, so they keep nothing and, without gradients, never train.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from memplan.architecture.composing import text_part
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.gemma_towers import gemma4_audio, gemma4_vision
from memplan.architecture.parts import Component, Weight

Counted = tuple[Weight, int]


PARTS = ("vision_config", "audio_config")


def towers_of(reader: ConfigReader) -> tuple[tuple[Counted, ...], tuple[str, ...]]:
    """Parameter tensors of a config's towers and projectors, with how often each occurs.

    Returns:
        the tensors, and the keys of towers whose kind is not known: those are not counted.
    """
    found: list[Counted] = []
    unknown: list[str] = []
    for key in PARTS:
        if reader.config.get(key):
            part = reader.part(key)
            kind = part.text("model_type", reader.model_type)
            if kind in _TOWERS:
                found += _TOWERS[kind](reader, part)
            else:
                unknown.append(key)
    return tuple(found), tuple(unknown)


def idle(name: str, *shape: int, component: Component = "embeddings", linear: bool = False) -> Weight:
    """A weight that is held and never trains."""
    return Weight(name, shape, component, linear=linear, frozen=True)


def _linear(name: str, inputs: int, outputs: int, component: Component, count: int, *, bias: bool) -> Iterator[Counted]:
    yield idle(f"{name}.weight", outputs, inputs, component=component, linear=True), count
    if bias:
        yield idle(f"{name}.bias", outputs, component=component), count


def _norm(name: str, size: int, count: int, *, bias: bool = True) -> Iterator[Counted]:
    yield idle(f"{name}.weight", size, component="norms"), count
    if bias:
        yield idle(f"{name}.bias", size, component="norms"), count


def _attention(hidden: int, count: int, *, bias: bool, output: str = "o_proj") -> Iterator[Counted]:
    for name in ("q_proj", "k_proj", "v_proj", output):
        yield from _linear(f"vision.self_attn.{name}", hidden, hidden, "attention", count, bias=bias)


def _mlp(names: tuple[str, ...], hidden: int, width: int, count: int, *, bias: bool) -> Iterator[Counted]:
    *ups, down = names
    for name in ups:
        yield from _linear(f"vision.mlp.{name}", hidden, width, "mlp", count, bias=bias)
    yield from _linear(f"vision.mlp.{down}", width, hidden, "mlp", count, bias=bias)


def _text_width(reader: ConfigReader) -> int:
    return reader.part("text_config").size("hidden_size")


def _siglip(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """SigLIP with Gemma 3's projector."""
    hidden, width = vision.size("hidden_size", default=768), vision.size("intermediate_size", default=3072)
    layers, patch = vision.size("num_hidden_layers", default=12), vision.size("patch_size", default=16)
    patches = (vision.size("image_size", default=224) // patch) ** 2
    yield idle("vision.patch_embedding.weight", hidden, vision.size("num_channels", default=3), patch, patch), 1
    yield idle("vision.patch_embedding.bias", hidden), 1
    yield idle("vision.position_embedding.weight", patches, hidden), 1
    yield from _attention(hidden, layers, bias=True, output="out_proj")
    yield from _mlp(("fc1", "fc2"), hidden, width, layers, bias=True)
    yield from _norm("vision.layer_norm", hidden, 2 * layers + 1)
    yield idle("projector.mm_input_projection_weight", hidden, _text_width(reader), component="mlp"), 1
    yield from _norm("projector.mm_soft_emb_norm", hidden, 1, bias=False)


def _pixtral(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """Pixtral with Mistral 3's projector, which joins patches first."""
    hidden, width = vision.size("hidden_size", default=1024), vision.size("intermediate_size", default=4096)
    layers, patch = vision.size("num_hidden_layers", default=24), vision.size("patch_size", default=16)
    text, joined = _text_width(reader), reader.size("spatial_merge_size", default=2) ** 2
    bias = reader.flag("multimodal_projector_bias", False)
    yield idle("vision.patch_conv.weight", hidden, vision.size("num_channels", default=3), patch, patch), 1
    yield from _attention(hidden, layers, bias=False)
    yield from _mlp(("gate_proj", "up_proj", "down_proj"), hidden, width, layers, bias=False)
    yield from _norm("vision.norm", hidden, 2 * layers + 1, bias=False)
    yield from _norm("projector.norm", hidden, 1, bias=False)
    yield from _linear("projector.merging_layer", joined * hidden, hidden, "mlp", 1, bias=False)
    yield from _linear("projector.linear_1", hidden, text, "mlp", 1, bias=bias)
    yield from _linear("projector.linear_2", text, text, "mlp", 1, bias=bias)


def _qwen_vl(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """Qwen3-VL's tower, with a merger at its end and one at each level that goes into the text's first layers."""
    hidden, width = vision.size("hidden_size", default=1152), vision.size("intermediate_size", default=4304)
    layers, patch = vision.size("depth", default=27), vision.size("patch_size", default=16)
    merged, text = hidden * vision.size("spatial_merge_size", default=2) ** 2, vision.size("out_hidden_size")
    levels = vision.layer_numbers("deepstack_visual_indexes") or []
    frames, channels = vision.size("temporal_patch_size", default=2), vision.size("in_channels", default=3)
    yield idle("vision.patch_embed.proj.weight", hidden, channels, frames, patch, patch), 1
    yield idle("vision.patch_embed.proj.bias", hidden), 1
    yield idle("vision.pos_embed.weight", vision.size("num_position_embeddings", default=2304), hidden), 1
    yield from _linear("vision.attn.qkv", hidden, 3 * hidden, "attention", layers, bias=True)
    yield from _linear("vision.attn.proj", hidden, hidden, "attention", layers, bias=True)
    yield from _mlp(("linear_fc1", "linear_fc2"), hidden, width, layers, bias=True)
    yield from _norm("vision.norm", hidden, 2 * layers + 1)
    yield from _norm("vision.deepstack.norm", merged, len(levels))
    yield from _linear("vision.merger.linear_fc1", merged, merged, "mlp", 1 + len(levels), bias=True)
    yield from _linear("vision.merger.linear_fc2", merged, text, "mlp", 1 + len(levels), bias=True)


def _qwen2_vl(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """Qwen2-VL's tower: layer norms, a plain block; the merger joins patches first."""
    hidden, layers = vision.size("embed_dim", default=1280), vision.size("depth", default=32)
    width = hidden * int(vision.factor("mlp_ratio") or 4)
    yield from _qwen2_merged(reader, vision, hidden, layers, bias=True)
    yield from _mlp(("fc1", "fc2"), hidden, width, layers, bias=True)


def _qwen2_5_vl(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """Qwen2.5-VL's: norms without biases, a gated block."""
    hidden, layers = vision.size("hidden_size", default=3584), vision.size("depth", default=32)
    yield from _qwen2_merged(reader, vision, hidden, layers, bias=False)
    width = vision.size("intermediate_size", default=3420)
    yield from _mlp(("gate_proj", "up_proj", "down_proj"), hidden, width, layers, bias=True)


def _qwen2_merged(
    reader: ConfigReader, vision: ConfigReader, hidden: int, layers: int, *, bias: bool
) -> Iterator[Counted]:
    """Patches, attention, norms and the merger, whose width is that of the text."""
    patch, frames = vision.size("patch_size", default=14), vision.size("temporal_patch_size", default=2)
    channels, merged = vision.size("in_channels", "in_chans", default=3), vision.size("spatial_merge_size", default=2)
    joined, text = hidden * merged**2, text_part(reader).size("hidden_size")
    yield idle("vision.patch_embed.proj.weight", hidden, channels, frames, patch, patch), 1
    yield from _linear("vision.attn.qkv", hidden, 3 * hidden, "attention", layers, bias=True)
    yield from _linear("vision.attn.proj", hidden, hidden, "attention", layers, bias=True)
    yield from _norm("vision.norm", hidden, 2 * layers + 1, bias=bias)
    yield from _linear("vision.merger.mlp.0", joined, joined, "mlp", 1, bias=True)
    yield from _linear("vision.merger.mlp.2", joined, text, "mlp", 1, bias=True)


def _mllama(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """Llama 3.2's tower: layers for each tile, gated layers over all tiles, embeddings for tiles and ratios."""
    hidden, width = vision.size("hidden_size", default=1280), vision.size("intermediate_size", default=5120)
    local, over_all = vision.size("num_hidden_layers", default=32), vision.size("num_global_layers", default=8)
    patch, tiles = vision.size("patch_size", default=14), vision.size("max_num_tiles", default=4)
    rows = (vision.size("image_size", default=448) // patch) ** 2 + 1
    # Ratios of up to so many tiles, and one for none.
    ratios = sum(1 for wide in range(1, tiles + 1) for high in range(1, tiles + 1) if wide * high <= tiles) + 1
    layers = local + over_all
    yield idle("vision.class_embedding", hidden), 1
    yield idle("vision.patch_embedding.weight", hidden, vision.size("num_channels", default=3), patch, patch), 1
    yield idle("vision.positions.embedding", rows, hidden), 1
    yield idle("vision.positions.tile_embedding.weight", ratios, tiles * rows * hidden), 1
    yield idle("vision.tile_embedding.weight", ratios, tiles * hidden), 2
    yield idle("vision.gate", 1), 3 + 2 * over_all
    yield from _attention(hidden, layers, bias=False)
    yield from _mlp(("fc1", "fc2"), hidden, width, layers, bias=True)
    yield from _norm("vision.norm", hidden, 2 * layers + 2)
    yield from _linear(
        "projector", vision.size("vision_output_dim", default=7680), _text_width(reader), "mlp", 1, bias=True
    )


def _gemma4_vision(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    return gemma4_vision(_text_width(reader), vision)


def _gemma4_audio(reader: ConfigReader, audio: ConfigReader) -> Iterator[Counted]:
    return gemma4_audio(_text_width(reader), audio)


_TOWERS: dict[str, Callable[[ConfigReader, ConfigReader], Iterator[Counted]]] = {
    "siglip_vision_model": _siglip,
    "pixtral": _pixtral,
    "qwen2_vl": _qwen2_vl,
    "qwen2_vl_vision": _qwen2_vl,
    "qwen2_5_vl": _qwen2_5_vl,
    "qwen2_5_vl_vision": _qwen2_5_vl,
    "qwen3_vl": _qwen_vl,
    "qwen3_vl_vision": _qwen_vl,
    "qwen3_vl_moe": _qwen_vl,
    "qwen3_5": _qwen_vl,
    "qwen3_5_moe": _qwen_vl,
    "mllama_vision_model": _mllama,
    "gemma4_vision": _gemma4_vision,
    "gemma4_audio": _gemma4_audio,
}
