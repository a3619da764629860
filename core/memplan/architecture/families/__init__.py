"""How each model type is composed, from its Hugging Face config. Defaults are those of transformers 5.24."""

from __future__ import annotations

from collections.abc import Callable

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.families import (
    encoders,
    experts,
    experts_relatives,
    gemma,
    gpt,
    gpt_relatives,
    hybrid,
    latent,
    layer_norm_decoders,
    llama,
    llama_relatives,
    multimodal,
    olmo,
    state_space,
)
from memplan.architecture.parts import Architecture

FAMILIES: dict[str, Callable[[ConfigReader], Architecture]] = {
    **llama.FAMILIES,
    **llama_relatives.FAMILIES,
    **gemma.FAMILIES,
    **olmo.FAMILIES,
    **layer_norm_decoders.FAMILIES,
    **gpt.FAMILIES,
    **gpt_relatives.FAMILIES,
    **experts.FAMILIES,
    **experts_relatives.FAMILIES,
    **latent.FAMILIES,
    **hybrid.FAMILIES,
    **multimodal.FAMILIES,
    **encoders.FAMILIES,
    **state_space.FAMILIES,
}
"""Model types with a composition of their own."""
