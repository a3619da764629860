"""On which layers adapters stand: numbers of layers mean the last ones where the model ends with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from memplan.architecture.parts import Architecture
from memplan.chosen_model import chosen_model
from memplan.errors import MemplanError
from memplan.exchange.desk import Desk
from memplan.exchange.notes import ImportNote
from memplan.exchange.reading import Keys
from memplan.plan.model_choice import ModelChoice

ADAPTED_LAYERS, LAST_LAYERS = "given.adapted_layers", "training.lora.last_layers"
_PATTERNS = {"layers", "h", "block", "blocks", "layer"}
"""Names of the list that decoder layers stand in (peft 0.21.2, utils/constants.py, COMMON_LAYERS_PATTERN)."""
_EVERY = "adapters are counted on every layer"


def state_layers(keys: Keys) -> None:
    """Take PEFT's numbers of layers, from 0; it refuses them beside targets that are one text."""
    reading = keys.reading
    found = keys.any("layers_to_transform", "peft_layers_to_transform")
    pattern = keys.any("layers_pattern", "peft_layers_pattern")
    if found is None or found.value is False or found.value in ([], "", "none", "false"):
        return
    numbers = found.value if isinstance(found.value, list) else [found.value]
    if any(isinstance(one, bool) or not isinstance(one, int) for one in numbers):
        reading.leave_out(found, f"no list of layers; {_EVERY}")
    elif pattern is not None and not _PATTERNS.issuperset(_names(pattern.value)):
        reading.leave_out(found, f"numbers of what {pattern.key} names; {_EVERY}")
    else:
        reading.state(ADAPTED_LAYERS, found, value=tuple(sorted(set(numbers))))


def _names(pattern: Any) -> list[str]:
    return [str(one) for one in (pattern if isinstance(pattern, list) else [pattern]) if one]


def settle_layers(desk: Desk, choice: Mapping[str, Any] | None) -> None:
    """Say how many of the last layers a list of numbers means, once the model is known."""
    listed = desk.stated.pop(ADAPTED_LAYERS, None)
    if listed is None or LAST_LAYERS in desk.answers or choice is None:
        return
    architecture = _architecture_of(choice)
    why = _not_the_last(listed.value, architecture)
    if why is None:
        desk.stated[LAST_LAYERS] = replace(listed, value=len(listed.value))
        if architecture is not None and architecture.idle:
            why = "a tower's layers of these numbers get adapters as well, which are not counted"
    if why is not None:
        desk.notes.append(ImportNote("left_out", listed.key, why, listed.source))


def _not_the_last(numbers: tuple[int, ...], architecture: Architecture | None) -> str | None:
    """Why the numbers are not those of the last layers; None where they are."""
    if architecture is None:
        return f"how many layers the model has is not known; {_EVERY}"
    count = architecture.num_layers
    if numbers == tuple(range(count - len(numbers), count)):
        return None
    return f"adapters stand on chosen layers that are not the last ones; {_EVERY}"


def _architecture_of(choice: Mapping[str, Any]) -> Architecture | None:
    """The model's layers; None where they would be a guess."""
    if "parameters" in choice:
        return None
    try:
        return chosen_model(ModelChoice.model_validate_json(json.dumps(choice))).architecture
    except (MemplanError, ValidationError):
        return None
