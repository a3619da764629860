"""An example shows one model on one machine in several ways, and a person's own in all of them. Plain Python, no Qt."""

from __future__ import annotations

from memplan import Plan, Scenario, replaced, value_at

MACHINE = ("device", "devices")
SAME_IN_ALL = ("model", *(f"hardware.{name}" for name in MACHINE))
"""What the ways of an example have in common: what is trained, and on what."""


def with_ways_following(example: Plan, before: Plan, after: Plan) -> Plan:
    """The plan with what one scenario got of these in all that had the same, and are else as the example has them.

    Not once a scenario was added: who copies one to try another model in it wants the others to stay.

    >>> ways = [{"name": way, "model": {"parameters": 8}, "training": {"method": way}} for way in ("full", "lora")]
    >>> example = Plan.model_validate({"title": "an example", "scenarios": ways})
    >>> mine = replaced(example, "scenarios[0].model", {"parameters": 70})
    >>> [scenario.model.parameters for scenario in with_ways_following(example, example, mine).scenarios]
    [70, 70]
    """
    if not len(before.scenarios) == len(after.scenarios) <= len(example.scenarios):
        return after
    ways = [_way(one) for one in example.scenarios]
    for path in SAME_IN_ALL:
        was = [value_at(one, path) for one in before.scenarios]
        now = [value_at(one, path) for one in after.scenarios]
        changed = [at for at, (old, new) in enumerate(zip(was, now, strict=True)) if old != new]
        if len(changed) != 1:
            continue
        for at, other in enumerate(after.scenarios):
            if now[at] == was[changed[0]] and _way(other) in ways:
                after = replaced(after, f"scenarios[{at}].{path}", now[changed[0]])
    return after


def _way(scenario: Scenario) -> tuple[object, ...]:
    hardware = scenario.hardware
    rest = (getattr(hardware, name) for name in type(hardware).model_fields if name not in MACHINE)
    return scenario.training, scenario.measured, *rest
