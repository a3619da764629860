"""From today's peak to that of a set of levers, one lever at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memplan.estimate import estimate
from memplan.making_fit.candidate import Candidate, Use
from memplan.plan.scenario import Scenario
from memplan.result import Estimate, Need, TermName, Verdict
from memplan.sentences import peak_words


@dataclass(frozen=True, slots=True)
class Fall:
    """One lever on the way, after those before it."""

    title: str
    use: Use | None
    """None for where it starts."""
    need_bytes: int
    need: Need
    saving_bytes: int
    """Of the need, by this lever after those before it; 0 for where it starts."""
    terms: Mapping[TermName, int]
    """What the peak is made of, after it."""
    peak: str
    """Where the peak stands, after it: "in backward"."""
    verdict: Verdict
    runs_alone: bool = False
    """Whether the run is divided over devices that cannot share one."""


def waterfall(now: Scenario, candidate: Candidate) -> tuple[Fall, ...]:
    """Apply a candidate's levers one by one, at each turn the one that saves most then.

    Raises:
        MemplanError: a scenario on the way cannot be estimated.
    """
    scenario, found, left = now, estimate(now), list(candidate.uses)
    falls = [_fall("Now", None, found, 0)]
    while left:
        tried = [(use, made) for use in left if (made := use.apply(scenario)) is not None]
        if not tried:
            break
        then = [(estimate(made), use, made) for use, made in tried]
        after, use, scenario = min(then, key=lambda one: one[0].need_bytes)
        falls.append(_fall(use.title_in(scenario), use, after, found.need_bytes - after.need_bytes))
        found = after
        left.remove(use)
    return tuple(falls)


def _fall(title: str, use: Use | None, after: Estimate, saving: int) -> Fall:
    return Fall(
        title=title,
        use=use,
        need_bytes=after.need_bytes,
        need=after.need,
        saving_bytes=saving,
        terms=after.peak.bytes_by_term,
        peak=peak_words(after),
        verdict=after.verdict,
        runs_alone=after.runs_alone,
    )
