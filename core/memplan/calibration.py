"""A scenario's measured peaks beside its estimate: how far apart they are, why, and what they make of the band.

The band of the need is wide because it holds for anybody's machine. A run that was measured on one's own says more, as
long as it is the run that is planned: then the need lies between what its tensors held and what its allocator took.
"""

from __future__ import annotations

from collections.abc import Iterator

from memplan.memory.process import SLACK_HIGH, SLACK_LOW, Overheads
from memplan.number_style import number
from memplan.plan.measured import Measured
from memplan.plan.scenario import Scenario
from memplan.result import Estimate, Measurement, Need
from memplan.units import Unit, format_bytes

AGREES = 0.04
"""Tensors measured and estimated this near to each other are of the same run: exact set-ups are within it."""
_SAME = 0.01
_NEAR = 0.05
"""A difference this near to the size of something is likely that thing."""


def calibrated(need: Need, allocated: int, central: int, over: Overheads, measured: Measured) -> Need:
    """The band of the need, narrowed by what was measured.

    Equation, with M, R, P the measured tensors, reserved and monitor: where |M / estimate − 1| ≤ 4%, low = M × 1.001 +
    context and high = min(M × 1.084, R) + context, with context = P − R where both are known and its usual band
    otherwise; of the old band that part, and the central figure. Assumption: reserved is at least what the run needs,
    since the run went through with it; where M is off by more it was another run, and nothing is narrowed.
    Source: the allocator's slack as in `memory.process`; what is measured needs no band.

    >>> over = Overheads(workspace=0, context_low=1, context=4, context_high=9)
    >>> calibrated(Need(1002, 1093), 1000, 1030, over, Measured(allocated_bytes=1010, reserved_bytes=1020))
    Need(low=1012, high=1030)
    >>> calibrated(Need(1002, 1093), 1000, 1030, over, Measured(allocated_bytes=1100))
    Need(low=1002, high=1093)
    """
    tensors = measured.allocated_bytes
    if tensors is None or abs(tensors / max(allocated, 1) - 1) > AGREES:
        return need
    context_low, context_high = over.context_low, over.context_high
    if measured.process_bytes and measured.reserved_bytes and measured.process_bytes > measured.reserved_bytes:
        context_low = context_high = measured.process_bytes - measured.reserved_bytes
    held = round(tensors * SLACK_HIGH)
    held = min(held, max(measured.reserved_bytes, tensors)) if measured.reserved_bytes else held
    low = max(need.low, round(tensors * SLACK_LOW) + context_low)
    high = min(need.high, held + context_high)
    return Need(low=min(low, central, need.high), high=max(high, central, need.low))


def measurement_of(scenario: Scenario, allocated: int, need: Need, narrowed: Need) -> Measurement | None:
    """What was measured, for the estimate's reader; None where nothing was."""
    measured = scenario.measured
    if measured.is_empty:
        return None
    return Measurement(
        allocated_bytes=measured.allocated_bytes,
        reserved_bytes=measured.reserved_bytes,
        process_bytes=measured.process_bytes,
        estimated_bytes=allocated,
        narrows=narrowed != need,
    )


def measured_words(estimate: Estimate, unit: Unit = "gib") -> str:
    """What was measured, how far the estimate is off, and what the difference is made of, as far as that is known.

    Empty where nothing was measured.
    """
    found = estimate.measured
    return " ".join(_sentences(estimate, found, unit)) if found is not None else ""


def _sentences(estimate: Estimate, found: Measurement, unit: Unit) -> Iterator[str]:
    figures = [
        f"{format_bytes(size, unit)} {name}"
        for size, name in (
            (found.allocated_bytes, "in tensors"),
            (found.reserved_bytes, "reserved"),
            (found.process_bytes, "on the monitor"),
        )
        if size
    ]
    yield f"{', '.join(figures)}."
    if found.allocated_bytes:
        yield _tensors(estimate, found.allocated_bytes, found.estimated_bytes, unit)
    if found.allocated_bytes and found.reserved_bytes:
        cache = found.reserved_bytes - found.allocated_bytes
        share = cache / found.allocated_bytes
        yield f"The allocator kept {format_bytes(max(cache, 0), unit)} beside them ({share:.0%}), some of it a cache."
    if found.reserved_bytes and found.process_bytes and found.process_bytes > found.reserved_bytes:
        context = format_bytes(found.process_bytes - found.reserved_bytes, unit)
        yield f"Context and libraries took {context}."
    if found.narrows:
        yield "The need's band is narrowed to what this run shows."


def _tensors(estimate: Estimate, measured: int, estimated: int, unit: Unit) -> str:
    """How measured tensors and the estimate compare."""
    off, share = measured - estimated, measured / max(estimated, 1) - 1
    told = f"the estimate's {format_bytes(estimated, unit)}"
    if abs(share) <= _SAME:
        return f"Tensors agree with {told} within 1%."
    more = "more" if off > 0 else "less"
    words = f"Tensors took {number(abs(share), '.1%')} {more} than {told}"
    like = _like(estimate, abs(off))
    if like:
        return f"{words}: {format_bytes(abs(off), unit)} is about {like}."
    if abs(share) <= AGREES:
        return f"{words}, within what estimates of known set-ups are off."
    return (
        f"{words}: something in the run is not as planned (a library's version, a dtype, a length, other work beside)."
    )


def _like(estimate: Estimate, num_bytes: int) -> str:
    """What of the estimate has that size; empty where nothing has."""
    for part, share in ((1, "the "), (2, "half of the ")):
        for term, size in estimate.peak.bytes_by_term.items():
            if term not in ("framework", "allocator slack") and abs(num_bytes / max(size // part, 1) - 1) <= _NEAR:
                return f"{share}{term}"
    return ""
