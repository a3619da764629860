"""What was found about fitting, in words: the same ones in the window and on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.choice_titles import choice_title
from memplan.fit.devices import DeviceFit, ranked_fits
from memplan.fit.fewest import Fewest
from memplan.fit.limits import Limit
from memplan.number_style import number
from memplan.plan.hardware import Hardware
from memplan.result import Verdict
from memplan.sentences import margin_words, verdict_title, verdict_tone
from memplan.translation import tr, tr_n, translated
from memplan.units import Unit, format_bytes


def fit_title(fit: DeviceFit) -> str:
    """A device's verdict in a table; where its share would fit, but its kind cannot share a run, that instead."""
    return verdict_title(fit)


def fit_tone(fit: DeviceFit) -> Verdict:
    """The colour and the mark that go with it."""
    return verdict_tone(fit)


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
        return tr("There is no device to hold it against.")
    count, ranked = len(counted), ranked_fits(counted)
    held, tight = (sum(fit.verdict == verdict for fit in counted) for verdict in ("fits", "tight"))
    figures = {
        "held": number(held) if held else tr("none"),
        "count": number(count),
        "tight": number(tight),
        "devices": number(hardware.devices),
        "strategy": translated(choice_title("strategy", hardware.sharding.strategy)),
    }
    words = _several(count, tight, hardware) if several else _alone(count, tight)
    return f"{words.format(**figures)}; {_smallest(ranked, hardware, unit)}."


def _alone(count: int, tight: int) -> str:
    if tight:
        return tr_n(
            "Fits {held} of {count} device and is tight on {tight}",
            "Fits {held} of {count} devices and is tight on {tight}",
            count,
        )
    return tr_n("Fits {held} of {count} device", "Fits {held} of {count} devices", count)


def _several(count: int, tight: int, hardware: Hardware) -> str:
    if hardware.sharding.strategy == "none":
        words = tr_n(
            "With {devices} devices of one kind without sharding it fits {held} of {count} kind that can share a run",
            "With {devices} devices of one kind without sharding it fits {held} of {count} kinds that can share a run",
            count,
        )
    else:
        words = tr_n(
            "With {devices} devices of one kind under {strategy} it fits {held} of {count} kind that can share a run",
            "With {devices} devices of one kind under {strategy} it fits {held} of {count} kinds that can share a run",
            count,
        )
    return tr("{fits} and is tight on {tight}").replace("{fits}", words) if tight else words


def _smallest(ranked: Sequence[DeviceFit], hardware: Hardware, unit: Unit) -> str:
    """Name the smallest device that holds it, of the plan's own vendor first; or the nearest miss."""
    best = ranked[0]
    if best.verdict == "does_not_fit":
        words = tr("the nearest is {device} ({size} over)")
        return words.format(device=best.device.name, size=format_bytes(-best.headroom_bytes, unit))
    if best.verdict == "tight":
        return tr("the smallest of those is {device}").format(device=_usable(best, unit))
    own = next((fit.device.vendor for fit in ranked if fit.device.id == hardware.device), best.device.vendor)
    alike = next((fit for fit in ranked if fit.device.vendor == own and fit.verdict == "fits"), None)
    if alike is None or alike is best:
        return tr("the smallest that holds it is {device}").format(device=_usable(best, unit))
    words = tr("the smallest of {vendor}'s that holds it is {device}, of all {best}")
    return words.format(vendor=own, device=_usable(alike, unit), best=_usable(best, unit))


def _usable(fit: DeviceFit, unit: Unit) -> str:
    return tr("{device} ({size} usable)").format(device=fit.device.name, size=format_bytes(fit.usable_bytes, unit))


def free_figure(fit: DeviceFit, unit: Unit = "gib") -> str:
    """What is usable less the need, as the verdict writes it: "58.5", or "−1.6" where it is missing."""
    amount = margin_words(fit.need_bytes, fit.need, fit.usable_bytes, unit).split(" ")[0]
    return f"−{amount}" if fit.headroom_bytes < 0 else amount


def limit_words(limit: Limit) -> str:
    """Say how far a number can go: "5,347 tokens fit (5,248 as a round number); up to 6,101 would be tight"."""
    tight = tr("up to {count} would be tight").format(count=number(limit.tight))
    if limit.fits == 0:
        words = tr("not even one token fits") if limit.unit == "tokens" else tr("not even one sequence fits")
        return f"{words}; {tight}" if limit.tight else words
    words = _counted(limit.fits, limit.unit)
    if limit.bound == "positions":
        return tr("{fits}: the model has no more learned positions").format(fits=words)
    if limit.bound == "range":
        return tr("{fits}, the most that a plan can hold").format(fits=words)
    if limit.rounded not in (0, limit.fits):
        words = tr("{fits} ({count} as a round number)").format(fits=words, count=number(limit.rounded))
    return f"{words}; {tight}" if limit.tight > limit.fits else words


def fewest_words(fewest: Fewest, unit: Unit = "gib") -> str:
    """Say how many devices hold it: "14; 16 in whole nodes", or that none up to 4,096 do."""
    if fewest.devices is None:
        over = format_bytes(fewest.over_bytes, unit)
        if fewest.most_devices == 1 and fewest.over_bytes == 0:
            return tr("the parallel sizes take several, and a run cannot be divided over them")
        if fewest.most_devices == 1:
            return tr("one does not hold it ({size} over), and a run cannot be divided over several").format(size=over)
        words = tr("none up to {count} hold it ({size} over at best)")
        return words.format(count=number(fewest.most_devices), size=over)
    words = number(fewest.devices)
    if fewest.devices == 1:
        return words
    if fewest.in_whole_nodes is None:
        none = tr("{devices}; no whole nodes of {node} hold it")
        return none.format(devices=words, node=fewest.devices_per_node)
    if fewest.in_whole_nodes != fewest.devices:
        whole = tr("{devices}; {nodes} in whole nodes")
        words = whole.format(devices=words, nodes=number(fewest.in_whole_nodes))
    return words


def _counted(count: int, unit: str) -> str:
    tokens = tr_n("{count} token fits", "{count} tokens fit", count)
    sequences = tr_n("{count} sequence fits", "{count} sequences fit", count)
    return (tokens if unit == "tokens" else sequences).format(count=number(count))
