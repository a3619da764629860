"""All sets of levers that a search may propose, and what each needs and costs on one device.

A set is made of one option (or none) of each group, applied in the order of the groups. What a set allocates does not
depend on the device, so searches for several devices can share it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import log

from memplan.allocation import allocation
from memplan.catalog import Device
from memplan.fit.devices import need_on
from memplan.levers import LEVERS, Lever, Work, cached_keys, kept_on_host, links_of, work_of
from memplan.making_fit.candidate import Candidate, Use
from memplan.making_fit.preferences import Preferences
from memplan.memory.host import host_memory
from memplan.memory.process import overheads, slack, usable_bytes
from memplan.plan.edit import replaced
from memplan.plan.scenario import Scenario
from memplan.result import Need

BRANCHING = (
    "tensor", "method", "saved_modules", "weights_dtype", "master_weights", "double_quantization", "unquantized",
    "adapter_dtype", "devices", "sharding", "offload", "checkpointing", "loss", "batch",
)  # fmt: skip
"""Groups whose options are all looked at: one may need more than none of them. Those that may save time come first."""
FALLING = (
    "sequence", "sequences", "further_batch", "optimizer", "in_backward", "implementation", "attention", "rank",
    "gradients_dtype", "lora_dropout", "offload_activations",
)  # fmt: skip
"""Groups whose last option never needs more than any other one or none, whatever else is set. What is kept on the host
comes last: how long that takes depends on all the others.
"""

_FURTHER = "further_batch"
"""Halves the micro-batch further, once it was halved."""
_OF_THE_DEVICE = frozenset({"device", "devices_per_node", "used_by_others_bytes", "headroom"})

Choice = tuple[int, ...]
"""For each group the position of its option, 0 for none."""
MOST_HOST_BYTES: dict[str, int] = {"consumer": 256 * 2**30}
"""No way that takes more of a host's memory is proposed, by the class of its devices: a plan does not say how much its
hosts have. Desktop boards of two channels take four modules of 64 GB at most (AMD, X870; Intel, Z890)."""
MOST_SERVER_BYTES = 2**40
"""The same of other classes: DGX A100 has 1 TB or 2 TB, DGX H100 2 TB, and less is common elsewhere."""


@dataclass(frozen=True, slots=True)
class Walked:
    """What a set takes, whatever the device."""

    peak_bytes: int
    """What tensors and buckets take at the peak."""
    kept_on_host_bytes: int
    """What the layers of a device keep on the host for one micro-batch."""
    cached_bytes: int
    """Keys and values that are cached on a device."""
    host_bytes: int
    """What all devices of a host take of its memory."""


Walks = dict[Hashable, Walked]
"""What sets of one scenario take."""


@dataclass(frozen=True, slots=True)
class Group:
    """Options of which one is used, or none."""

    name: str
    options: tuple[Use, ...]
    floor: int
    """The option that needs least, for a bound: counted from 1, 0 for none. It may be one that is never proposed."""
    proposed: tuple[int, ...]
    """Positions of options that may be proposed."""


class Sets:
    """The sets of levers for one scenario, with what they allocate and ask for as far as it was asked: whatever the
    device, as long as the same levers apply on it.
    """

    def __init__(
        self,
        scenario: Scenario,
        preferences: Preferences,
        levers: Sequence[Lever] = LEVERS,
        walks: Walks | None = None,
    ) -> None:
        self.scenario, self.preferences = scenario, preferences
        self.branching = tuple(_group(name, scenario, levers, preferences) for name in BRANCHING)
        self.falling = tuple(_group(name, scenario, levers, preferences) for name in FALLING)
        self.groups = (*self.branching, *self.falling)
        self._batch = BRANCHING.index("batch")
        self._made: dict[Choice, Scenario | None] = {(): scenario}
        self._loosest: dict[Choice, Scenario] = {}
        self._walks = Walks() if walks is None else walks
        self._work: dict[Choice, tuple[Work, float]] = {}

    def made(self, choice: Choice) -> Scenario | None:
        """The scenario that a set makes; None where a part of it does not apply."""
        if choice not in self._made:
            before = self.made(choice[:-1])
            number, group = choice[-1], self.groups[len(choice) - 1]
            if before is not None and number:
                further = group.name == _FURTHER and not choice[self._batch]
                before = None if further else group.options[number - 1].apply(before)
            self._made[choice] = before
        return self._made[choice]

    def loosest(self, choice: Choice) -> Scenario:
        """The scenario with every later group at what needs least, where that applies; no set of them needs less."""
        if choice not in self._loosest:
            scenario = self.made(choice)
            assert scenario is not None, "only what applies is made looser"
            for group in self.groups[len(choice) :]:
                if group.floor and (group.name != _FURTHER or choice[self._batch]):
                    scenario = group.options[group.floor - 1].apply_as_often(scenario)
            self._loosest[choice] = scenario
        return self._loosest[choice]

    def walked(self, scenario: Scenario) -> Walked:
        """What a scenario takes on a device and on its host."""
        key = _walk_key(scenario)
        if key not in self._walks:
            found = allocation(scenario)
            host = host_memory(found.states, scenario, found.timeline.on_host)
            kept, cached = kept_on_host(scenario, found), cached_keys(scenario, found)
            self._walks[key] = Walked(found.peak_bytes, kept, cached, host.node_bytes)
        return self._walks[key]

    def uses(self, choice: Choice) -> tuple[Use, ...]:
        """The levers of a set."""
        used = [group.options[number - 1] for group, number in zip(self.groups, choice, strict=False) if number]
        return tuple(_merged(used))

    def work(self, choice: Choice) -> tuple[Work, float]:
        """What a set asks of a device, and what it costs beside time."""
        if choice not in self._work:
            scenario = self.made(choice)
            assert scenario is not None, "only what applies has a price"
            keeps = scenario.hardware.offload.activations or scenario.training.checkpointing == "offload"
            kept = self.walked(scenario).kept_on_host_bytes if keeps else 0
            cached = self.walked(scenario).cached_bytes if scenario.training.caches_keys else 0
            self._work[choice] = work_of(scenario, kept, cached), sum(use.caveat for use in self.uses(choice))
        return self._work[choice]


class Space:
    """The sets of levers on one device: what each needs there, and what it costs."""

    def __init__(self, sets: Sets, device: Device) -> None:
        self.sets, self.device = sets, device
        self.usable_bytes = usable_bytes(device, sets.scenario.hardware)
        self._links = links_of(device)
        self._before = sets.work(())[0].seconds_per_token(self._links)
        most = MOST_HOST_BYTES.get(device.device_class, MOST_SERVER_BYTES)
        self._most_host_bytes = max(most, sets.walked(sets.scenario).host_bytes)

    def need(self, scenario: Scenario) -> Need:
        """What a scenario needs on the device."""
        return need_on(self.device, self.sets.walked(scenario).peak_bytes, scenario.hardware)

    def high_bytes(self, choice: Choice) -> int | None:
        """The high end of what a set needs; None where it does not apply, changes a batch that is kept, or takes
        more of a host's memory than is plausible.
        """
        scenario = self.sets.made(choice)
        if scenario is None or not self.sets.preferences.hold(self.sets.scenario, scenario):
            return None
        if self.sets.walked(scenario).host_bytes > self._most_host_bytes:
            return None
        return self.need(scenario).high

    def least_bytes(self, choice: Choice) -> int:
        """What no set that begins like this can go below."""
        return self.need(self.sets.loosest(choice)).high

    def price(self, choice: Choice) -> float:
        """What a set costs, with no option of the groups that are not chosen yet."""
        return log(self._slowdown(choice)) + self.sets.work(choice)[1]

    def candidate(self, choice: Choice) -> Candidate:
        """A set with all that is known of it."""
        made = self.sets.made(choice)
        assert made is not None, "only what applies is a candidate"
        scenario = replaced(made, "hardware.device", self.device.id)
        held, over = allocation(scenario), overheads(self.device, scenario.hardware)
        return Candidate(
            scenario=scenario,
            uses=self.sets.uses(choice),
            allocated_bytes=held.peak_bytes,
            need=need_on(self.device, held.peak_bytes, scenario.hardware),
            need_bytes=held.fullest_bytes + slack(held.fullest_bytes) + over.workspace + over.context,
            slowdown=self._slowdown(choice),
            price=self.price(choice),
            usable_bytes=self.usable_bytes,
        )

    def _slowdown(self, choice: Choice) -> float:
        return self.sets.work(choice)[0].seconds_per_token(self._links) / self._before


def _walk_key(scenario: Scenario) -> Hashable:
    hardware = scenario.hardware.__dict__.items()
    return scenario.training, tuple(value for name, value in hardware if name not in _OF_THE_DEVICE)


def _group(name: str, scenario: Scenario, levers: Sequence[Lever], preferences: Preferences) -> Group:
    """The options of a group that can apply: those that something else makes apply are tried then."""
    ours = [lever for lever in levers if lever.group == name.removeprefix("further_")]
    allowed = [lever for lever in ours if preferences.allow(lever)]
    if name == "batch":  # the first half makes gradients pile up; whether that pays is looked at
        return _plain(name, [Use(lever) for lever in allowed])
    if name == _FURTHER:
        return _plain(name, [Use(lever, times) for lever in allowed for times in _times(lever, scenario, 1)])
    options = [Use(lever, times) for lever in allowed for times in _times(lever, scenario, 0)]
    floors = [lever for lever in ours if lever.id == "sgd" and allowed]
    if not floors:
        return _plain(name, options)
    return replace(_plain(name, [*options, Use(floors[0])]), proposed=tuple(range(1, len(options) + 1)))


def _plain(name: str, options: Sequence[Use]) -> Group:
    return Group(name, tuple(options), len(options), tuple(range(1, len(options) + 1)))


def _times(lever: Lever, scenario: Scenario, used: int) -> range:
    """How often a lever can still be used."""
    found = 0
    while found < lever.times and lever.applies(scenario) is None and not lever.is_on(scenario):
        scenario, found = lever.apply(scenario), found + 1
    least = 1 if lever.times == 1 else 0
    return range(1, max(found - used, least) + 1)


def _merged(used: Iterable[Use]) -> Iterable[Use]:
    """The same lever once, as often as it is used."""
    times: dict[str, Use] = {}
    for use in used:
        known = times.get(use.lever.id)
        times[use.lever.id] = use if known is None else Use(use.lever, known.times + use.times)
    return times.values()
