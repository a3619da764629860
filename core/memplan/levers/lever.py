"""What a lever is: a change that a person can make, when it can be made, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from memplan.catalog import Device
from memplan.catalog import device as device_of
from memplan.errors import UnknownEntryError
from memplan.number_style import number
from memplan.plan.edit import replaced, value_at
from memplan.plan.scenario import Scenario
from memplan.translation import tr

Preference = Literal["method", "optimizer", "precision", "sequence_length", "effective_batch", "devices", "host"]
"""What a person may want to keep as it is: what is trained, by which optimizer, in which dtypes, over how many tokens
at once, with how many sequences for one update, on how many devices; and that nothing waits on the host."""

Changes = Mapping[str, Any]
"""Path inside the scenario → value."""
Purpose = Literal["training", "inference"]
"""What a scenario runs for."""
ALWAYS: frozenset[Purpose] = frozenset({"training", "inference"})


@dataclass(frozen=True, slots=True)
class Lever:
    """One change that a person can make.

    Args:
        id: what programs call it.
        title: what a person reads on the toggle.
        short: what it costs beside time, in as many words as a card has room for.
        price: what it costs beside time, a sentence.
        does: what it does to memory, a sentence.
        idle: when it does not help, a sentence.
        source: where the price is known from.
        group: levers of one group set the same thing, so that only one of them is on.
        on: what it sets.
        off: what is set for taking it away again; empty where it cannot be taken away.
        is_on: says whether a scenario uses it already.
        why_not: says why it cannot be used with a scenario; None where it can.
        changes_what: what a person may want to keep, and would not with it.
        counts_as: what it costs beside time, as the slowdown that is thought as bad: 0.05 is like steps that take 5%
            longer.
        times: how often it can be used, one upon the other.
        comes_to: what a scenario has of it, for levers that can be used again: "1,024 tokens".
        is_advised: whether it is proposed at all by a search for what fits.
        serves: what runs it is for: those that train, unless it says otherwise.
    """

    id: str
    title: str
    short: str
    price: str
    does: str
    idle: str
    source: str
    group: str
    on: Callable[[Scenario], Changes]
    off: Changes
    is_on: Callable[[Scenario], bool]
    why_not: Callable[[Scenario], str | None]
    changes_what: Preference | None = None
    counts_as: float = 0.0
    times: int = 1
    comes_to: Callable[[Scenario], str] | None = None
    is_advised: bool = True
    serves: frozenset[Purpose] = frozenset({"training"})

    def applies(self, scenario: Scenario) -> str | None:
        """Why the scenario cannot use it, in words; None where it can."""
        if purpose_of(scenario) not in self.serves:
            return tr("inference trains nothing") if infers(scenario) else tr("for inference alone")
        return None if self.is_on(scenario) else self.why_not(scenario)

    def changes(self, scenario: Scenario) -> dict[str, Any]:
        """What toggling it sets."""
        return dict(self.off if self.is_on(scenario) else self.on(scenario))

    def apply(self, scenario: Scenario) -> Scenario:
        """The scenario with the lever on."""
        return scenario if self.is_on(scenario) else changed(scenario, self.on(scenario))

    def remove(self, scenario: Scenario) -> Scenario:
        """The scenario without the lever; what it had set goes to what is usual without it."""
        return changed(scenario, self.off) if self.is_on(scenario) else scenario


def changed(scenario: Scenario, changes: Changes) -> Scenario:
    """The scenario with several values changed."""
    for path, value in changes.items():
        scenario = replaced(scenario, path, value)
    return scenario


def never(scenario: Scenario) -> bool:
    """Says of a lever that can be used again and again that it is not on."""
    return False


def always(scenario: Scenario) -> None:
    """Says of a lever that nothing speaks against it."""


def setting(
    *,
    on: Changes,
    off: Changes,
    is_on: Callable[[Scenario], bool] | None = None,
    why_not: Callable[[Scenario], str | None] = always,
    **facts: Any,
) -> Lever:
    """A lever that sets fixed values, and is on when they are set."""

    def all_set(scenario: Scenario) -> bool:
        return all(value_at(scenario, path) == value for path, value in on.items())

    return Lever(on=lambda scenario: on, off=off, is_on=is_on or all_set, why_not=why_not, **facts)


def device_in(scenario: Scenario) -> Device | None:
    """The scenario's device; None where the catalog has none of that name."""
    try:
        return device_of(scenario.hardware.device)
    except UnknownEntryError:
        return None


def infers(scenario: Scenario) -> bool:
    """Whether it trains nothing."""
    return purpose_of(scenario) == "inference"


def purpose_of(scenario: Scenario) -> Purpose:
    """What it runs for."""
    return "inference" if scenario.training.method == "inference" else "training"


def adapts(scenario: Scenario) -> bool:
    """Whether it trains adapters."""
    return scenario.training.method in ("lora", "qlora")


def micro_batch_words(scenario: Scenario) -> str:
    """Its micro-batch: "micro-batch 4"."""
    return tr("micro-batch {count}").format(count=number(scenario.training.micro_batch))


def half_the_sequences(scenario: Scenario) -> Changes:
    """Half its micro-batch, and nothing that makes up for it."""
    return {"training.micro_batch": scenario.training.micro_batch // 2}


def no_fewer_sequences(scenario: Scenario) -> str | None:
    """Why it cannot have fewer sequences at once; None where it can."""
    return tr("the micro-batch is 1 already") if scenario.training.micro_batch == 1 else None
