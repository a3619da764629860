"""Gemma 3n's towers: MobileNet V5, which looks at images, and the Universal Speech Model, which listens.

Source: transformers 5.24, modeling_gemma3n.py, and timm 1.0, mobilenetv5.py (mobilenetv5_300m_enc), built on the meta
device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.tower_parts import Counted, idle, linear, norm, text_width

MOBILENET = "mobilenetv5_300m_enc"
"""The one network that published models name."""


class _Inverted(NamedTuple):
    """A block that widens and narrows: a convolution over each channel before, and one between where there is one."""

    inputs: int
    width: int
    outputs: int
    before: int
    between: int = 0
    times: int = 1


_EDGES = ((64, 256, 128, 1), (128, 512, 128, 2))
"""Blocks whose first convolution widens: inputs, width, outputs, count."""
_INVERTED = (
    _Inverted(128, 768, 256, 3, 5),
    _Inverted(256, 1024, 256, 5, times=2),
    _Inverted(256, 1024, 256, 3, times=2),
    _Inverted(256, 1536, 640, 5, 5),
    _Inverted(640, 2560, 640, 5, times=7),
    _Inverted(640, 640, 640, 0),
    _Inverted(640, 1280, 640, 0, times=14),
    _Inverted(640, 3840, 1280, 5, 5),
    _Inverted(1280, 2560, 1280, 0, times=19),
)
_ATTENTION = ((640, 768, 64, 3, 14), (1280, 1536, 96, 0, 19))
"""Attention of one key and value head: width, all queries, a key, kernel that thins keys out, count."""
_JOINED, _FUSED = 640 + 1280, 3840
"""The last two stages are fused by one more block."""


def gemma3n_vision(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """MobileNet V5, and the embedding that leads into the text."""
    hidden = vision.size("hidden_size", default=2048)
    yield idle("vision.conv_stem.weight", 64, 3, 3, 3), 1
    yield idle("vision.conv_stem.bias", 64), 1
    yield idle("vision.conv_stem.bn.weight", 64, component="norms"), 1
    for inputs, width, outputs, count in _EDGES:
        yield from _convolution("conv_exp", width, inputs, 3, count)
        yield from _convolution("conv_pwl", outputs, width, 1, count)
    for block in _INVERTED:
        yield from _inverted(block)
    for width, queries, key, kernel, count in _ATTENTION:
        yield from _attention(width, queries, key, kernel, count)
    yield from _convolution("msfa.pw_exp", _FUSED, _JOINED, 1, 1)
    yield from _convolution("msfa.pw_proj", hidden, _FUSED, 1, 1)
    yield from norm("vision.msfa.norm", hidden, 1, bias=False)
    yield from _embedder("embed_vision", vision, hidden, text_width(reader))


def _convolution(name: str, outputs: int, inputs: int, kernel: int, count: int) -> Iterator[Counted]:
    yield idle(f"vision.{name}.conv.weight", outputs, inputs, kernel, kernel, component="mlp"), count
    yield from norm(f"vision.{name}.bn", outputs, count, bias=False)


def _inverted(block: _Inverted) -> Iterator[Counted]:
    if block.before:
        yield from _convolution("dw_start", block.inputs, 1, block.before, block.times)
    yield from _convolution("pw_exp", block.width, block.inputs, 1, block.times)
    if block.between:
        yield from _convolution("dw_mid", block.width, 1, block.between, block.times)
    yield from _convolution("pw_proj", block.outputs, block.width, 1, block.times)
    yield idle("vision.layer_scale.gamma", block.outputs, component="mlp"), block.times


def _attention(width: int, queries: int, key: int, kernel: int, count: int) -> Iterator[Counted]:
    yield from norm("vision.attention.norm", width, count, bias=False)
    yield idle("vision.attn.query.proj.weight", queries, width, 1, 1, component="attention"), count
    if kernel:
        yield idle("vision.attn.down_conv.weight", width, 1, kernel, kernel, component="attention"), 2 * count
        yield from norm("vision.attn.down_norm", width, 2 * count, bias=False)
    yield idle("vision.attn.key_value.proj.weight", key, width, 1, 1, component="attention"), 2 * count
    yield idle("vision.attn.output.proj.weight", width, queries, 1, 1, component="attention"), count
    yield idle("vision.attention.layer_scale.gamma", width, component="attention"), count


def gemma3n_audio(reader: ConfigReader, audio: ConfigReader) -> Iterator[Counted]:
    """Conformer layers behind two convolutions, and the embedding that leads into the text."""
    hidden, layers = audio.size("hidden_size", default=1536), audio.size("conf_num_hidden_layers", default=12)
    heads, kernel = audio.size("conf_num_attention_heads", default=8), audio.size("conf_conv_kernel_size", default=5)
    channels = audio.listed("sscp_conv_channel_size") or [128, 32]
    frequencies, before = audio.size("input_feat_size", default=128), 1
    for index, after in enumerate(channels):
        yield idle(f"audio.conv_{index}.conv.weight", after, before, 3, 3), 1
        yield from norm(f"audio.conv_{index}.norm", after, 1, bias=False)
        before, frequencies = after, frequencies // 2
    yield from linear("audio.input_proj_linear", before * frequencies, hidden, "embeddings", 1, bias=False)
    for name, inputs, outputs in (("ffw_layer_1", hidden, 4 * hidden), ("ffw_layer_2", 4 * hidden, hidden)):
        yield from linear(f"audio.{name}", inputs, outputs, "mlp", 2 * layers, bias=False)
    for name in ("pos_proj", "q_proj", "k_proj", "v_proj", "post"):
        yield from linear(f"audio.attention.{name}", hidden, hidden, "attention", layers, bias=False)
    yield idle("audio.attention.per_dim_scale", hidden // heads, component="attention"), layers
    yield from linear("audio.lconv1d.linear_start", hidden, 2 * hidden, "mlp", layers, bias=False)
    yield from linear("audio.lconv1d.linear_end", hidden, hidden, "mlp", layers, bias=False)
    yield idle("audio.lconv1d.depthwise_conv1d.weight", hidden, 1, kernel, component="mlp"), layers
    yield from norm("audio.norm", hidden, 9 * layers, bias=False)
    yield from _embedder("embed_audio", audio, hidden, text_width(reader))


def _embedder(name: str, part: ConfigReader, hidden: int, text: int) -> Iterator[Counted]:
    """Tokens of its own, two norms and a projection."""
    yield idle(f"{name}.embedding.weight", part.size("vocab_size", default=128), hidden), 1
    yield from norm(f"{name}.embedding_norm", hidden, 2, bias=False)
    yield from linear(f"{name}.embedding_projection", hidden, text, "mlp", 1, bias=False)
