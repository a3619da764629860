"""The recipe in words: what weights, gradients, master copy and optimizer states are held in."""

from __future__ import annotations

from memplan.memory.account import States
from memplan.memory.optimizers import RULES
from memplan.memory.setup import Setup
from memplan.plan.training import Training
from memplan.result import Recipe
from memplan.translation import tr


def recipe_of(setup: Setup, training: Training, parameters: int, states: States) -> Recipe:
    """Name the recipe. Bytes per parameter are all states, wherever they live, over all base parameters."""
    held = states.weights + states.adapters + states.gradients + states.optimizer + states.paged + states.master
    per_parameter = held / parameters if parameters else 0.0
    if training.method == "inference":
        return Recipe(tr("{dtype} weights, nothing trains").format(dtype=setup.weights_dtype), round(per_parameter, 3))
    base = _base_words(setup, training)
    trained = _trained_words(setup, training)
    return Recipe(f"{base}, {trained}", round(per_parameter, 3))


def _base_words(setup: Setup, training: Training) -> str:
    if setup.packed:
        words = tr("4-bit {format} base, {adapters} adapters")
        if setup.unpacked_dtype != setup.weights_dtype:
            words = tr("4-bit {format} base, the rest in {rest}, {adapters} adapters")
        return words.format(
            format=training.quantization.format, rest=setup.unpacked_dtype, adapters=setup.adapter_dtype
        )
    if setup.adapted:
        words = tr("frozen {weights} weights, {adapters} adapters")
        if setup.autocast:
            words = tr("frozen {weights} weights under {autocast} autocast, {adapters} adapters")
    else:
        words = tr("{weights} weights under {autocast} autocast") if setup.autocast else tr("{weights} weights")
    return words.format(weights=setup.weights_dtype, autocast=setup.autocast, adapters=setup.adapter_dtype)


def _trained_words(setup: Setup, training: Training) -> str:
    own = setup.adapter_dtype if setup.adapted else setup.weights_dtype
    gradients = own if training.gradients_dtype == "weights" else training.gradients_dtype
    words = tr("{dtype} gradients").format(dtype=gradients)
    has_master = training.master_weights and own != "fp32"
    if has_master:
        words = ", ".join((words, tr("fp32 master weights")))
    rule = RULES[training.optimizer]
    if rule.moments == 0 and rule.format != "factored":
        return ", ".join((words, tr("{optimizer} without states").format(optimizer=rule.title)))
    if rule.format in ("8bit", "4bit", "fp8"):
        return ", ".join((words, tr("{optimizer} states").format(optimizer=rule.title)))
    chosen = training.optimizer_state_dtype
    dtype = (
        "fp32"
        if rule.format == "fp32" or (has_master and chosen == "weights")
        else own
        if chosen == "weights"
        else chosen
    )
    return ", ".join((words, tr("{dtype} {optimizer} states").format(dtype=dtype, optimizer=rule.title)))
