"""The answer to "make it fit": the least costly set that does, what else there is, and what to do where none does."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass

from memplan.catalog import Device
from memplan.catalog import device as device_of
from memplan.catalog import devices as every_device
from memplan.fit import fewest_devices
from memplan.fit.devices import need_on
from memplan.levers import LEVERS, Lever, Preference
from memplan.making_fit.candidate import Candidate
from memplan.making_fit.preferences import PREFERENCES, Preferences
from memplan.making_fit.search import Branch, Progress, Steps, cheapest, cheapest_that_fits, smallest
from memplan.making_fit.space import Sets, Space
from memplan.memory.process import usable_bytes
from memplan.plan.scenario import Scenario

MOST_ON_FRONT = 12
_BRANCHES_SHARE, _OTHER_SHARE = 0.6, 0.1
SLOW = 2.0
"""Steps that take over twice as long: what else there is, is said beside what keeps the method."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would hold the set that needs least, where the device itself does not."""

    device: Device | None
    """The smallest of the same vendor; None where there is none."""
    devices: int | None
    """How many of the same kind, under the strategy that needs the fewest; None where not even thousands do."""
    strategy: str


@dataclass(frozen=True, slots=True)
class Freed:
    """What fits if one more thing may change."""

    preference: Preference
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Proposal:
    """The answer for one scenario, on its device, with its preferences."""

    now: Candidate
    """No lever at all."""
    best: Candidate | None
    """The least costly set that surely fits; None where there is none."""
    front: tuple[Candidate, ...]
    """Sets of which none is both cheaper and smaller than another: from the cheapest to the one that needs least."""
    remedy: Remedy | None
    """Where nothing fits."""
    preferences: Preferences
    freed: Freed | None = None
    """Where nothing fits: what is kept and would help most, were it free, with the least costly set that fits then.
    Where only what is slow fits, that of the method.
    """

    @property
    def smallest(self) -> Candidate:
        """The set that needs least."""
        return self.front[-1]

    @property
    def over_bytes(self) -> int:
        """By how much the best misses: its need's high end less usable; 0 where one fits."""
        return 0 if self.best is not None else self.smallest.need.high - self.smallest.usable_bytes


def making_fit(
    scenario: Scenario, preferences: Preferences | None = None, levers: Sequence[Lever] = LEVERS
) -> Generator[Progress, None, Proposal]:
    """Search for the least costly set of levers that fits, and for the front of memory against price.

    Yields how much of the work is done and returns the proposal; whoever wants no more of it stops asking.

    Args:
        scenario: as it is.
        preferences: what is kept; the usual ones without.
        levers: what may be tried.

    Raises:
        MemplanError: the scenario cannot be estimated.
    """
    wanted = preferences or Preferences()
    space = Space(Sets(scenario, wanted, levers), device_of(scenario.hardware.device))
    now = space.candidate(())
    found, best = yield from cheapest_that_fits(space, now, _BRANCHES_SHARE)
    front = yield from _front(space, found, now, best)
    remedy = None if best is not None else _remedy(front[-1])
    freed = None
    if best is None or best.slowdown > SLOW:
        freed = yield from _freed(scenario, wanted, levers, best)
    return Proposal(now, best, front, remedy, wanted, freed)


def make_fit(scenario: Scenario, preferences: Preferences | None = None, levers: Sequence[Lever] = LEVERS) -> Proposal:
    """The same in one go.

    A full fine-tune of an 8B model in bf16 misses an A100 of 80 GB by the copy that its optimizer's step makes:

    >>> scenario = Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.1-8B"}})
    >>> make_fit(scenario).best.titles
    ('Fused optimizer',)
    """
    searching = Steps(making_fit(scenario, preferences, levers))
    for _ in searching:
        pass
    return searching.result


def _freed(
    scenario: Scenario, wanted: Preferences, levers: Sequence[Lever], best: Candidate | None
) -> Generator[Progress, None, Freed | None]:
    """What helps most if it alone is free: the least costly set that fits then; None where that is no gain."""
    tried = [one for one in PREFERENCES if one in wanted.kept and (best is None or one == "method")]
    found: list[Freed] = []
    for place, one in enumerate(tried):
        space = Space(Sets(scenario, wanted.toggled(one), levers), device_of(scenario.hardware.device))
        share = _OTHER_SHARE / len(tried)
        for done in (searching := Steps(cheapest_that_fits(space, space.candidate(()), share))):
            yield 1.0 - _OTHER_SHARE + place * share + done
        _, fitting = searching.result
        if fitting is not None and (best is None or fitting.slowdown < best.slowdown):
            found.append(Freed(one, fitting))
    return min(found, key=lambda one: one.candidate.price, default=None)


def _front(
    space: Space, found: tuple[Branch, ...], now: Candidate, best: Candidate | None
) -> Generator[Progress, None, tuple[Candidate, ...]]:
    """From what is now to the set that needs least, in steps of equal ratio; the one that fits is among them."""
    end = smallest(space, found)
    points = [now, end] if end.need.high < now.need.high else [now]
    if best is not None and best not in points:
        points.append(best)
    high, ratio = now.need.high, (end.need.high / now.need.high) ** (1 / MOST_ON_FRONT)
    for step in range(MOST_ON_FRONT):
        yield _BRANCHES_SHARE + (1 - _BRANCHES_SHARE - _OTHER_SHARE) * step / MOST_ON_FRONT
        high = int(high * ratio) if ratio < 1 else 0
        if high <= end.need.high:
            break
        point = cheapest(space, found, high)
        if point is not None and point not in points:
            points.append(point)
            high = min(high, point.need.high)
    return _undominated(points)


def _undominated(points: Iterable[Candidate]) -> tuple[Candidate, ...]:
    front: list[Candidate] = []
    for point in sorted(points, key=lambda point: (point.price, point.need.high)):
        if not front or point.need.high < front[-1].need.high:
            front.append(point)
    return tuple(front)


def _remedy(least: Candidate) -> Remedy:
    own = device_of(least.scenario.hardware.device)
    hardware = least.scenario.hardware
    holding = [
        device
        for device in every_device()
        if device.vendor == own.vendor
        and need_on(device, least.allocated_bytes, hardware).high <= usable_bytes(device, hardware)
    ]
    fewest = fewest_devices(least.scenario, own).best
    return Remedy(
        device=min(holding, key=lambda device: usable_bytes(device, hardware), default=None),
        devices=fewest.devices if fewest else None,
        strategy=fewest.strategy if fewest else "",
    )
