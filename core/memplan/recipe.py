"""The recipe in words: what weights, gradients, master copy and optimizer states are held in."""

from __future__ import annotations

from memplan.memory.account import States
from memplan.memory.optimizers import RULES
from memplan.memory.setup import Setup
from memplan.plan.training import Training
from memplan.result import Recipe


def recipe_of(setup: Setup, training: Training, parameters: int, states: States) -> Recipe:
    """Name the recipe. Bytes per parameter are all states, wherever they live, over all base parameters."""
    held = states.weights + states.adapters + states.gradients + states.optimizer + states.paged + states.master
    per_parameter = held / parameters if parameters else 0.0
    if training.method == "inference":
        return Recipe(f"{setup.weights_dtype} weights, nothing trains", round(per_parameter, 3))
    base = _base_words(setup, training)
    trained = _trained_words(setup, training)
    return Recipe(f"{base}, {trained}", round(per_parameter, 3))


def _base_words(setup: Setup, training: Training) -> str:
    if setup.packed:
        rest = f", the rest in {setup.unpacked_dtype}" if setup.unpacked_dtype != setup.weights_dtype else ""
        return f"4-bit {training.quantization.format} base{rest}, {setup.adapter_dtype} adapters"
    frozen = "frozen " if setup.adapted else ""
    words = f"{frozen}{setup.weights_dtype} weights"
    if setup.autocast:
        words += f" under {setup.autocast} autocast"
    if setup.adapted:
        words += f", {setup.adapter_dtype} adapters"
    return words


def _trained_words(setup: Setup, training: Training) -> str:
    own = setup.adapter_dtype if setup.adapted else setup.weights_dtype
    gradients = own if training.gradients_dtype == "weights" else training.gradients_dtype
    words = f"{gradients} gradients"
    has_master = training.master_weights and own != "fp32"
    if has_master:
        words += ", fp32 master weights"
    rule = RULES[training.optimizer]
    if rule.moments == 0 and rule.format != "factored":
        return f"{words}, {rule.title} without states"
    if rule.format in ("8bit", "4bit", "fp8"):
        return f"{words}, {rule.title} states"
    chosen = training.optimizer_state_dtype
    dtype = (
        "fp32"
        if rule.format == "fp32" or (has_master and chosen == "weights")
        else own
        if chosen == "weights"
        else chosen
    )
    return f"{words}, {dtype} {rule.title} states"
