"""Towers that turn images or sound into tokens: their parameters, beside the language model that training walks.

Text alone does not pass through them, so they keep nothing and, without gradients, never train.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.gemma3n_towers import MOBILENET, gemma3n_audio, gemma3n_vision
from memplan.architecture.gemma_towers import gemma4_audio, gemma4_vision
from memplan.architecture.projectors import PROJECTORS
from memplan.architecture.qwen_towers import qwen2_5_vl, qwen2_vl, qwen_vl
from memplan.architecture.tower_parts import Counted, text_width
from memplan.architecture.vision_towers import (
    clip,
    glm4v,
    idefics3,
    internvl,
    kimi,
    llama4,
    mllama,
    pixtral,
    siglip,
)

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
            tower = _tower(reader, reader.part(key))
            if tower is None:
                unknown.append(key)
            else:
                found += tower
    return tuple(found), tuple(unknown)


def _tower(reader: ConfigReader, part: ConfigReader) -> Iterator[Counted] | None:
    """A tower with what leads from it into the text; None where either is not known."""
    kind = part.text("model_type", reader.model_type)
    if kind == "gemma3n_vision" and part.text("architecture", MOBILENET) != MOBILENET:
        return None
    if kind in _WHOLE:
        return _WHOLE[kind](reader, part)
    if kind not in _ALONE or reader.model_type not in PROJECTORS:
        return None
    tower, width = _ALONE[kind]
    return _with_projector(reader, part, tower, part.size("hidden_size", default=width))


def _with_projector(reader: ConfigReader, part: ConfigReader, tower: Tower, width: int) -> Iterator[Counted]:
    yield from tower(reader, part)
    yield from PROJECTORS[reader.model_type](reader, width)


def _gemma4_vision(reader: ConfigReader, vision: ConfigReader) -> Iterator[Counted]:
    return gemma4_vision(text_width(reader), vision)


def _gemma4_audio(reader: ConfigReader, audio: ConfigReader) -> Iterator[Counted]:
    return gemma4_audio(text_width(reader), audio)


Tower = Callable[[ConfigReader, ConfigReader], Iterator[Counted]]
"""Of the whole config, and of the tower's part of it."""
_ALONE: dict[str, tuple[Tower, int]] = {
    "siglip_vision_model": (siglip, 768),
    "clip_vision_model": (clip, 768),
    "pixtral": (pixtral, 1024),
    "internvl_vision": (internvl, 1024),
    "idefics3": (idefics3, 1152),
    "idefics3_vision": (idefics3, 1152),
    "smolvlm": (idefics3, 1152),
    "smolvlm_vision": (idefics3, 1152),
}
"""Towers by their kind, with their default width: what leads from them into the text is the model's."""
_WHOLE: dict[str, Tower] = {
    "qwen2_vl": qwen2_vl,
    "qwen2_vl_vision": qwen2_vl,
    "qwen2_5_vl": qwen2_5_vl,
    "qwen2_5_vl_vision": qwen2_5_vl,
    "qwen3_vl": qwen_vl,
    "qwen3_vl_vision": qwen_vl,
    "qwen3_vl_moe": qwen_vl,
    "qwen3_5": qwen_vl,
    "qwen3_5_moe": qwen_vl,
    "mllama_vision_model": mllama,
    "llama4_vision_model": llama4,
    "kimi_k25": kimi,
    "kimi_k25_vision": kimi,
    "glm4v": glm4v,
    "glm4v_vision": glm4v,
    "glm4v_moe": glm4v,
    "glm4v_moe_vision": glm4v,
    "gemma4_vision": _gemma4_vision,
    "gemma4_audio": _gemma4_audio,
    "gemma3n_vision": gemma3n_vision,
    "gemma3n_audio": gemma3n_audio,
}
"""Towers by their kind, with what leads from them into the text."""
