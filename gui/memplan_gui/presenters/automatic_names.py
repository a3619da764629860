"""Names that say what is in a scenario or a plan, and follow it until a person gives another. Plain Python, no Qt."""

from __future__ import annotations

import re

from memplan import MemplanError, Plan, Scenario, catalog, format_count, replaced
from memplan_gui.presenters.words import choice_title

MOST_EXTRAS = 2
_NUMBERED = re.compile(r" \d+$")


def scenario_name(scenario: Scenario) -> str:
    """What is trained, or what is unusual about how: "Full fine-tune", "Fused optimizer", "LoRA, rank 16".

    >>> scenario_name(Scenario.model_validate({"model": {"parameters": 7}, "training": {"checkpointing": "full"}}))
    'Checkpointing'
    """
    training, devices = scenario.training, scenario.hardware.devices
    is_full = training.method == "full"
    choices = [
        choice_title("optimizer", training.optimizer) if training.optimizer != "adamw" else "",
        "fused optimizer" if training.optimizer_impl == "fused" and is_full else "",
        "checkpointing" if training.checkpointing != "none" else "",
    ]
    unusual = [choice for choice in choices if choice and training.method != "inference"][:MOST_EXTRAS]
    named = unusual if is_full and unusual else [_method(scenario), *unusual]
    name = ", ".join([*named, f"{devices:,} devices"] if devices > 1 and len(unusual) < MOST_EXTRAS else named)
    return name[:1].upper() + name[1:]


def _method(scenario: Scenario) -> str:
    training = scenario.training
    if training.method in ("lora", "qlora"):
        return f"{'LoRA' if training.method == 'lora' else 'QLoRA'}, rank {training.lora.rank}"
    if training.method == "freeze":
        return f"Last {training.freeze.trainable_layers} layers"
    return choice_title("method", training.method)


def plan_title(plan: Plan) -> str:
    """The models, and on what, where that is the same for all: "Llama-3.1-8B on 8 × H100 SXM5 80 GB"."""
    models = list(dict.fromkeys(_model(scenario) for scenario in plan.scenarios))
    places = {(scenario.hardware.device, scenario.hardware.devices) for scenario in plan.scenarios}
    first = " and ".join(models[:2]) if len(models) < 3 else f"{models[0]} and {len(models) - 1} others"
    if len(places) > 1:
        return first
    ((device, count),) = places
    return f"{first} on {f'{count:,} × ' if count > 1 else ''}{_device(device)}"


def _model(scenario: Scenario) -> str:
    model = scenario.model
    if model.catalog is not None:
        return model.catalog.rpartition("/")[2]
    return model.name or (format_count(model.parameters) if model.parameters else "a model")


def _device(name: str) -> str:
    if name.startswith(catalog.THIS_COMPUTER):
        return "this computer"  # asking it takes its time
    try:
        return catalog.device(name).name
    except MemplanError:
        return name


def with_names_following(before: Plan, after: Plan) -> Plan:
    """The plan with every name that was the automatic one, and is unchanged, brought up to date with what it names."""
    if len(before.scenarios) == len(after.scenarios):
        for position, (old, new) in enumerate(zip(before.scenarios, after.scenarios, strict=True)):
            if (
                new is not old
                and new.name == old.name
                and _is_automatic(old)
                and scenario_name(new) != scenario_name(old)
            ):
                others = {one.name for at, one in enumerate(after.scenarios) if at != position}
                after = replaced(after, f"scenarios[{position}].name", free_name(scenario_name(new), others))
    if after.title == before.title == plan_title(before) != (title := plan_title(after)):
        after = replaced(after, "title", title[:500])
    return after


def _is_automatic(scenario: Scenario) -> bool:
    return scenario_name(scenario) in (scenario.name, _NUMBERED.sub("", scenario.name))


def free_name(wanted: str, taken: set[str]) -> str:
    """The wanted name, numbered when another scenario has it.

    >>> free_name("baseline", {"baseline", "baseline 2"})
    'baseline 3'
    """
    if wanted not in taken:
        return wanted
    number = 2
    while f"{wanted} {number}" in taken:
        number += 1
    return f"{wanted} {number}"
