"""Towers that look at images, without what leads from them into the text (`projectors`), but for Llama's and GLM's.

Source: transformers 5.24, each model's modeling file, built on the meta device.
"""

from __future__ import annotations

from collections.abc import Iterator

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.tower_parts import Counted, attention, idle, linear, mlp, norm, text_width


def siglip(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """SigLIP, with the head that pools images into one vector unless it is left out."""
    hidden, width = vision.size("hidden_size", default=768), vision.size("intermediate_size", default=3072)
    yield from siglip_layers(vision, hidden, width, vision.size("num_hidden_layers", default=12), 224, 16)
    if vision.flag("vision_use_head", True):
        yield idle("vision.head.probe", hidden), 1
        yield from linear("vision.head.attention.in_proj", hidden, 3 * hidden, "attention", 1, bias=True)
        yield from linear("vision.head.attention.out_proj", hidden, hidden, "attention", 1, bias=True)
        yield from norm("vision.head.layernorm", hidden, 1)
        yield from mlp(("fc1", "fc2"), hidden, width, 1, bias=True)


def idefics3(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """SigLIP's layers under Idefics 3 and SmolVLM, of other default sizes and without a head."""
    hidden, width = vision.size("hidden_size", default=1152), vision.size("intermediate_size", default=3072)
    return siglip_layers(vision, hidden, width, vision.size("num_hidden_layers", default=12), 224, 32)


def siglip_layers(
    vision: ConfigReader, hidden: int, width: int, layers: int, image: int, patch: int
) -> Iterator[Counted]:
    """Patches, a table of positions and layers; `image` and `patch` are the default sizes."""
    patch = vision.size("patch_size", default=patch)
    patches = (vision.size("image_size", default=image) // patch) ** 2
    yield idle("vision.patch_embedding.weight", hidden, vision.size("num_channels", default=3), patch, patch), 1
    yield idle("vision.patch_embedding.bias", hidden), 1
    yield idle("vision.position_embedding.weight", patches, hidden), 1
    yield from attention(hidden, layers, bias=True, output="out_proj")
    yield from mlp(("fc1", "fc2"), hidden, width, layers, bias=True)
    yield from norm("vision.layer_norm", hidden, 2 * layers + 1)


def clip(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """CLIP: a class token before the patches, norms before and behind the layers."""
    hidden, width = vision.size("hidden_size", default=768), vision.size("intermediate_size", default=3072)
    layers, patch = vision.size("num_hidden_layers", default=12), vision.size("patch_size", default=32)
    patches = (vision.size("image_size", default=224) // patch) ** 2
    yield idle("vision.class_embedding", hidden), 1
    yield idle("vision.patch_embedding.weight", hidden, vision.size("num_channels", default=3), patch, patch), 1
    yield idle("vision.position_embedding.weight", patches + 1, hidden), 1
    yield from attention(hidden, layers, bias=True, output="out_proj")
    yield from mlp(("fc1", "fc2"), hidden, width, layers, bias=True)
    yield from norm("vision.layer_norm", hidden, 2 * layers + 2)


def pixtral(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """Pixtral: a small Llama over patches, its positions rotary."""
    hidden, width = vision.size("hidden_size", default=1024), vision.size("intermediate_size", default=4096)
    layers, patch = vision.size("num_hidden_layers", default=24), vision.size("patch_size", default=16)
    yield idle("vision.patch_conv.weight", hidden, vision.size("num_channels", default=3), patch, patch), 1
    yield from attention(hidden, layers, bias=False)
    yield from mlp(("gate_proj", "up_proj", "down_proj"), hidden, width, layers, bias=False)
    yield from norm("vision.norm", hidden, 2 * layers + 1, bias=False)


def internvl(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """InternViT: a class token, layers that scale what each block adds, norms over queries and keys where asked for."""
    hidden, width = vision.size("hidden_size", default=1024), vision.size("intermediate_size", default=4096)
    layers, patch = vision.size("num_hidden_layers", default=24), _side(vision, "patch_size", 14)
    bias = vision.flag("attention_bias", False)
    yield idle("vision.cls_token", hidden), 1
    if vision.flag("use_mask_token", False):
        yield idle("vision.mask_token", hidden), 1
    if vision.flag("use_absolute_position_embeddings", True):
        yield idle("vision.position_embeddings", (_side(vision, "image_size", 448) // patch) ** 2 + 1, hidden), 1
    yield idle("vision.projection.weight", hidden, vision.size("num_channels", default=3), patch, patch), 1
    yield idle("vision.projection.bias", hidden), 1
    yield idle("vision.lambda", hidden), 2 * layers
    for name in ("q_proj", "k_proj", "v_proj"):
        yield from linear(f"vision.attention.{name}", hidden, hidden, "attention", layers, bias=bias)
    yield from linear("vision.attention.projection_layer", hidden, hidden, "attention", layers, bias=True)
    if vision.flag("use_qk_norm", False):
        yield from norm("vision.attention.qk_norm", hidden, 2 * layers, bias=False)
    yield from mlp(("fc1", "fc2"), hidden, width, layers, bias=True)
    yield from norm("vision.norm", hidden, 2 * layers, bias=vision.text("norm_type", "layer_norm") == "layer_norm")
    if not vision.flag("use_mean_pooling", True):
        yield from norm("vision.layernorm", hidden, 1)


def _side(vision: ConfigReader, key: str, default: int) -> int:
    """A side of an image or a patch, which may be given as height and width."""
    listed = vision.config.get(key)
    if isinstance(listed, list) and listed:
        return ConfigReader({key: listed[0]}, vision.place).size(key)
    return vision.size(key, default=default)


def glm4v(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """GLM-4V's tower with its merger. The layers' blocks are as wide as the text, the merger's as its own key says."""
    hidden, text = vision.size("hidden_size", default=1536), vision.size("out_hidden_size", default=4096)
    layers, patch = vision.size("depth", default=24), vision.size("patch_size", default=14)
    frames, merged = vision.size("temporal_patch_size", default=2), vision.size("spatial_merge_size", default=2)
    wide, positions = vision.size("intermediate_size", default=13_696), vision.size("image_size", default=336) // patch
    yield idle("vision.patch_embed.weight", hidden, vision.size("in_channels", default=3), frames, patch, patch), 1
    yield idle("vision.patch_embed.bias", hidden), 1
    yield idle("vision.position_embedding.weight", positions**2, hidden), 1
    bias = vision.flag("attention_bias", False)
    yield from linear("vision.attn.qkv", hidden, 3 * hidden, "attention", layers, bias=bias)
    yield from linear("vision.attn.proj", hidden, hidden, "attention", layers, bias=False)
    yield from mlp(("gate_proj", "up_proj", "down_proj"), hidden, text, layers, bias=False)
    yield from norm("vision.norm", hidden, 2 * layers + 2, bias=False)
    yield idle("vision.downsample.weight", text, hidden, merged, merged), 1
    yield idle("vision.downsample.bias", text), 1
    yield from linear("vision.merger.proj", text, text, "mlp", 1, bias=False)
    yield from norm("vision.merger.post_projection_norm", text, 1)
    yield from mlp(("gate_proj", "up_proj", "down_proj"), text, wide, 1, bias=False)


def llama4(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """Llama 4's tower, which joins patches behind its layers, with the projector."""
    hidden, width = vision.size("hidden_size", default=768), vision.size("intermediate_size", default=5632)
    layers, patch = vision.size("num_hidden_layers", default=34), vision.size("patch_size", default=14)
    rows = (vision.size("image_size", default=448) // patch) ** 2 + 1
    joined, out = vision.size("projector_input_dim", default=4096), vision.size("projector_output_dim", default=4096)
    yield idle("vision.class_embedding", hidden), 1
    yield idle("vision.positional_embedding_vlm", rows, hidden), 1
    unfolded = vision.size("num_channels", default=3) * patch**2
    yield from linear("vision.patch_embedding", unfolded, hidden, "embeddings", 1, bias=False)
    yield from attention(hidden, layers, bias=True)
    yield from mlp(("fc1", "fc2"), hidden, width, layers, bias=True)
    yield from norm("vision.norm", hidden, 2 * layers + 2)
    yield from linear("vision.adapter.fc1", width, joined, "mlp", 1, bias=False)
    yield from linear("vision.adapter.fc2", out, out, "mlp", 1, bias=False)
    projected = vision.size("vision_output_dim", default=7680)
    yield from linear("projector", projected, text_width(reader), "mlp", 1, bias=False)


def kimi(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    """MoonViT under Kimi K2.5, with the projector that joins patches. Published configs name sizes in their own way."""
    hidden = vision.size("vt_hidden_size", "hidden_size", default=1152)
    width = vision.size("vt_intermediate_size", "intermediate_size", default=4304)
    layers = vision.size("vt_num_hidden_layers", "num_hidden_layers", default=27)
    patch, kernel = vision.size("patch_size", default=14), vision.listed("merge_kernel_size") or [2, 2]
    high = vision.size("init_pos_emb_height", "pos_emb_height", default=64)
    wide = vision.size("init_pos_emb_width", "pos_emb_width", default=64)
    normed = vision.size("mm_hidden_size", default=reader.size("projection_hidden_size", default=1152))
    joined = hidden * _product(kernel)
    yield idle("vision.patch_embed.proj.weight", hidden, 3, patch, patch), 1
    yield idle("vision.patch_embed.proj.bias", hidden), 1
    yield idle("vision.pos_emb", high, wide, hidden), 1
    yield from attention(hidden, layers, bias=True, output="proj")
    yield from mlp(("fc1", "fc2"), hidden, width, layers, bias=True)
    yield from norm("vision.norm", hidden, 2 * layers + 1)
    yield from norm("projector.pre_norm", normed, 1)
    yield from linear("projector.in_proj", joined, joined, "mlp", 1, bias=True)
    yield from linear("projector.out_proj", joined, text_width(reader), "mlp", 1, bias=True)


def _product(kernel: list[object]) -> int:
    """Patches that are joined, of a kernel's height and width."""
    found = 1
    for index, one in enumerate(kernel):
        found *= ConfigReader({"side": one}, f"config.vision_config.merge_kernel_size[{index}]").size("side")
    return found


def mllama(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
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
    yield from attention(hidden, layers, bias=False)
    yield from mlp(("fc1", "fc2"), hidden, width, layers, bias=True)
    yield from norm("vision.norm", hidden, 2 * layers + 2)
    yield from linear(
        "projector", vision.size("vision_output_dim", default=7680), text_width(reader), "mlp", 1, bias=True
    )
