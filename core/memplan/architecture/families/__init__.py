"""How each model type is composed, from its Hugging Face config. Defaults are those of transformers 5.24."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Architecture

Composition = Callable[[ConfigReader], Architecture]

MODULES = (
    "llama",
    "gemma",
    "gemma_shared",
    "experts",
    "gpt",
    "olmo",
    "squared_relu",
    "llama_relatives",
    "layer_norm_decoders",
    "gpt_relatives",
    "learned_positions",
    "experts_relatives",
    "recent",
    "latent",
    "hybrid",
    "multimodal",
    "encoders",
    "state_space",
    "experts_recent",
    "lfm3",
    "mamba2",
    "mamba",
    "nearest",
)
"""Modules of this package that have a `FAMILIES`, the most used first: a start loads no more than it asks for."""


NEAREST = "*"
"""Stands for every model type that has no composition of its own."""


def composition_of(model_type: str) -> Composition | None:
    """The composition of a model type; None when it has none of its own."""
    for name in MODULES:
        families: dict[str, Composition] = import_module(f"{__name__}.{name}").FAMILIES
        if model_type in families:
            return families[model_type]
    return None
