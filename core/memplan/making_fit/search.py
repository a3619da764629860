"""The least costly set of levers that needs no more than a bound: branch and bound.

Groups of levers that may need more as well as less are looked at option by option, cheapest sets first. Of what is
left, the option that needs least is known (`Space.loosest`): where even that is too much, no set of them helps; and
where a set costs as much as the best so far, no larger one is looked at.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Generic, TypeVar

from memplan.making_fit.candidate import Candidate
from memplan.making_fit.space import Choice, Space

Progress = float
"""How much of the work is done, from 0 to 1."""
T = TypeVar("T")
_NOT_ALWAYS = ("optimizer", "offload_activations")
"""Groups whose last option a set of the least need may lack: another needs less, or a host has too little."""
_PRICES = (0.4, 0.8, 1.6, inf)
"""Cheap sets are looked at alone first: most often one of them fits."""


class Steps(Generic[T]):
    """A generator's progress to iterate over, and its result once it is through."""

    result: T

    def __init__(self, steps: Generator[Progress, None, T]) -> None:
        self._steps = steps

    def __iter__(self) -> Iterator[Progress]:
        self.result = yield from self._steps


@dataclass(frozen=True, slots=True)
class Branch:
    """A choice in every group that has to be branched on, with its price and the least that anything below needs."""

    choice: Choice
    price: float
    least_bytes: int


def branches(space: Space, most_price: float = inf) -> Generator[Progress, None, tuple[Branch, ...]]:
    """Every branch that applies and costs less, cheapest first; yields how far it is."""
    found: list[Branch] = []
    sets = space.sets

    def look(choice: Choice, start: Progress, share: Progress) -> Generator[Progress, None, None]:
        if sets.made(choice) is None or space.price(choice) >= most_price:
            return
        if len(choice) == len(sets.branching):
            found.append(Branch(choice, space.price(choice), space.least_bytes(choice)))
            yield start + share
            return
        numbers = (0, *sets.branching[len(choice)].proposed)
        for done, number in enumerate(numbers):
            part = share / len(numbers)
            yield from look((*choice, number), start + done * part, part)

    yield from look((), 0.0, 1.0)
    return tuple(sorted(found, key=lambda branch: (branch.price, branch.choice)))


def cheapest(space: Space, found: tuple[Branch, ...], most_bytes: int) -> Candidate | None:
    """The least costly set whose need's high end is at most so many bytes; None where there is none."""
    best = cheapest_choice(space, found, most_bytes)
    return None if best is None else space.candidate(best)


def cheapest_choice(
    space: Space, found: tuple[Branch, ...], most_bytes: int, known: Choice | None = None
) -> Choice | None:
    """The same as a choice; `known` is one that is known to need no more."""
    best, price = known, inf if known is None else space.price(known)
    for branch in found:
        if branch.price >= price:
            break
        if branch.least_bytes <= most_bytes:
            below = _Below(space, most_bytes, price)
            below.search(branch.choice)
            if below.best is not None:
                best, price = below.best, below.price
    return best


Found = tuple[tuple[Branch, ...], Candidate | None]
"""Branches that were looked at, and the least costly set that fits."""


def cheapest_that_fits(space: Space, now: Candidate, share: Progress = 1.0) -> Generator[Progress, None, Found]:
    """The least costly set that fits, and the branches that were looked at: first cheap ones alone, then all.

    A set costs at least as much as its branch; so a set that costs less than the branches left out is the cheapest.
    """
    if now.fits:
        return (yield from branches(space, _PRICES[0])), now
    for place, most in enumerate(_PRICES):
        start, part = share * place / len(_PRICES), share / len(_PRICES)
        for done in (enumerating := Steps(branches(space, most))):
            yield start + part * done
        best = cheapest(space, enumerating.result, space.usable_bytes)
        if best is not None and best.price < most:
            return enumerating.result, best
    return enumerating.result, best


def smallest(space: Space, found: tuple[Branch, ...]) -> Candidate:
    """The set that needs least, and of such sets the least costly one that is found by taking levers away again."""
    groups = space.sets.falling
    ends = list(
        product(
            *((0, *group.proposed) if group.name in _NOT_ALWAYS else group.proposed[-1:] or (0,) for group in groups)
        )
    )
    best, least = found[0].choice + (0,) * len(groups), None
    for branch in sorted(found, key=lambda branch: branch.least_bytes):
        if least is not None and branch.least_bytes >= least:
            break
        for end in ends:
            choice = _applicable(space, branch.choice, end)
            high = space.high_bytes(choice)
            if high is not None and (least is None or high < least):
                best, least = choice, high
    return space.candidate(_without_idle(space, best))


class _Below:
    """The search below one branch: each group in turn without and with each of its options."""

    def __init__(self, space: Space, most_bytes: int, price: float) -> None:
        self._space, self._most_bytes = space, most_bytes
        self._groups = space.sets.groups
        self.best: Choice | None = None
        self.price = price

    def search(self, choice: Choice) -> None:
        """Look at a set and at all that only have more."""
        space = self._space
        if space.sets.made(choice) is None:
            return
        price = space.price(choice)
        if price >= self.price:
            return
        high = space.high_bytes(choice)
        if high is not None and high <= self._most_bytes:
            self.best, self.price = choice + (0,) * (len(self._groups) - len(choice)), price
            return
        if len(choice) == len(self._groups) or space.least_bytes(choice) > self._most_bytes:
            return
        for number in (0, *self._groups[len(choice)].proposed):
            self.search((*choice, number))


def _applicable(space: Space, start: Choice, end: Choice) -> Choice:
    """A set with those of its last options that apply."""
    choice = start
    for number in end:
        while number and space.sets.made((*choice, number)) is None:
            number -= 1
        choice = (*choice, number)
    return choice


def _without_idle(space: Space, choice: Choice) -> Choice:
    """The set without the levers that save nothing in it, the costliest first."""
    high = space.high_bytes(choice)
    order = sorted(
        (place for place, number in enumerate(choice) if number),
        key=lambda place: -space.sets.groups[place].options[choice[place] - 1].caveat,
    )
    for place in order:
        fewer = (*choice[:place], 0, *choice[place + 1 :])
        if space.high_bytes(fewer) == high:
            choice = fewer
    return choice
