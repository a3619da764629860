"""What was found about making a plan fit, in words: the same ones in the window and on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.choice_titles import choice_title
from memplan.estimate import estimate
from memplan.making_fit.candidate import Candidate
from memplan.making_fit.preferences import PREFERENCE_TITLES, PREFERENCES, Preferences
from memplan.making_fit.proposal import Proposal
from memplan.number_style import number
from memplan.sentences import slowdown_words
from memplan.units import Unit, format_bytes


def proposal_sentence(proposal: Proposal, unit: Unit = "gib") -> str:
    """Say what makes it fit: "Fits with Fused optimizer: needs up to 66.3 GiB of 75.1 GiB usable, no slower."."""
    if proposal.now.fits:
        return "Fits as it is: nothing has to change."
    if proposal.best is not None:
        fits = f"Fits with {uses_words(proposal.best)}: {need_words(proposal.best, unit)}."
        return f"{fits} {freed_words(proposal, unit)}".strip()
    least = proposal.smallest
    tried = f", with {uses_words(least)}" if least.uses else ""
    return (
        f"Nothing that may change makes it fit: at best it is {format_bytes(proposal.over_bytes, unit)} over{tried}. "
        f"{remedy_words(proposal)} {freed_words(proposal, unit)}"
    ).strip()


def freed_words(proposal: Proposal, unit: Unit = "gib") -> str:
    """Say what fits if one more thing may change; empty where that was not asked, or is no gain."""
    if proposal.freed is None:
        return ""
    what, other = PREFERENCE_TITLES[proposal.freed.preference].lower(), proposal.freed.candidate
    return f"If the {what} may change, it fits with {uses_words(other)}: {need_words(other, unit)}."


def remedy_words(proposal: Proposal) -> str:
    """Say what would hold the set that needs least; empty where something fits."""
    remedy = proposal.remedy
    if remedy is None:
        return ""
    ways, num_devices = [], proposal.smallest.scenario.hardware.devices
    if remedy.device is not None:
        ways.append(f"on {number(num_devices)} × {remedy.device.name}")
    if remedy.devices is not None and remedy.devices > num_devices:
        ways.append(
            f"on {number(remedy.devices)} devices of this kind under {choice_title('strategy', remedy.strategy)}"
        )
    return f"That would fit {' or '.join(ways)}." if ways else "No device of this vendor would hold that."


def uses_words(candidate: Candidate) -> str:
    """Name the levers of a set: "LoRA, Checkpointing and Shorter sequence (1,024 tokens)"."""
    return listed(candidate.titles) or "no lever"


def need_words(candidate: Candidate, unit: Unit = "gib") -> str:
    """Say what a set needs and what it costs in time: "needs up to 66.3 GiB of 75.1 GiB usable, no slower"."""
    need, usable = format_bytes(candidate.need.high, unit), format_bytes(candidate.usable_bytes, unit)
    words = f"needs up to {need} of {usable} usable, {slowdown_words(candidate.slowdown)}"
    host = estimate(candidate.scenario).host
    if not host.device_bytes:
        return words
    hardware = candidate.scenario.hardware
    where = " on each node" if hardware.devices > hardware.devices_per_node else ""
    return f"{words}; takes {format_bytes(host.node_bytes, unit)} of host memory{where}"


def kept_words(preferences: Preferences) -> str:
    """Name what must stay: "precision, sequence length"."""
    return ", ".join(PREFERENCE_TITLES[one].lower() for one in PREFERENCES if one in preferences.kept)


def listed(names: Sequence[str]) -> str:
    """Write a list as a sentence does.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
