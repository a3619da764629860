"""A model's config.json from disk: read it, or say what the file is instead.

Only what is wrong whatever the model is told here; what a model's own kind needs, the architecture knows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from memplan.disk import is_folder, is_missing, read_file
from memplan.errors import ConfigError
from memplan.json_text import read_loose_json
from memplan.plan.problems import shown

MAX_CONFIG_BYTES = 10_000_000

SIZES = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "intermediate_size"),
    *("head_dim", "vocab_size", "n_embd", "n_layer", "n_head", "n_inner", "d_model", "num_layers", "ffn_dim"),
)
"""Sizes under the names that families give them; null and lists (a size for each layer) are some families' own."""

_GIVE_CONFIG = "Give the model's own config.json."


def read_config(path: str | Path) -> dict[str, Any]:
    """Read a model's config.json.

    Args:
        path: the file, or a folder that holds one named config.json.

    Raises:
        ConfigError: why it cannot be read, or what it is instead of a model's configuration.
    """
    file = Path(path)
    if is_folder(file):
        file = file / "config.json"
        if is_missing(file):
            raise ConfigError(
                "the folder holds no config.json.", place=str(path), remedy="Give the folder of a Hugging Face model."
            )
    data = read_file(file, limit_bytes=MAX_CONFIG_BYTES, what="a model's config.json", error=ConfigError)
    return parse_config(data, str(file))


def parse_config(data: bytes, place: str = "") -> dict[str, Any]:
    """Read a model's config.json from bytes.

    Args:
        data: what the file holds.
        place: what to call the file in messages.

    Raises:
        ConfigError: as read_config.
    """
    if data.startswith(b"GGUF"):
        raise ConfigError("is a GGUF file: weights, not a configuration.", place=place, remedy=_GIVE_CONFIG)
    config = read_loose_json(data, place=place, error=ConfigError)
    if not isinstance(config, dict):
        message = f"a model's config.json is an object; this file holds {shown(config)}."
        raise ConfigError(message, place=place, remedy=_GIVE_CONFIG)
    for is_other, what, remedy in _OTHERS:
        if is_other(config):
            raise ConfigError(what, place=place, remedy=remedy(config) if callable(remedy) else remedy)
    _check_sizes(config, place, "")
    for part in ("text_config", "llm_config", "language_config"):
        if isinstance(config.get(part), dict):
            _check_sizes(config[part], place, f"{part}.")
    return config


def _check_sizes(config: dict[str, Any], place: str, prefix: str) -> None:
    for name in SIZES:
        value = config.get(name)
        if value is None or isinstance(value, list) or (type(value) is int and value >= 1):
            continue
        message = f"found {shown(value)}; allowed is a whole number from 1."
        raise ConfigError(message, place=": ".join(part for part in (place, prefix + name) if part))


def _base_model(config: dict[str, Any]) -> str:
    base = config.get("base_model_name_or_path")
    whose = f" ({base})" if isinstance(base, str) and base else ""
    return f"Give the config.json of the base model{whose} and set the adapter under method lora."


def _is_no_model(config: dict[str, Any]) -> bool:
    return "model_type" not in config and not any(name in config for name in SIZES)


def _has(*names: str) -> Callable[[dict[str, Any]], bool]:
    """Whether a file that names no model has one of these keys, by which its kind is known."""
    return lambda config: _is_no_model(config) and any(name in config for name in names)


_OTHERS: tuple[tuple[Callable[[dict[str, Any]], bool], str, str | Callable[[dict[str, Any]], str]], ...] = (
    (lambda config: not config, "is an empty object.", _GIVE_CONFIG),
    (
        lambda config: "memplan" in config and "scenarios" in config,
        "is a plan, not a model's config.json.",
        "Open it as a plan.",
    ),
    (lambda config: "peft_type" in config, "is an adapter's configuration, not a model's.", _base_model),
    (
        lambda config: "_class_name" in config or "_diffusers_version" in config,
        "is a diffusion model's configuration; memplan plans language models.",
        "Give the config.json of a language model.",
    ),
    (
        _has("tokenizer_class", "added_tokens_decoder", "added_tokens"),
        "is a tokenizer's file, not a model's config.json.",
        _GIVE_CONFIG,
    ),
    (_has("weight_map"), "is the index of a model's weights, not its config.json.", _GIVE_CONFIG),
    (
        _has("image_processor_type", "feature_extractor_type", "processor_class"),
        "is an image or audio processor's file, not a model's config.json.",
        _GIVE_CONFIG,
    ),
    (
        _has("per_device_train_batch_size", "zero_optimization", "train_micro_batch_size_per_gpu", "output_dir"),
        "is a trainer's configuration, not a model's config.json.",
        _GIVE_CONFIG,
    ),
    (
        _has("bits", "quant_method", "desc_act"),
        "is a quantisation's configuration, not a model's config.json.",
        _GIVE_CONFIG,
    ),
    (
        _has("_from_model_config", "max_new_tokens", "do_sample", "top_p", "temperature", "eos_token_id"),
        "is a generation configuration, not a model's config.json.",
        _GIVE_CONFIG,
    ),
    (
        lambda config: "model_type" not in config and "dim" in config and "n_layers" in config,
        "is a params.json in Meta's own form.",
        "Give the config.json of the model's Hugging Face version.",
    ),
)
"""What else comes under such a name: how it is known, what to say, what to do."""
