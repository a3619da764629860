"""What was found about fitting, in words: the same ones in the window and on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.choice_titles import choice_title
from memplan.fit.devices import DeviceFit, ranked_fits
from memplan.fit.fewest import Fewest
from memplan.fit.limits import Limit
from memplan.number_style import number
from memplan.plan.hardware import Hardware
from memplan.units import Unit, format_bytes


def fit_sentence(fits: Sequence[DeviceFit], hardware: Hardware, unit: Unit = "gib") -> str:
    """Say on how many devices it fits and which is the smallest, of the plan's own vendor first; or the nearest miss.

    "Fits 38 of 164 devices and is tight on 2; the smallest of NVIDIA's that holds it is RTX A6000 (45.0 GiB usable)."
    Of several of a kind: "With 16 devices of one kind under FSDP2 it fits 38 of 100 kinds that can share a run; …".

    Args:
        fits: every device; those that cannot share a run are left out where the run is divided over several.
        hardware: the scenario's.
        unit: how amounts are written.
    """
    several = hardware.devices > 1
    counted = [fit for fit in fits if fit.device.joins_others] if several else fits
    if not counted:
        return "There is no device to hold it against."
    count, ranked = len(counted), ranked_fits(counted)
    held, tight = (sum(fit.verdict == verdict for fit in counted) for verdict in ("fits", "tight"))
    fitting = number(held) if held else "none"
    if several:
        words = f"With {number(hardware.devices)} devices of one kind {_divided(hardware)} it fits "
        words += f"{fitting} of {number(count)} {'kinds' if count > 1 else 'kind'} that can share a run"
    else:
        words = f"Fits {fitting} of {number(count)} {'devices' if count > 1 else 'device'}"
    words += f" and is tight on {number(tight)}" if tight else ""
    return f"{words}; {_smallest(ranked, hardware, unit)}."


def _divided(hardware: Hardware) -> str:
    strategy = hardware.sharding.strategy
    return "without sharding" if strategy == "none" else f"under {choice_title('strategy', strategy)}"


def _smallest(ranked: Sequence[DeviceFit], hardware: Hardware, unit: Unit) -> str:
    """Name the smallest device that holds it, of the plan's own vendor first; or the nearest miss."""
    best = ranked[0]
    if best.verdict == "does_not_fit":
        return f"the nearest is {best.device.name} ({format_bytes(-best.headroom_bytes, unit)} over)"
    if best.verdict == "tight":
        return f"the smallest of those is {_usable(best, unit)}"
    own = next((fit.device.vendor for fit in ranked if fit.device.id == hardware.device), best.device.vendor)
    alike = next((fit for fit in ranked if fit.device.vendor == own and fit.verdict == "fits"), None)
    if alike is None or alike is best:
        return f"the smallest that holds it is {_usable(best, unit)}"
    return f"the smallest of {own}'s that holds it is {_usable(alike, unit)}, of all {_usable(best, unit)}"


def _usable(fit: DeviceFit, unit: Unit) -> str:
    return f"{fit.device.name} ({format_bytes(fit.usable_bytes, unit)} usable)"


def limit_words(limit: Limit) -> str:
    """Say how far a number can go: "5,347 tokens fit (5,248 as a round number); up to 6,101 would be tight"."""
    if limit.fits == 0:
        words = f"not even {'one token' if limit.unit == 'tokens' else 'one sequence'} fits"
        return f"{words}; up to {number(limit.tight)} would be tight" if limit.tight else words
    words = _counted(limit.fits, limit.unit)
    if limit.bound == "positions":
        return f"{words}: the model has no more learned positions"
    if limit.bound == "range":
        return f"{words}, the most that a plan can hold"
    if limit.rounded not in (0, limit.fits):
        words += f" ({number(limit.rounded)} as a round number)"
    return f"{words}; up to {number(limit.tight)} would be tight" if limit.tight > limit.fits else words


def fewest_words(fewest: Fewest, unit: Unit = "gib") -> str:
    """Say how many devices hold it: "14; 16 in whole nodes", or that none up to 4,096 do."""
    if fewest.devices is None:
        over = format_bytes(fewest.over_bytes, unit)
        if fewest.most_devices == 1 and fewest.over_bytes == 0:
            return "the parallel sizes take several, and a run cannot be divided over them"
        if fewest.most_devices == 1:
            return f"one does not hold it ({over} over), and a run cannot be divided over several"
        return f"none up to {number(fewest.most_devices)} hold it ({over} over at best)"
    words = number(fewest.devices)
    if fewest.devices == 1:
        return words
    if fewest.in_whole_nodes is None:
        return f"{words}; no whole nodes of {fewest.devices_per_node} hold it"
    if fewest.in_whole_nodes != fewest.devices:
        words += f"; {number(fewest.in_whole_nodes)} in whole nodes"
    return words


def _counted(count: int, unit: str) -> str:
    return f"{number(count)} {unit if count != 1 else unit.removesuffix('s')} fit{'s' if count == 1 else ''}"
