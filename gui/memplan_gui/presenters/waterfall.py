"""A waterfall: one peak, what each step takes away from it or adds to it, another peak. Plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memplan import TERMS, Judged, TermName, Unit, Verdict, format_bytes, tr, translated, verdict_title, verdict_tone
from memplan_gui.presenters.stack import Segment

Terms = Mapping[TermName, int]
"""What a peak is made of."""


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    """A bar: a whole peak at both ends, between them what a step takes away or adds."""

    title: str
    figure: str
    """What stands behind the bar: the need, or the difference with its sign."""
    segments: tuple[Segment, ...]
    start: int
    end: int
    level: int
    """The need after it: the end of a bar that adds, the start of one that takes away."""
    verdict: Verdict
    """After it."""
    tip: str
    usable: int | None = None
    """Of a whole peak: what its device gives."""
    is_scaled: bool = False
    """Whether its segments are shares of the difference: other terms moved the other way."""

    @property
    def is_whole(self) -> bool:
        """Whether it is a peak, not a step."""
        return self.usable is not None


@dataclass(frozen=True, slots=True)
class Waterfall:
    """All that the chart shows."""

    rows: tuple[WaterfallRow, ...]
    usable: int
    """What a device gives; the more of two."""
    device: str
    """The device; empty where the two peaks stand on different ones."""
    unit: Unit
    sentence: str

    @property
    def longest(self) -> int:
        """The furthest that a bar reaches."""
        return max(row.end for row in self.rows)

    @property
    def overflows(self) -> bool:
        """Whether a whole peak reaches beyond what its device gives."""
        return any(row.usable is not None and row.end > row.usable for row in self.rows)

    @property
    def note(self) -> str:
        """What a bar is whose terms moved both ways, and which are; empty where none did."""
        scaled = "; ".join(row.title for row in self.rows if row.is_scaled and row.segments)
        words = tr("Terms move both ways in: {titles}. The bar is what is left, and its colours are shares of it.")
        return words.format(titles=scaled) if scaled else ""

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms that some bar has, in stack order."""
        present = {segment.term for row in self.rows for segment in row.segments}
        return tuple(term for term in TERMS if term in present)


def whole_row(title: str, terms: Terms, need: int, found: Judged, peak: str, usable: int, unit: Unit) -> WaterfallRow:
    """A peak by its terms, with the verdict of what was `found`. `peak` says where it stands: "in backward"."""
    segments = tuple(_stacked([(term, terms.get(term, 0)) for term in TERMS], 0))
    figure = format_bytes(need, unit)
    parts = "\n".join(f"{translated(one.term)}: {format_bytes(one.size, unit)}" for one in segments)
    tip = f"{figure}, {peak}: {verdict_title(found).lower()}.\n{parts}"
    return WaterfallRow(title, figure, segments, 0, need, need, verdict_tone(found), tip, usable)


def part_row(
    title: str, terms: tuple[Terms, Terms], needs: tuple[int, int], verdict: Verdict, words: str, unit: Unit
) -> WaterfallRow:
    """What a step changes, divided as the terms that moved its way; together they come to the difference.

    Args:
        title: of the step.
        terms: what the peak is made of before and after it.
        needs: the peak before and after it.
        verdict: after it.
        words: what the mouse is told; how much each term moved follows.
        unit: of the figure.
    """
    before, after = terms
    difference = needs[1] - needs[0]
    sign = -1 if difference < 0 else 1
    moved = [(term, sign * (after.get(term, 0) - before.get(term, 0))) for term in TERMS]
    parts = [(term, size) for term, size in moved if size > 0]
    whole = sum(size for _, size in parts)
    start, end = sorted(needs)
    scaled = [(term, size * abs(difference) // whole) for term, size in parts] if whole else []
    segments = tuple(_stacked(scaled, start)) if difference else ()
    figure = format_bytes(difference, unit, signed=True)
    lines = [f"{translated(term)}: {format_bytes(sign * size, unit, signed=True)}" for term, size in moved if size]
    tip = "\n".join([words, *lines])
    is_scaled = whole != abs(difference)
    return WaterfallRow(title, figure, segments, start, end, needs[1], verdict, tip, is_scaled=is_scaled)


def _stacked(parts: Sequence[tuple[str, int]], start: int) -> list[Segment]:
    segments = []
    for term, size in parts:
        if size > 0:
            segments.append(Segment(term, start, size))
            start += size
    return segments
