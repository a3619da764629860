"""From a config.json to the architecture that it describes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from memplan.architecture.composing import text_part, unknown_activation
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.families import NEAREST, composition_of
from memplan.architecture.parts import Architecture
from memplan.architecture.refusals import check_layer_types, language_part, refuse_far_kinds, refuse_other_kinds
from memplan.architecture.towers import towers_of
from memplan.errors import ConfigError
from memplan.printable import printable

AROUND_TEXT = frozenset(
    {
        *("aya_vision", "cohere2_vision", "glm4v", "idefics3", "internvl", "llava", "llava_next", "llava_onevision"),
        *("paligemma", "smolvlm"),
    }
)
"""Models whose step over text is that of their language model; traced (tests/truth/families_towers.json)."""


def architecture_of(config: Mapping[str, Any]) -> Architecture:
    """Compose the architecture of a config.json.

    Raises:
        ConfigError: a value is missing or wrong; names the key and the remedy.
    """
    try:
        key = json.dumps(config, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"not plain JSON ({error})", place="config") from error
    return _cached(key)


@lru_cache(maxsize=512)
def _cached(key: str) -> Architecture:
    reader = ConfigReader(json.loads(key))
    refuse_far_kinds(reader)
    check_layer_types(reader.config)
    compose, read = composition_of(reader.model_type), reader
    if compose is None:
        read = language_part(reader)
        refuse_other_kinds(read)
        compose = composition_of(read.model_type if read is not reader else NEAREST) or composition_of(NEAREST)
    assert compose is not None, "the nearest composition is always there"
    architecture = compose(read)
    towers, unknown = towers_of(reader)
    if read is not reader and not unknown and reader.model_type in AROUND_TEXT:
        architecture = replace(architecture, model_type=reader.model_type)
    elif read is not reader:
        without = " alone, without what reads images or sound" if unknown else ""
        alone = f"its language model ({read.model_type}){without}"
        architecture = replace(architecture, model_type=reader.model_type, known=False, nearest=alone)
    elif unknown:
        uncounted = f"What reads images or sound is not counted ({' and '.join(unknown)})."
        architecture = replace(architecture, caveat=f"{architecture.caveat} {uncounted}".strip())
    if architecture.known and (named := unknown_activation(read)) is not None:
        words = (
            f"{named} names an activation that is not known ({printable(text_part(read).config[named])[:40]}): it is"
        )
        caveat = f"{architecture.caveat} {words} counted as silu, and may keep more.".strip()
        architecture = replace(architecture, caveat=caveat)
    if not towers:
        return architecture
    count = sum(weight.count * number for weight, number in towers)
    return replace(architecture, idle=architecture.idle + towers, tower_values=count)
