"""What was found about making a plan fit, in words: the same ones in the window and on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.catalog import device as device_of
from memplan.checks import runs_alone
from memplan.choice_titles import choice_title
from memplan.estimate import estimate
from memplan.making_fit.candidate import Candidate
from memplan.making_fit.preferences import PREFERENCE_TITLES
from memplan.making_fit.proposal import Proposal
from memplan.number_style import number
from memplan.sentences import slowdown_words
from memplan.translation import tr, translated
from memplan.units import Unit, format_bytes


def proposal_sentence(proposal: Proposal, unit: Unit = "gib") -> str:
    """Say what makes it fit: "Fits with Fused optimizer: needs up to 66.3 GiB of 75.1 GiB usable, no slower …"."""
    hardware = proposal.now.scenario.hardware
    if proposal.now.fits and runs_alone(hardware, device_of(hardware.device)):
        return tr("What each device holds fits, but devices of this kind cannot share a run: no lever changes that.")
    if proposal.now.fits:
        return tr("Fits as it is: nothing has to change.")
    if proposal.best is not None:
        words = tr("Fits with {levers}: {need}.")
        fits = words.format(levers=uses_words(proposal.best), need=need_words(proposal.best, unit))
        return f"{fits} {freed_words(proposal, unit)}".strip()
    least = proposal.smallest
    missed = tr("Nothing that may change makes it fit: at best it is {size} over.")
    if least.uses:
        missed = tr("Nothing that may change makes it fit: at best it is {size} over, with {levers}.")
    words = missed.format(size=format_bytes(proposal.over_bytes, unit), levers=uses_words(least))
    return " ".join(filter(None, (words, remedy_words(proposal), freed_words(proposal, unit))))


def freed_words(proposal: Proposal, unit: Unit = "gib") -> str:
    """Say what fits if one more thing may change; empty where that was not asked, or is no gain."""
    if proposal.freed is None:
        return ""
    title, other = translated(PREFERENCE_TITLES[proposal.freed.preference]), proposal.freed.candidate
    words = tr("If the {what} may change, it fits with {levers}: {need}.")
    return words.format(what=title.lower(), levers=uses_words(other), need=need_words(other, unit))


def remedy_words(proposal: Proposal) -> str:
    """Say what would hold the set that needs least; empty where something fits."""
    remedy = proposal.remedy
    if remedy is None:
        return ""
    ways, num_devices = [], proposal.smallest.scenario.hardware.devices
    if remedy.device is not None:
        ways.append(tr("on {count} × {device}").format(count=number(num_devices), device=remedy.device.name))
    if remedy.devices is not None and remedy.devices > num_devices:
        more = tr("on {count} devices of this kind under {strategy}")
        strategy = translated(choice_title("strategy", remedy.strategy))
        ways.append(more.format(count=number(remedy.devices), strategy=strategy))
    if not ways:
        return tr("No device of this vendor would hold that.")
    words = tr("That would fit {way} or {other}.") if len(ways) > 1 else tr("That would fit {way}.")
    return words.format(way=ways[0], other=ways[-1])


def uses_words(candidate: Candidate) -> str:
    """Name the levers of a set: "LoRA, Checkpointing and Shorter sequence (1,024 tokens)"."""
    return listed(candidate.titles) or tr("no lever")


def need_words(candidate: Candidate, unit: Unit = "gib") -> str:
    """Say what a set needs and what it costs in time: "needs up to 66.3 GiB of 75.1 GiB usable, no slower than now"."""
    need, usable = format_bytes(candidate.need.high, unit), format_bytes(candidate.usable_bytes, unit)
    words = tr("needs up to {need} of {usable} usable, {time}").format(
        need=need, usable=usable, time=time_words(candidate.slowdown)
    )
    host = estimate(candidate.scenario).host
    if not host.device_bytes:
        return words
    hardware = candidate.scenario.hardware
    host_words = tr("takes {size} of host memory")
    if hardware.devices > hardware.devices_per_node:
        host_words = tr("takes {size} of host memory on each node")
    return f"{words}; {host_words.format(size=format_bytes(host.node_bytes, unit))}"


def time_words(slowdown: float) -> str:
    """Write a ratio of times, and what it is over: the plan as it is now.

    >>> time_words(1.314), time_words(1.004)
    ('+31% time against now', 'no slower than now')
    """
    words = slowdown_words(slowdown)
    return tr("no slower than now") if words == tr("no slower") else tr("{change} against now").format(change=words)


def listed(names: Sequence[str]) -> str:
    """Write a list as a sentence does.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    if len(names) < 2:
        return "".join(names)
    return tr("{names} and {last}").format(names=", ".join(names[:-1]), last=names[-1])
