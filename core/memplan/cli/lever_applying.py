"""A plan with levers applied: those that are named, or each scenario's least costly set that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from memplan.cli.lever_answers import LeversAnswer
from memplan.cli.tables import print_labelled
from memplan.cli.text import verdict_line
from memplan.errors import MemplanError
from memplan.estimate import estimate
from memplan.levers import LEVERS, Lever
from memplan.making_fit import proposal_sentence, uses_words
from memplan.plan.edit import replaced
from memplan.plan.scenario import Plan, Scenario
from memplan.result import Estimate
from memplan.units import Unit


@dataclass(frozen=True, slots=True)
class Changed:
    """A scenario with levers applied."""

    scenario: Scenario
    levers: str
    """What was applied, in words; empty where nothing was."""
    estimate: Estimate


def named_lever(text: str) -> Lever:
    """Find the lever that `--apply` names, by its id or its title.

    Raises:
        MemplanError: there is none; the nearest ids are the remedy.
    """
    by_name = {lever.id: lever for lever in LEVERS} | {lever.title.casefold(): lever for lever in LEVERS}
    found = by_name.get(text) or by_name.get(text.casefold())
    if found is None:
        near = [by_name[name].id for name in get_close_matches(text.casefold(), by_name, 3, 0.5)]
        known = ", ".join(dict.fromkeys(near)) or ", ".join(lever.id for lever in LEVERS)
        raise MemplanError(f"there is no lever {text!r}.", place="--apply", remedy=f"There are: {known}.")
    return found


def changed_by(levers: Sequence[Lever], answers: Sequence[LeversAnswer]) -> tuple[Changed, ...]:
    """The scenarios with these levers applied, one upon the other; without any, with the least costly set that fits.

    Raises:
        MemplanError: a lever does not apply to a scenario, or nothing makes it fit; nothing is to be saved then.
    """
    return tuple(_named(levers, one.scenario) if levers else _best(one) for one in answers)


def _named(levers: Sequence[Lever], scenario: Scenario) -> Changed:
    then, titles = scenario, dict[str, None]()
    for lever in levers:
        if lever.is_on(then):
            continue
        if (reason := lever.applies(then)) is not None:
            raise MemplanError(
                f"{lever.title} does not apply: {reason}.",
                place=scenario.name,
                remedy="Leave it out, or choose another scenario with --scenario.",
            )
        then = lever.apply(then)
        titles[lever.id] = None
    used = [lever for lever in LEVERS if lever.id in titles]
    words = ", ".join(f"{one.title} ({one.comes_to(then)})" if one.comes_to else one.title for one in used)
    return Changed(then, words, estimate(then))


def _best(answer: LeversAnswer) -> Changed:
    proposal = answer.proposal
    if proposal.now.fits:
        return Changed(answer.scenario, "", answer.estimate)
    if proposal.best is None:
        raise MemplanError(
            f"there is nothing to save: {proposal_sentence(proposal)}",
            place=answer.scenario.name,
            remedy="Let more change with --free, or name the levers with --apply.",
        )
    return Changed(proposal.best.scenario, uses_words(proposal.best), estimate(proposal.best.scenario))


def plan_of(plan: Plan, positions: Sequence[int], changed: Sequence[Changed]) -> Plan:
    """The plan with the scenarios at these positions as they were changed."""
    for position, one in zip(positions, changed, strict=True):
        plan = replaced(plan, f"scenarios[{position}]", one.scenario)
    return plan


def print_changed(changed: Sequence[Changed], output: str | None, unit: Unit) -> None:
    """Print what each scenario comes to, and where the plan with all of them was saved."""
    from memplan.cli.terminal import console

    out = console()
    out.print()
    out.print(f"Saved {output}:" if output else "With the levers applied (-o PLAN saves the plan):", markup=False)
    for one in changed:
        print_labelled(out, one.scenario.name, f"{one.levers or 'as it was'}", least=0)
        out.print(verdict_line(one.estimate, unit))
