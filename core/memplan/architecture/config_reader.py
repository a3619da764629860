"""Reading a Hugging Face config.json: whole numbers, fractions and switches by key, with words when one is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memplan.errors import ConfigError
from memplan.plan.problems import shown

MAX_SIZE = 10**9
MAX_LAYERS = 100_000
MAX_FACTOR = 1_000
_OWN = "Use the model's own config.json."
_LAYER_KEYS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")


class ConfigReader:
    """A config.json whose values are checked as they are read. Errors name the key, what was found, what is allowed."""

    def __init__(self, config: Mapping[str, Any], place: str = "config") -> None:
        self.config = config
        self.place = place
        """Where it stands, for errors: `config`, or `config.vision_config`."""

    @property
    def model_type(self) -> str:
        """The family's name."""
        found = self.config.get("model_type")
        if not isinstance(found, str) or not found:
            raise ConfigError(
                "no model_type, so this is not a language model's config.json",
                place=f"{self.place}.model_type",
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
                    words = f"{shown(value)} is not a whole number from 1 to {most}"
                    raise ConfigError(words, place=f"{self.place}.{key}", remedy=_OWN)
                return value
        if default is None:
            raise ConfigError(
                f"missing; models of type {self.model_type} need it",
                place=f"{self.place}.{keys[0]}",
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
            raise ConfigError(f"{shown(value)} is not a number from 0 to 1", place=f"{self.place}.{key}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.config.get(key, default)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ConfigError(f"{shown(value)} is neither true nor false", place=f"{self.place}.{key}")
        return value

    def text(self, key: str, default: str) -> str:
        """A string."""
        value = self.config.get(key, default)
        if value is None:
            return default
        if not isinstance(value, str):
            raise ConfigError(f"{shown(value)} is not a string", place=f"{self.place}.{key}")
        return value

    def whole(self, key: str, default: int, least: int = 0) -> int:
        """A whole number that may be less than 1: where layers of a kind begin, or how many come first."""
        value = self.config.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_SIZE:
            words = f"{shown(value)} is not a whole number from {least} to {MAX_SIZE}"
            raise ConfigError(words, place=f"{self.place}.{key}", remedy=_OWN)
        return value

    def factor(self, key: str) -> float | None:
        """A number above 0 that a size is multiplied by; None when missing."""
        value = self.config.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= MAX_FACTOR:
            words = f"{shown(value)} is not a number above 0 and up to {MAX_FACTOR}"
            raise ConfigError(words, place=f"{self.place}.{key}", remedy=_OWN)
        return float(value)

    def listed(self, key: str) -> list[Any] | None:
        """A list, mostly with something for each layer; None when missing."""
        value = self.config.get(key)
        if value is not None and not isinstance(value, list):
            raise ConfigError(f"{shown(value)} is not a list", place=f"{self.place}.{key}", remedy=_OWN)
        return value

    def layer_numbers(self, key: str) -> list[int] | None:
        """A list of layers by their numbers, from 0 on; None when missing."""
        numbers = self.listed(key)
        for index, number in enumerate(numbers or ()):
            if type(number) is not int or not 0 <= number < MAX_LAYERS:
                words = f"{shown(number)} is not the number of a layer, from 0 on"
                raise ConfigError(words, place=f"{self.place}.{key}[{index}]", remedy=_OWN)
        return numbers

    def part(self, key: str) -> ConfigReader:
        """The object under a key, of the same model type unless it says otherwise; as good as empty when missing."""
        value = self.config.get(key)
        if value is not None and not isinstance(value, Mapping):
            raise ConfigError(f"{shown(value)} is not an object", place=f"{self.place}.{key}", remedy=_OWN)
        return ConfigReader({"model_type": self.config.get("model_type"), **(value or {})}, f"{self.place}.{key}")
