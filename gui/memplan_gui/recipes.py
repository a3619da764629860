"""Recipes by name: which dtypes weights, gradients, master copy and optimizer states have. Plain Python, no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memplan import Scenario, tr_later

CUSTOM = tr_later("Custom")


@dataclass(frozen=True, slots=True)
class RecipePreset:
    """A name, what it is, and the training fields that it sets."""

    title: str
    """Short: a field in the narrowest panel shows the whole of it."""
    words: str
    """What stands beside the title in the list that opens."""
    description: str
    values: tuple[tuple[str, Any], ...]
    bytes_per_parameter: float
    """For a full fine-tune with AdamW, or with the optimizer that the preset sets."""


def _dtypes(weights: str, autocast: str, states: str, *, master: bool = False) -> tuple[tuple[str, Any], ...]:
    return (
        ("weights_dtype", weights),
        ("autocast", autocast),
        ("gradients_dtype", "weights"),
        ("optimizer_state_dtype", states),
        ("master_weights", master),
    )


PRESETS: tuple[RecipePreset, ...] = (
    RecipePreset(
        "Pure bf16",
        "weights, gradients and states in bf16",
        "Weights, gradients and AdamW's two states in bf16: what PyTorch does with a model loaded in bf16.",
        _dtypes("bf16", "none", "weights"),
        8,
    ),
    RecipePreset(
        "Pure fp32",
        "weights, gradients and states in fp32",
        "Everything in fp32: 4 + 4 + 8 bytes. Case A of the guides whose sums Help checks (The arithmetic of guides).",
        _dtypes("fp32", "none", "weights"),
        16,
    ),
    RecipePreset(
        "bf16 autocast",
        "products in bf16 over fp32 weights",
        "Weights, gradients and states in fp32; products run in bf16. Accelerate's FSDP runs it so too, over shards in "
        "fp32 with FSDP's mixed precision on.",
        _dtypes("fp32", "bf16", "weights"),
        16,
    ),
    RecipePreset(
        "bf16, fp32 states",
        "bf16 weights and gradients, fp32 states",
        "Weights and gradients in bf16, AdamW's two states in fp32, no master copy: 2 + 2 + 8 bytes. "
        "Case B of the guides whose sums Help checks (The arithmetic of guides).",
        _dtypes("bf16", "none", "fp32"),
        12,
    ),
    RecipePreset(
        "fp32 master copy",
        "bf16 weights, fp32 master and states: DeepSpeed, Megatron",
        "Mixed precision as DeepSpeed and Megatron run it: bf16 weights and gradients, an fp32 master copy and fp32 "
        "states: 2 + 2 + 4 + 8 bytes. FSDP keeps no copy: under its mixed precision the weights "
        "themselves are fp32. Case C of the guides whose sums Help checks (The arithmetic of guides).",
        _dtypes("bf16", "none", "fp32", master=True),
        16,
    ),
    RecipePreset(
        "SGD, momentum",
        "bf16 weights and gradients, fp32 momentum",
        "Weights and gradients in bf16, one momentum in fp32: 2 + 2 + 4 bytes. "
        "Case D of the guides whose sums Help checks (The arithmetic of guides).",
        (("optimizer", "sgd_momentum"), *_dtypes("bf16", "none", "fp32")),
        8,
    ),
    RecipePreset(
        "Inference",
        "bf16 weights, nothing trained",
        "Weights in bf16 and nothing trained: 2 bytes. "
        "Case E of the guides whose sums Help checks (The arithmetic of guides).",
        (("method", "inference"), *_dtypes("bf16", "none", "weights")),
        2,
    ),
)


def preset_of(scenario: Scenario) -> RecipePreset | None:
    """The preset that the scenario follows; None for a recipe of its own.

    The more a preset says the earlier it is asked: inference and SGD share their dtypes with others.
    """
    training = scenario.training
    for preset in sorted(PRESETS, key=lambda preset: -len(preset.values)):
        if all(getattr(training, name) == value for name, value in preset.values):
            return preset
    return None


def edits_for(preset: RecipePreset, scenario: Scenario) -> dict[str, Any]:
    """The edits, by path inside the scenario, that make it follow the preset."""
    values = {f"training.{name}": value for name, value in preset.values}
    if scenario.training.method == "inference" and "training.method" not in values:
        values["training.method"] = "full"  # a recipe for training means that something is trained
    leaves_sgd = preset_of(scenario) is not None and scenario.training.optimizer == "sgd_momentum"
    if leaves_sgd and "training.optimizer" not in values:
        values["training.optimizer"] = "adamw"
    return values
