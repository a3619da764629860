"""The least costly set of levers on each of many devices, which share what they walk."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable

from memplan.catalog import Device
from memplan.catalog import devices as every_device
from memplan.levers import has_flash
from memplan.making_fit.candidate import Candidate
from memplan.making_fit.preferences import Preferences
from memplan.making_fit.search import Progress, branches, cheapest_choice
from memplan.making_fit.space import Choice, Sets, Space, Walks
from memplan.plan.edit import replaced
from memplan.plan.scenario import Scenario


def cheapest_on_each(
    scenario: Scenario, devices: Iterable[Device] | None = None, preferences: Preferences | None = None
) -> Generator[Progress, None, tuple[tuple[Device, Candidate | None], ...]]:
    """Find the least costly set for each device, everything else as it is; None where none fits.

    Yields how much of the work is done.

    Args:
        scenario: as it is; how many devices it has counts for every kind alike.
        devices: which; all of the catalog without.
        preferences: what is kept; the usual ones without.

    Raises:
        MemplanError: the scenario cannot be estimated.
    """
    asked = tuple(every_device() if devices is None else devices)
    wanted, alike, walks = preferences or Preferences(), dict[Hashable, list[Space]](), Walks()
    for device in asked:
        spaces = alike.setdefault(_kind(device), [])
        sets = spaces[0].sets if spaces else Sets(replaced(scenario, "hardware.device", device.id), wanted, walks=walks)
        spaces.append(Space(sets, device))
    found: dict[str, Candidate | None] = {}
    for spaces in alike.values():
        known: Choice | None = None  # what fits a small device fits those with more, and bounds what is looked at there
        for space in sorted(spaces, key=lambda space: space.usable_bytes):
            yield len(found) / len(asked)
            known = _cheapest(space, known)
            found[space.device.id] = None if known is None else space.candidate(known)
    return tuple((device, found[device.id]) for device in asked)


def _cheapest(space: Space, known: Choice | None) -> Choice | None:
    high = space.high_bytes(())
    if high is not None and high <= space.usable_bytes:
        return ()
    if known is not None and (space.high_bytes(known) or space.usable_bytes) > space.usable_bytes:
        known = None
    steps = branches(space, *(() if known is None else (space.price(known),)))
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return cheapest_choice(space, done.value, space.usable_bytes, known)


def _kind(device: Device) -> Hashable:
    """What decides which levers apply on a device."""
    vendor = device.vendor if device.vendor in ("NVIDIA", "Apple") else ""
    return vendor, device.device_class == "unified", device.bf16_supported, has_flash(device)
