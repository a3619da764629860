"""Reading a Hugging Face config.json: whole numbers, fractions and switches by key, with words when one is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memplan.errors import ConfigError

MAX_SIZE = 10**9
MAX_LAYERS = 100_000
_LAYER_KEYS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")


class ConfigReader:
    """A config.json whose values are checked as they are read. Errors name the key, what was found, what is allowed."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config

    @property
    def model_type(self) -> str:
        """The family's name."""
        found = self.config.get("model_type")
        if not isinstance(found, str) or not found:
            raise ConfigError(
                "no model_type, so this is not a language model's config.json",
                place="config.model_type",
                remedy="Use the config.json from the model's own folder.",
            )
        return found

    def size(self, *keys: str, default: int | None = None) -> int:
        """A whole number of at least 1, under the first of the keys that is there."""
        for key in keys:
            value = self.config.get(key)
            if value is not None:
                most = MAX_LAYERS if key in _LAYER_KEYS else MAX_SIZE
                if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                    words = f"{value!r} is not a whole number from 1 to {most}"
                    raise ConfigError(words, place=f"config.{key}", remedy="Use the model's own config.json.")
                return value
        if default is None:
            raise ConfigError(
                f"missing; a {self.model_type} model needs it",
                place=f"config.{keys[0]}",
                remedy="Use the model's complete config.json.",
            )
        return default

    def optional_size(self, key: str, default: int | None = None) -> int | None:
        """A whole number of at least 1; null and a missing key give the default (null gives None)."""
        if key in self.config and self.config[key] is None:
            return None
        if key not in self.config:
            return default
        return self.size(key)

    def fraction(self, key: str, default: float) -> float:
        """A number from 0 up to and including 1."""
        value = self.config.get(key, default)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise ConfigError(f"{value!r} is not a number from 0 to 1", place=f"config.{key}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.config.get(key, default)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ConfigError(f"{value!r} is neither true nor false", place=f"config.{key}")
        return value

    def text(self, key: str, default: str) -> str:
        """A string."""
        value = self.config.get(key, default)
        if value is None:
            return default
        if not isinstance(value, str):
            raise ConfigError(f"{value!r} is not a string", place=f"config.{key}")
        return value

    def mapping(self, key: str) -> Mapping[str, Any]:
        """An object; empty when missing."""
        value = self.config.get(key)
        return value if isinstance(value, Mapping) else {}
