"""Towers of Qwen's models that look at images, each with the merger that leads into the text.

Source: transformers 5.24, modeling_qwen2_vl.py, modeling_qwen2_5_vl.py and modeling_qwen3_vl.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.tower_parts import Counted, idle, linear, mlp, norm


def qwen_vl(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """Qwen3-VL's tower, with a merger at its end and one at each level that goes into the text's first layers."""
    hidden, width = vision.size("hidden_size", default=1152), vision.size("intermediate_size", default=4304)
    layers, patch = vision.size("depth", default=27), vision.size("patch_size", default=16)
    merged, text = hidden * vision.size("spatial_merge_size", default=2) ** 2, vision.size("out_hidden_size")
    levels = vision.layer_numbers("deepstack_visual_indexes") or []
    frames, channels = vision.size("temporal_patch_size", default=2), vision.size("in_channels", default=3)
    yield idle("vision.patch_embed.proj.weight", hidden, channels, frames, patch, patch), 1
    yield idle("vision.patch_embed.proj.bias", hidden), 1
    yield idle("vision.pos_embed.weight", vision.size("num_position_embeddings", default=2304), hidden), 1
    yield from linear("vision.attn.qkv", hidden, 3 * hidden, "attention", layers, bias=True)
    yield from linear("vision.attn.proj", hidden, hidden, "attention", layers, bias=True)
    yield from mlp(("linear_fc1", "linear_fc2"), hidden, width, layers, bias=True)
    yield from norm("vision.norm", hidden, 2 * layers + 1)
    yield from norm("vision.deepstack.norm", merged, len(levels))
    yield from linear("vision.merger.linear_fc1", merged, merged, "mlp", 1 + len(levels), bias=True)
    yield from linear("vision.merger.linear_fc2", merged, text, "mlp", 1 + len(levels), bias=True)


def qwen2_vl(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """Qwen2-VL's tower: layer norms, a plain block; the merger joins patches first."""
    hidden, layers = vision.size("embed_dim", default=1280), vision.size("depth", default=32)
    width = hidden * int(vision.factor("mlp_ratio") or 4)
    yield from _qwen2_merged(vision, hidden, layers, vision.size("hidden_size", default=3584), bias=True)
    yield from mlp(("fc1", "fc2"), hidden, width, layers, bias=True)


def qwen2_5_vl(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """Qwen2.5-VL's: norms without biases, a gated block."""
    hidden, layers = vision.size("hidden_size", default=3584), vision.size("depth", default=32)
    yield from _qwen2_merged(vision, hidden, layers, vision.size("out_hidden_size", default=3584), bias=False)
    width = vision.size("intermediate_size", default=3420)
    yield from mlp(("gate_proj", "up_proj", "down_proj"), hidden, width, layers, bias=True)


def _qwen2_merged(vision: ConfigReader, hidden: int, layers: int, text: int, *, bias: bool) -> Iterator[Counted]:
    """Patches, attention, norms and the merger, as wide as the text behind it."""
    patch, frames = vision.size("patch_size", default=14), vision.size("temporal_patch_size", default=2)
    channels, merged = vision.size("in_channels", "in_chans", default=3), vision.size("spatial_merge_size", default=2)
    joined = hidden * merged**2
    yield idle("vision.patch_embed.proj.weight", hidden, channels, frames, patch, patch), 1
    yield from linear("vision.attn.qkv", hidden, 3 * hidden, "attention", layers, bias=True)
    yield from linear("vision.attn.proj", hidden, hidden, "attention", layers, bias=True)
    yield from norm("vision.norm", hidden, 2 * layers + 1, bias=bias)
    yield from linear("vision.merger.mlp.0", joined, joined, "mlp", 1, bias=True)
    yield from linear("vision.merger.mlp.2", joined, text, "mlp", 1, bias=True)
