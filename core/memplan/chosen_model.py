"""From a scenario's choice of a model to its architecture, with what had to be assumed on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from memplan.architecture import stacks
from memplan.architecture.composing import text_part
from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.counts import total
from memplan.architecture.from_config import architecture_of
from memplan.architecture.parts import Architecture
from memplan.catalog import CatalogModel
from memplan.catalog import model as catalog_model
from memplan.errors import ConfigError, MemplanError
from memplan.number_style import once_a_style, plain_numbers
from memplan.plan.model_choice import ModelChoice
from memplan.plan.training import Kernels
from memplan.result import Advice
from memplan.units import counted, format_count

TYPICAL_VOCABULARY = 128_256
"""Llama 3's, for a model of which only the size is known."""
_HEADS = ("num_attention_heads", "num_key_value_heads", "head_dim")


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """What an estimate is made of."""

    name: str
    architecture: Architecture
    parameters: int
    """The count that the states follow: the architecture's own, or the one that is known better."""
    exact: bool
    """Whether the states follow tensor by tensor from the architecture."""
    advice: tuple[Advice, ...] = ()


def chosen_model(choice: ModelChoice) -> ChosenModel:
    """Resolve a choice.

    Raises:
        ConfigError: no architecture follows from the configuration.
        UnknownEntryError: the catalog has no such model.
    """
    if choice.catalog is not None:
        return _from_catalog(choice.catalog)
    if choice.config is not None:
        return _from_config(choice.name or _config_name(choice.config), choice.config)
    assert choice.parameters is not None, "the plan's own check allows nothing else"
    return _from_size(choice.name or "", choice.parameters, choice.layers, choice.hidden_size, choice.vocab_size)


def generates_text(choice: ModelChoice) -> bool:
    """Whether a model makes text token by token: encoders read their input in one pass, and cache no keys.

    True where no architecture follows from the choice, so that nothing is ruled out.
    """
    try:
        return chosen_model(choice).architecture.generates
    except MemplanError:
        return True


def run_by(chosen: ChosenModel, kernels: Kernels, version: tuple[int, int] | None) -> ChosenModel:
    """The model as a stack's own modules hold it; a head that is no longer tied counts."""
    architecture = stacks.run_by(chosen.architecture, kernels, version)
    if architecture is chosen.architecture:
        return chosen
    more = total(architecture) - total(chosen.architecture)
    return replace(chosen, architecture=architecture, parameters=chosen.parameters + more)


def _config_name(config: Mapping[str, Any]) -> str:
    name = config.get("_name_or_path") or config.get("model_type") or "model"
    return str(name)


@once_a_style
def _from_catalog(name: str) -> ChosenModel:
    entry = catalog_model(name)
    known = entry.parameters.total
    try:
        chosen = _from_config(entry.name, entry.config)
    except ConfigError:
        if known is None:
            raise
        chosen = _as_stated(entry, known)
    if known is not None and total(chosen.architecture) != known:
        return ChosenModel(entry.name, chosen.architecture, known, exact=False, advice=chosen.advice)
    return chosen


def _as_stated(entry: CatalogModel, known: int) -> ChosenModel:
    """A model of a type that has no composition: the nearest one of its language model, or a llama of its shape."""
    text = text_part(ConfigReader(entry.config))
    try:
        return _from_config(entry.name, {**text.config, "model_type": entry.model_type})
    except ConfigError:
        reason = f"{entry.model_type} has no composition of its own yet"
        layers, hidden = text.size("num_hidden_layers", default=0), text.size("hidden_size", default=0)
        heads = {key: text.config[key] for key in _HEADS if text.config.get(key) is not None}
        return _typical(entry.name, known, reason, layers, hidden, text.size("vocab_size", default=0), heads)


def _from_config(name: str, config: Mapping[str, Any]) -> ChosenModel:
    architecture = architecture_of(config)
    advice: tuple[Advice, ...] = ()
    if not architecture.known:
        walked = architecture.nearest
        words = f"{architecture.model_type} has no composition of its own yet: activations are those of {walked}."
        advice = (Advice("model", words),)
    elif architecture.caveat:
        advice = (Advice("model", architecture.caveat),)
    return ChosenModel(name, architecture, total(architecture), exact=True, advice=advice)


@once_a_style
def _from_size(name: str, parameters: int, layers: int | None, hidden: int | None, vocab: int | None) -> ChosenModel:
    with plain_numbers():  # a name, wherever it stands
        name = name or counted(parameters, "parameter")
    if layers and hidden and vocab:
        architecture = _llama_of(parameters, layers, hidden, vocab)
        advice = Advice("model.parameters", "Activations are those of a llama-like model of this shape.")
        words = (advice, *_contradiction(architecture, parameters))
        return ChosenModel(name, architecture, parameters, exact=False, advice=words)
    return _typical(name, parameters, "only the size is known", layers, hidden, vocab)


def _typical(
    name: str,
    parameters: int,
    reason: str,
    layers: int | None = None,
    hidden: int | None = None,
    vocab: int | None = None,
    heads: Mapping[str, int] | None = None,
) -> ChosenModel:
    """A model of typical proportions: hidden size 128 times the layers, 12 × layers × hidden² parameters in them."""
    layers = layers or max(1, round((parameters / (12 * 128**2)) ** (1 / 3)))
    hidden = hidden or max(128, round((parameters / (12 * layers)) ** 0.5 / 128) * 128)
    vocab = vocab or min(TYPICAL_VOCABULARY, max(256, parameters // (4 * hidden)))
    shape = f"{counted(layers, 'layer')} of {hidden}, vocabulary {vocab}"
    words = f"{reason[0].upper()}{reason[1:]}: activations assume {shape}."
    architecture = _llama_of(parameters, layers, hidden, vocab, heads)
    advice = (Advice("model", words), *_contradiction(architecture, parameters))
    return ChosenModel(name, architecture, parameters, exact=False, advice=advice)


def _contradiction(architecture: Architecture, parameters: int) -> tuple[Advice, ...]:
    """A word where a shape, with the narrowest feed-forward, makes a larger model than the size that was given."""
    least = total(architecture)
    if least <= 1.2 * parameters:
        return ()
    words = (
        f"A model of this shape has at least {format_count(least)} parameters: size and shape contradict each other."
    )
    return (Advice("model.parameters", words),)


def _llama_of(
    parameters: int, layers: int, hidden: int, vocab: int, stated: Mapping[str, int] | None = None
) -> Architecture:
    """A llama whose feed-forward width brings it to about the given count."""
    in_layers = max(0, parameters - 2 * vocab * hidden) // layers
    width = max(1, (in_layers - 4 * hidden * hidden) // (3 * hidden))
    heads = max(1, hidden // 128)
    return architecture_of(
        {
            "model_type": "llama",
            "hidden_size": hidden,
            "intermediate_size": width,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "head_dim": max(2, hidden // heads // 2 * 2),
            "vocab_size": vocab,
            **(stated or {}),
        }
    )
