"""Models that a trainer's file only names: which entry of the catalog has that shape, and what the name says of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memplan.catalog import CatalogModel, find_model

_PACKED = (
    (re.compile(r"-(?:unsloth-)?bnb-4bit$", re.IGNORECASE), "nf4"),
    (re.compile(r"-(?:gptq(?:-int4)?|awq(?:-int4)?|int4)$", re.IGNORECASE), "gptq_int4"),
    (re.compile(r"-(?:mlx-)?4bit(?:-dwq)?$", re.IGNORECASE), "mlx_int4"),
    (re.compile(r"-8bit$", re.IGNORECASE), "int8"),
)
"""What publishers append to the name of a model that they quantised, and the plan's word for it."""

_TUNED = re.compile(r"-(?:instruct|chat|it|base|pt|hf|bf16|fp16)$", re.IGNORECASE)
"""What is appended to a name without a change of shape."""


@dataclass(frozen=True, slots=True)
class NamedModel:
    """The catalog's entry for a name."""

    entry: CatalogModel
    packed: str | None
    """The format that the name says its weights are packed in."""
    exact: bool
    """Whether the catalog has that very name."""


def named_model(name: str) -> NamedModel | None:
    """Find a model by the name or path that a trainer's file gives; None where the catalog has nothing of that name.

    >>> named_model("unsloth/Llama-3.2-1B-Instruct-bnb-4bit").packed
    'nf4'
    >>> named_model("/data/models/Llama-3.1-8B").entry.id
    'meta-llama/Llama-3.1-8B'
    """
    if entry := find_model(name):
        return NamedModel(entry, None, exact=True)
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    packed = None
    for ending, word in _PACKED:
        if ending.search(last):
            last, packed = ending.sub("", last), word
            break
    for candidate in _spellings(last):
        if entry := find_model(candidate):
            return NamedModel(entry, packed, exact=False)
    return None


def _spellings(name: str) -> list[str]:
    """The name, then with "Meta-" gone or added, then without what tuning appends."""
    bare = _TUNED.sub("", name)
    found = []
    for one in (name, bare):
        found += [one, one.removeprefix("Meta-"), f"Meta-{one}", f"{one}-hf", f"{one}-Base", f"{one}-pt"]
    return list(dict.fromkeys(found))
