"""An example shows one model in several ways, and shows a person's own model in all of them. Plain Python, no Qt."""

from __future__ import annotations

from memplan import Plan, Scenario, replaced


def with_models_following(example: Plan, before: Plan, after: Plan) -> Plan:
    """The plan with a model that one scenario got in all that had the same, and are else as the example has them.

    Not once a scenario was added: who copies one to try another model in it wants the others to stay.

    >>> ways = [{"name": way, "model": {"parameters": 8}, "training": {"method": way}} for way in ("full", "lora")]
    >>> example = Plan.model_validate({"title": "an example", "scenarios": ways})
    >>> mine = replaced(example, "scenarios[0].model", {"parameters": 70})
    >>> [scenario.model.parameters for scenario in with_models_following(example, example, mine).scenarios]
    [70, 70]
    """
    if not len(before.scenarios) == len(after.scenarios) <= len(example.scenarios):
        return after
    pairs = enumerate(zip(before.scenarios, after.scenarios, strict=True))
    changed = [at for at, (old, new) in pairs if old.model != new.model]
    if len(changed) != 1:
        return after
    old, new = before.scenarios[changed[0]].model, after.scenarios[changed[0]].model
    ways = [_way(one) for one in example.scenarios]
    for at, other in enumerate(after.scenarios):
        if other.model == old and _way(other) in ways:
            after = replaced(after, f"scenarios[{at}].model", new)
    return after


def _way(scenario: Scenario) -> tuple[object, ...]:
    return scenario.training, scenario.hardware, scenario.measured
