"""One set-up against every device: the step is walked once, what a device adds and gives is compared for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memplan.allocation import allocation
from memplan.calibration import calibrated
from memplan.catalog import Device
from memplan.catalog import devices as every_device
from memplan.checks import device_advice, runs_alone
from memplan.memory.process import need_of, overheads, slack, usable_bytes, verdict_of
from memplan.plan.hardware import Hardware
from memplan.plan.scenario import Scenario
from memplan.result import Advice, Need, Verdict

_CLASSES = ("datacentre", "workstation", "consumer", "unified")
_ORDER: dict[Verdict, int] = {"fits": 0, "tight": 1, "does_not_fit": 2}


@dataclass(frozen=True, slots=True)
class DeviceFit:
    """A set-up on one device: the same verdict, need and headroom as its estimate has there."""

    device: Device
    verdict: Verdict
    need: Need
    need_bytes: int
    """The one figure inside that band: the peak of the whole process."""
    usable_bytes: int
    advice: tuple[Advice, ...] = ()
    """What speaks against this device in particular: arithmetic or kernels that it lacks."""
    runs_alone: bool = False
    """Whether the run is divided over several devices, and those of this kind cannot share one."""

    @property
    def headroom_bytes(self) -> int:
        """Usable less need; negative by how much it does not fit."""
        return self.usable_bytes - self.need_bytes


def device_fits(scenario: Scenario, devices: Iterable[Device] | None = None) -> tuple[DeviceFit, ...]:
    """Say for each device whether the scenario fits there, everything else as it is set.

    Args:
        scenario: the set-up; how many devices it has and what others use of each count for every device alike.
        devices: which; all of the catalog without.

    Raises:
        MemplanError: the scenario's model cannot be estimated.
    """
    held, hardware = allocation(scenario), scenario.hardware
    allocated, fullest = held.peak_bytes, held.fullest_bytes
    fullest += slack(fullest)
    found, known = [], {}
    for device in every_device() if devices is None else devices:
        kind = device.vendor, device.architecture  # what a process holds beside its tensors depends on these alone
        if kind not in known:
            over = overheads(device, hardware)
            roomy, central = need_on(device, allocated, hardware), fullest + over.workspace + over.context
            known[kind] = calibrated(roomy, allocated + over.workspace, central, over, scenario.measured), central
        need, need_bytes = known[kind]
        usable = usable_bytes(device, hardware)
        advice = tuple(device_advice(scenario, device))
        alone = runs_alone(hardware, device)
        found.append(DeviceFit(device, verdict_of(need, usable), need, need_bytes, usable, advice, alone))
    return tuple(found)


def need_on(device: Device, allocated_bytes: int, hardware: Hardware) -> Need:
    """What a run cannot do without on a device, from what its tensors and buckets take."""
    over = overheads(device, hardware)
    return need_of(allocated_bytes + over.workspace, over)


def ranked_fits(fits: Iterable[DeviceFit]) -> tuple[DeviceFit, ...]:
    """What fits first, then what is tight, smallest device first; then what does not, nearest miss first.

    A device that something speaks against comes behind all others of its verdict.
    """

    def rank(fit: DeviceFit) -> tuple[int, bool, int]:
        missed = fit.verdict == "does_not_fit"
        return _ORDER[fit.verdict], bool(fit.advice), -fit.headroom_bytes if missed else fit.usable_bytes

    return tuple(sorted(fits, key=rank))


def ranked_by_class(fits: Iterable[DeviceFit]) -> tuple[DeviceFit, ...]:
    """The same order inside each class; data-centre devices first."""
    return tuple(sorted(ranked_fits(fits), key=lambda fit: _CLASSES.index(fit.device.device_class)))


def nearest_fits(fits: Iterable[DeviceFit], keep: str, *, fitting: int = 4, missing: int = 2) -> tuple[DeviceFit, ...]:
    """Of each class, the smallest devices that hold it and the nearest misses, in that order.

    A device stands for all of its vendor and class that give as much memory.

    Args:
        fits: every device.
        keep: the id of a device that is listed whatever its rank, as this computer and the person's own are.
        fitting: how many of a class that fit or are tight.
        missing: how many of a class that do not fit.
    """
    ranked = sorted(ranked_fits(fits), key=lambda fit: not _is_kept(fit, keep))
    listed: list[DeviceFit] = []
    for device_class in _CLASSES:
        alike: dict[tuple[str, int], DeviceFit] = {}
        of_class = [fit for fit in ranked if fit.device.device_class == device_class]
        for fit in of_class:
            alike.setdefault((fit.device.vendor, fit.usable_bytes), fit)
        its = ranked_fits(alike.values())
        held = [fit for fit in its if fit.verdict != "does_not_fit"][:fitting]
        missed = [fit for fit in its if fit.verdict == "does_not_fit"][:missing]
        kept = [fit for fit in of_class if _is_kept(fit, keep) and fit not in (*held, *missed)]
        listed += ranked_fits((*held, *missed, *kept))
    return tuple(listed)


def _is_kept(fit: DeviceFit, keep: str) -> bool:
    return fit.device.id == keep or fit.device.origin != "catalog"
