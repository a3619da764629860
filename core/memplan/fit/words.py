"""What was found about fitting, in words: the same ones in the window and on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.fit.devices import DeviceFit, ranked_fits
from memplan.fit.fewest import Fewest
from memplan.fit.limits import Limit
from memplan.units import Unit, format_bytes


def fit_sentence(fits: Sequence[DeviceFit], unit: Unit = "gib") -> str:
    """Say on how many devices it fits and which is the smallest, or which miss is the nearest.

    "Fits 38 of 164 devices and is tight on 2; the smallest that holds it is RTX A6000 (45.0 GiB usable)."
    """
    if not fits:
        return "There is no device to hold it against."
    held, tight = (sum(fit.verdict == verdict for fit in fits) for verdict in ("fits", "tight"))
    first = ranked_fits(fits)[0]
    also = f" and is tight on {tight:,}" if tight else ""
    if held:
        usable = format_bytes(first.usable_bytes, unit)
        smallest = f"the smallest that holds it is {first.device.name} ({usable} usable)"
        return f"Fits {held:,} of {len(fits):,} devices{also}; {smallest}."
    if tight:
        return f"Fits none of {len(fits):,} devices{also}; the smallest of those is {first.device.name}."
    over = format_bytes(-first.headroom_bytes, unit)
    return f"Fits none of {len(fits):,} devices; the nearest is {first.device.name} ({over} over)."


def limit_words(limit: Limit) -> str:
    """Say how far a number can go: "5,347 tokens fit (5,248 as a round number); up to 6,101 would be tight"."""
    if limit.fits == 0:
        words = f"not even {'one token' if limit.unit == 'tokens' else 'one sequence'} fits"
        return f"{words}; up to {limit.tight:,} would be tight" if limit.tight else words
    words = _counted(limit.fits, limit.unit)
    if limit.bound == "positions":
        return f"{words}: the model has no more learned positions"
    if limit.bound == "range":
        return f"{words}, the most that a plan can hold"
    if limit.rounded not in (0, limit.fits):
        words += f" ({limit.rounded:,} as a round number)"
    return f"{words}; up to {limit.tight:,} would be tight" if limit.tight > limit.fits else words


def fewest_words(fewest: Fewest, unit: Unit = "gib") -> str:
    """Say how many devices hold it: "14; 16 in whole nodes", or that none up to 4,096 do."""
    if fewest.devices is None:
        over = format_bytes(fewest.over_bytes, unit)
        if fewest.most_devices == 1 and fewest.over_bytes == 0:
            return "the parallel sizes take several, and a run cannot be divided over them"
        if fewest.most_devices == 1:
            return f"one does not hold it ({over} over), and a run cannot be divided over several"
        return f"none up to {fewest.most_devices:,} hold it ({over} over at best)"
    words = f"{fewest.devices:,}"
    if fewest.devices == 1:
        return words
    if fewest.in_whole_nodes is None:
        return f"{words}; no whole nodes of {fewest.devices_per_node} hold it"
    if fewest.in_whole_nodes != fewest.devices:
        words += f"; {fewest.in_whole_nodes:,} in whole nodes"
    return words


def _counted(number: int, unit: str) -> str:
    return f"{number:,} {unit if number != 1 else unit.removesuffix('s')} fit{'s' if number == 1 else ''}"
