"""What can be done with the scenarios of a plan: add, duplicate, rename, remove, move. Each is one undoable step."""

from __future__ import annotations

from memplan import Scenario, replaced, tr
from memplan_gui.document import PlanDocument, new_plan
from memplan_gui.presenters.automatic_names import free_name, scenario_name


def add_scenario(document: PlanDocument) -> None:
    """Put a scenario with every default behind the others; it keeps the model at hand."""
    fresh = replaced(new_plan().scenarios[0], "model", document.scenario.model)
    _insert(document, fresh, len(document.plan.scenarios), scenario_name(fresh), tr("Add scenario"))


def take_scenario(document: PlanDocument, scenario: Scenario, text: str) -> None:
    """Put a scenario that came from elsewhere behind the others; `text` is what undo calls the step."""
    _insert(document, scenario, len(document.plan.scenarios), scenario.name or tr("imported"), text)


def duplicate_scenario(document: PlanDocument) -> None:
    """Put a copy beside the scenario that is looked at, so that one thing can be changed in it."""
    scenario = document.scenario
    _insert(document, scenario, document.current + 1, scenario.name, tr("Duplicate scenario"))


def rename_scenario(document: PlanDocument, position: int, name: str) -> bool:
    """Call a scenario otherwise."""
    document.end_gesture()
    taken = document.edit(f"scenarios[{position}].name", name.strip(), text=tr("Rename scenario"))
    document.end_gesture()
    return taken


def remove_scenario(document: PlanDocument, position: int) -> bool:
    """Take a scenario out; the last one stays."""
    scenarios = document.plan.scenarios
    if len(scenarios) == 1:
        return False
    left = scenarios[:position] + scenarios[position + 1 :]
    current = document.current - (position < document.current)
    return document.set_scenarios(left, min(current, len(left) - 1), tr("Remove scenario"))


def move_scenario(document: PlanDocument, start: int, end: int) -> bool:
    """Move a scenario to another place among the tabs."""
    scenarios = list(document.plan.scenarios)
    if not 0 <= end < len(scenarios) or start == end:
        return False
    looked_at = document.scenario
    scenarios.insert(end, scenarios.pop(start))
    current = next(position for position, scenario in enumerate(scenarios) if scenario is looked_at)
    return document.set_scenarios(tuple(scenarios), current, tr("Move scenario"))


def _insert(document: PlanDocument, scenario: Scenario, position: int, name: str, text: str) -> None:
    scenarios = document.plan.scenarios
    named = replaced(scenario, "name", free_name(name, {other.name for other in scenarios}))
    document.set_scenarios((*scenarios[:position], named, *scenarios[position:]), position, text)
