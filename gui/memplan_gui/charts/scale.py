"""Where a number of bytes stands on a chart, and where its axis has ticks. Plain Python, no Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass

from memplan import UNIT_BYTES, UNIT_NAMES, Unit, number

LABELLED = 0.965
"""Ticks further along the axis than this have no room for a label."""
FAR_TOO_WIDE = 0.2
"""Below this use nothing can be read, so the axis does not wait."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from bytes to pixels."""

    low: float
    high: float
    left: float
    right: float

    def x(self, num_bytes: float) -> float:
        """The pixel of a number of bytes."""
        return self.left + (num_bytes - self.low) / (self.high - self.low) * (self.right - self.left)

    def bytes_at(self, x: float) -> float:
        """The number of bytes at a pixel."""
        return self.low + (x - self.left) / (self.right - self.left) * (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on the axis, and what is written there."""

    num_bytes: float
    label: str


def step_of(span: float, most: int) -> float:
    """The roundest step (1, 2 or 5 times a power of ten) that cuts the span into at most so many parts.

    >>> step_of(90, 6), step_of(0.7, 4)
    (20.0, 0.2)
    """
    rough = span / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    return float(f"{step:.6g}")


def decimals_of(step: float) -> int:
    """How many decimals tell multiples of a step apart.

    >>> decimals_of(20.0), decimals_of(0.5), decimals_of(0.02)
    (0, 1, 2)
    """
    return max(0, -math.floor(math.log10(step) + 1e-9))


def value_ticks(low: float, high: float, unit: Unit, most: int) -> list[Tick]:
    """Ticks at round values of the unit; the last label names it. One alone gives no measure: there are two at least.

    >>> [tick.label for tick in value_ticks(0, 84 * 2**30, "gib", 1)]
    ['0', '50 GiB']
    """
    size, end = UNIT_BYTES[unit], low + (high - low) * LABELLED
    step = step_of((high - low) / size, most)
    while math.floor(end / size / step + 1e-9) <= math.ceil(low / size / step - 1e-9):
        most = max(most, 1) + 1
        step = step_of((high - low) / size, most)
    decimals = decimals_of(step)
    first, last = math.ceil(low / size / step - 1e-9), math.floor(high / size / step + 1e-9)
    ticks = [Tick(at * step * size, grouped(at * step, decimals)) for at in range(first, last + 1)]
    labelled = [at for at, tick in enumerate(ticks) if tick.num_bytes <= end]
    if labelled:
        last = labelled[-1]
        ticks[last] = Tick(ticks[last].num_bytes, f"{ticks[last].label} {UNIT_NAMES[unit]}")
        ticks[last + 1 :] = [Tick(tick.num_bytes, "") for tick in ticks[last + 1 :]]
    return ticks


def grouped(value: float, decimals: int = 0) -> str:
    """A number with its digits in groups, as every sentence writes it.

    >>> grouped(8030261248)
    '8,030,261,248'
    """
    return number(value, f",.{decimals}f")


def axis_end(longest: float, usable: float, room_share: float) -> float:
    """Where an axis from zero ends that holds the longest bar, its total, and the usable line.

    Args:
        longest: the furthest that a bar reaches.
        usable: where the usable line stands.
        room_share: the fraction of the axis that the total behind the longest bar needs.
    """
    return max(longest / (1 - min(room_share, 0.5)), usable * 1.06, 1.0)


def is_far_too_wide(end: float, wanted: float) -> bool:
    """Whether an axis that ends there must be narrowed at once."""
    return wanted < end * FAR_TOO_WIDE


def is_too_wide(end: float, wanted: float) -> bool:
    """Whether an axis that ends there is narrowed once the eye has seen what changed."""
    return wanted < end * 0.999
