"""Gemma 4's towers: layers that look at images, layers that listen, and the projections of both to the text's width.

Source: transformers 5.24, modeling_gemma4.py, built on the meta device for the published models.
"""

from __future__ import annotations

from collections.abc import Iterator

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Component, Weight

Counted = tuple[Weight, int]


def _weight(name: str, *shape: int, count: int, component: Component = "embeddings", linear: bool = False) -> Counted:
    return Weight(name, shape, component, linear=linear, frozen=True), count


def gemma4_vision(text_width: int, vision: ConfigReader) -> Iterator[Counted]:
    """Layers normed before and after each block, queries and keys over each head; a table of positions each way."""
    hidden, width = vision.size("hidden_size", default=768), vision.size("intermediate_size", default=3072)
    layers, heads = vision.size("num_hidden_layers", default=16), vision.size("num_attention_heads", default=12)
    head_dim, kv_heads = vision.size("head_dim", default=64), vision.size("num_key_value_heads", default=heads)
    positions, patch = vision.size("position_embedding_size", default=10_240), vision.size("patch_size", default=16)
    yield _weight("vision.position_embedding_table", 2, positions, hidden, count=1)
    yield _weight("vision.input_proj.weight", hidden, 3 * patch**2, count=1, linear=True)
    sizes = {
        "q_proj": (heads * head_dim, hidden),
        "k_proj": (kv_heads * head_dim, hidden),
        "v_proj": (kv_heads * head_dim, hidden),
        "o_proj": (hidden, heads * head_dim),
    }
    for name, shape in sizes.items():
        yield _weight(f"vision.{name}.linear.weight", *shape, count=layers, component="attention", linear=True)
    for name, shape in {"gate": (width, hidden), "up": (width, hidden), "down": (hidden, width)}.items():
        yield _weight(f"vision.{name}_proj.linear.weight", *shape, count=layers, component="mlp", linear=True)
    yield _weight("vision.head_norm.weight", head_dim, count=2 * layers, component="norms")
    yield _weight("vision.layernorm.weight", hidden, count=4 * layers, component="norms")
    yield _projection("embed_vision", hidden, text_width)


def gemma4_audio(text_width: int, audio: ConfigReader) -> Iterator[Counted]:
    """Conformer layers behind two convolutions: a feed-forward block, attention, a convolution, another such block."""
    hidden, layers = audio.size("hidden_size", default=1024), audio.size("num_hidden_layers", default=12)
    heads, out = audio.size("num_attention_heads", default=8), audio.size("output_proj_dims", default=1536)
    channels, kernel = audio.listed("subsampling_conv_channels") or [128, 32], audio.size("conv_kernel_size", default=5)
    before = 1
    for index, after in enumerate(channels):
        yield _weight(f"audio.layer{index}.conv.weight", after, before, 3, 3, count=1)
        yield _weight(f"audio.layer{index}.norm.weight", after, count=1, component="norms")
        before = after
    # Two convolutions halve the 128 mel bins twice; what is left of them is projected with the channels.
    yield _weight("audio.input_proj_linear.weight", hidden, 32 * before, count=1, linear=True)
    blocks = {"ffw_layer_1.linear": (4 * hidden, hidden), "ffw_layer_2.linear": (hidden, 4 * hidden)}
    for name, shape in blocks.items():
        yield _weight(f"audio.{name}.weight", *shape, count=2 * layers, component="mlp", linear=True)
    for name in ("q_proj.linear", "k_proj.linear", "v_proj.linear", "post.linear", "relative_k_proj"):
        yield _weight(f"audio.{name}.weight", hidden, hidden, count=layers, component="attention", linear=True)
    yield _weight("audio.per_dim_scale", hidden // heads, count=layers, component="attention")
    yield _weight("audio.linear_start.linear.weight", 2 * hidden, hidden, count=layers, component="mlp", linear=True)
    yield _weight("audio.linear_end.linear.weight", hidden, hidden, count=layers, component="mlp", linear=True)
    yield _weight("audio.depthwise_conv1d.weight", hidden, 1, kernel, count=layers, component="mlp")
    yield _weight("audio.norm.weight", hidden, count=9 * layers, component="norms")
    yield _weight("audio.output_proj.weight", out, hidden, count=1, linear=True)
    yield _weight("audio.output_proj.bias", out, count=1)
    yield _projection("embed_audio", out, text_width)


def _projection(name: str, inputs: int, outputs: int) -> Counted:
    return _weight(f"{name}.embedding_projection.weight", outputs, inputs, count=1, component="mlp", linear=True)
