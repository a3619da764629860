"""What leads from a tower into the text, by model: a projection or two, with what joins patches before.

Source: transformers 5.24, each model's modeling file, built on the meta device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.tower_parts import Counted, idle, linear, norm, text_width

Projector = Callable[[ConfigReader, int], Iterator[Counted]]
"""Of the whole config, and of the width of the tower."""


def _gemma3(reader: ConfigReader, width: int) -> Iterator[Counted]:
    yield idle("projector.mm_input_projection_weight", width, text_width(reader), component="mlp"), 1
    yield from norm("projector.mm_soft_emb_norm", width, 1, bias=False)


def _mistral3(reader: ConfigReader, width: int) -> Iterator[Counted]:
    text, joined = text_width(reader), reader.size("spatial_merge_size", default=2) ** 2
    bias = reader.flag("multimodal_projector_bias", False)
    yield from norm("projector.norm", width, 1, bias=False)
    yield from linear("projector.merging_layer", joined * width, width, "mlp", 1, bias=False)
    yield from linear("projector.linear_1", width * _levels(reader), text, "mlp", 1, bias=bias)
    yield from linear("projector.linear_2", text, text, "mlp", 1, bias=bias)


def _llava(reader: ConfigReader, width: int) -> Iterator[Counted]:
    text, bias = text_width(reader), reader.flag("multimodal_projector_bias", True)
    yield from linear("projector.linear_1", width * _levels(reader), text, "mlp", 1, bias=bias)
    yield from linear("projector.linear_2", text, text, "mlp", 1, bias=bias)


def _levels(reader: ConfigReader) -> int:
    """How many of the tower's levels are read."""
    levels = reader.config.get("vision_feature_layer")
    return len(levels) if isinstance(levels, list) and levels else 1


def _llava_with_newlines(reader: ConfigReader, width: int) -> Iterator[Counted]:
    yield idle("image_newline", text_width(reader)), 1
    yield from _llava(reader, width)


def _paligemma(reader: ConfigReader, width: int) -> Iterator[Counted]:
    default = reader.size("projection_dim", default=2048)
    projected = reader.part("vision_config").size("projection_dim", default=default)
    return linear("projector.linear", width, projected, "mlp", 1, bias=True)


def _aya_vision(reader: ConfigReader, width: int) -> Iterator[Counted]:
    joined, text = width * reader.size("downsample_factor", default=2) ** 2, text_width(reader)
    between = reader.size("alignment_intermediate_size", default=text)
    yield from norm("projector.layernorm", joined, 1)
    yield from linear("projector.linear_1", joined, between, "mlp", 1, bias=True)
    yield from linear("projector.linear_2", between // 2, text, "mlp", 1, bias=True)


def _cohere2_vision(reader: ConfigReader, width: int) -> Iterator[Counted]:
    joined, text = width * reader.size("downsample_factor", default=2) ** 2, text_width(reader)
    between = reader.size("alignment_intermediate_size", default=36_864)
    yield from linear("projector.linear_1", joined, between, "mlp", 1, bias=True)
    yield from linear("projector.linear_2", between // 2, text, "mlp", 1, bias=True)


def _internvl(reader: ConfigReader, width: int) -> Iterator[Counted]:
    joined, text = width * int(1 / reader.fraction("downsample_ratio", 0.5)) ** 2, text_width(reader)
    yield from norm("projector.layer_norm", joined, 1)
    yield from linear("projector.linear_1", joined, text, "mlp", 1, bias=True)
    yield from linear("projector.linear_2", text, text, "mlp", 1, bias=True)


def _idefics3(reader: ConfigReader, width: int) -> Iterator[Counted]:
    joined = width * reader.size("scale_factor", default=2) ** 2
    return linear("connector.modality_projection.proj", joined, text_width(reader), "mlp", 1, bias=False)


PROJECTORS: dict[str, Projector] = {
    "gemma3": _gemma3,
    "mistral3": _mistral3,
    "mistral_large4": _mistral3,
    "llava": _llava,
    "llava_next": _llava_with_newlines,
    "llava_onevision": _llava_with_newlines,
    "paligemma": _paligemma,
    "aya_vision": _aya_vision,
    "cohere2_vision": _cohere2_vision,
    "internvl": _internvl,
    "idefics3": _idefics3,
    "smolvlm": _idefics3,
}
