"""Names that say what is in a scenario or a plan, and follow it until a person gives another. Plain Python, no Qt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memplan import (
    MemplanError,
    Plan,
    Scenario,
    Training,
    catalog,
    choice_title,
    facts_at,
    format_count,
    plain_numbers,
    replaced,
)

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
        "fused optimizer" if training.optimizer_impl == "fused" and training.has_variants and is_full else "",
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


@plain_numbers()
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


def name_among(scenario: Scenario, others: Sequence[Scenario]) -> str:
    """The automatic name; where others are called so, with what differs from all of them that would be.

    >>> short = Scenario.model_validate({"name": "Full fine-tune", "model": {"parameters": 7}})
    >>> long = replaced(short, "training.sequence_length", 8192)
    >>> name_among(long, [short]), name_among(short, [short])
    ('Full fine-tune, 8,192 tokens', 'Full fine-tune 2')
    """
    wanted, taken = scenario_name(scenario), {other.name for other in others}
    if wanted not in taken:
        return wanted
    mine = _particulars(scenario)
    twins = [_particulars(other) for other in others if scenario_name(other) == wanted]
    telling = [words for key, words in mine.items() if all(twin[key] != words for twin in twins)]
    return next((name for words in telling if (name := f"{wanted}, {words}") not in taken), free_name(wanted, taken))


def _particulars(scenario: Scenario) -> dict[str, str]:
    """What tells scenarios of one name apart, the most telling first."""
    training, hardware = scenario.training, scenario.hardware
    return {
        "model": _model(scenario),
        "device": _device(hardware.device),
        "devices": f"{hardware.devices:,} device{'s' if hardware.devices > 1 else ''}",
        "length": f"{training.sequence_length:,} tokens",
        "batch": f"batch {training.micro_batch:,}",
        "accumulation": f"{training.gradient_accumulation:,} micro-batch{_plural(training.gradient_accumulation)}",
        "checkpointing": f"checkpointing: {choice_title('checkpointing', training.checkpointing)}",
        "optimizer": choice_title("optimizer", training.optimizer),
        "implementation": _implementation(training),
        "weights": f"{training.weights_dtype} weights",
        "sharding": f"sharding: {choice_title('strategy', hardware.sharding.strategy)}",
        "attention": f"{choice_title('attention', training.attention)} attention",
        "loss": f"{choice_title('loss', training.loss)} loss",
        "kernels": f"{choice_title('kernels', training.kernels)} kernels",
    }


def _implementation(training: Training) -> str:
    variant = choice_title("optimizer_impl", training.optimizer_impl)
    return f"{variant} optimizer" if training.has_variants else choice_title("optimizer", training.optimizer)


def _plural(count: int) -> str:
    return "es" if count > 1 else ""


def with_names_following(before: Plan, after: Plan) -> Plan:
    """The plan with every name that was the automatic one, and is unchanged, brought up to date with what it names.

    A name that says how it differs from another depends on that one too, so it is looked at after every edit.
    """
    if len(before.scenarios) == len(after.scenarios):
        for position, (old, new) in enumerate(zip(before.scenarios, after.scenarios, strict=True)):
            is_plain = new is old and new.name == scenario_name(new)
            if new.name != old.name or is_plain or not _is_automatic(old):
                continue
            others = [one for at, one in enumerate(after.scenarios) if at != position]
            if (name := name_among(new, others)) != new.name:
                after = replaced(after, f"scenarios[{position}].name", name)
    if after.title == before.title == plan_title(before) != (title := plan_title(after)):
        after = replaced(after, "title", title[:500])
    return after


def without_examples_notes(example: Plan, after: Plan) -> Plan:
    """The plan without the notes of the example that it was made from, once they speak of models that are not in it."""
    if after.notes != example.notes or _models(after) <= _models(example):
        return after
    return replaced(after, "notes", "")


def _models(plan: Plan) -> set[str]:
    return {_model(scenario) for scenario in plan.scenarios}


def _is_automatic(scenario: Scenario) -> bool:
    name, given = scenario_name(scenario), _NUMBERED.sub("", scenario.name)
    if name in (scenario.name, given):
        return True
    return any(f"{name}, {words}" in (scenario.name, given) for words in _particulars(scenario).values())


def free_name(wanted: str, taken: set[str]) -> str:
    """The wanted name, numbered when another scenario has it.

    >>> free_name("baseline", {"baseline", "baseline 2"})
    'baseline 3'
    """
    if wanted not in taken:
        return wanted
    number = 2
    while (name := _with_number(wanted, number)) in taken:
        number += 1
    return name


def _with_number(name: str, number: int) -> str:
    """The name with a number behind it, shortened where a scenario's name has no room for both."""
    tail, most = f" {number}", facts_at(Scenario, "name").max_length
    return (name if most is None else name[: most - len(tail)].rstrip()) + tail
