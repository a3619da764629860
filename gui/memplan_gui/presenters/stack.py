"""An estimate as a stacked chart: a bar for each instant, a segment for each term."""

from __future__ import annotations

from dataclasses import dataclass

from memplan import TERMS, Estimate, Instant, Unit, format_bytes, tr, tr_later, translated

NO_CHART = tr_later("There is nothing to draw: the estimate could not be made.")


@dataclass(frozen=True, slots=True)
class Segment:
    """One term's part of a bar."""

    term: str
    start: int
    size: int

    @property
    def end(self) -> int:
        """Where the next segment starts."""
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class Bar:
    """What is alive at one instant."""

    instant: str
    title: str
    where: str
    segments: tuple[Segment, ...]
    is_peak: bool
    """Whether it is the fullest of the bars shown."""
    decides: bool = False
    """Whether it is the fullest of all, first step and later ones: the band of the need stands on it."""

    @property
    def total(self) -> int:
        """The bar's length in bytes."""
        return self.segments[-1].end if self.segments else 0


@dataclass(frozen=True, slots=True)
class StackChart:
    """All that the chart shows."""

    bars: tuple[Bar, ...]
    usable: int
    device: str
    need_low: int
    need_high: int
    unit: Unit
    first_step: bool
    measured: tuple[tuple[str, int], ...] = ()
    """What a run of the scenario was seen to take: what was measured, how much."""

    @property
    def longest(self) -> int:
        """The furthest that anything but the usable line reaches."""
        return max([bar.total for bar in self.bars] + [self.need_high] + [size for _, size in self.measured])

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms that some bar has, in stack order."""
        present = {segment.term for bar in self.bars for segment in bar.segments}
        return tuple(term for term in TERMS if term in present)

    @property
    def overflows(self) -> bool:
        """Whether some bar reaches beyond the usable line."""
        return any(bar.total > self.usable for bar in self.bars)


def stack_chart(estimate: Estimate, unit: Unit, *, first_step: bool = False) -> StackChart:
    """The chart of the first step or of every later one. Loaded stands in both; inference has one chart."""
    loaded = [instant for instant in estimate.instants if instant.name == "loaded"]
    later = [instant for instant in estimate.instants if instant.name != "loaded"]
    shown = loaded + (list(estimate.first_step) if first_step and estimate.first_step else later)
    fullest = max(shown, key=lambda instant: instant.total_bytes)
    return StackChart(
        bars=tuple(
            bar(
                instant,
                is_peak=instant is fullest,
                decides=instant is fullest and instant.total_bytes >= estimate.peak.total_bytes,
            )
            for instant in shown
        ),
        usable=estimate.usable_bytes,
        device=estimate.device_name,
        need_low=estimate.need.low,
        need_high=estimate.need.high,
        unit=unit,
        first_step=first_step,
        measured=measured_marks(estimate),
    )


def measured_marks(estimate: Estimate) -> tuple[tuple[str, int], ...]:
    """What was measured, smallest first."""
    found = estimate.measured
    if found is None:
        return ()
    sizes = (
        (tr("tensors"), found.allocated_bytes),
        (tr("reserved"), found.reserved_bytes),
        (tr("monitor"), found.process_bytes),
    )
    return tuple((name, size) for name, size in sizes if size is not None)


def bar(instant: Instant, *, is_peak: bool, decides: bool = False) -> Bar:
    """One instant's bar."""
    segments, start = [], 0
    for term in TERMS:
        size = instant.bytes_by_term.get(term, 0)
        if size:
            segments.append(Segment(term, start, size))
            start += size
    return Bar(instant.name, translated(instant.title), instant.where, tuple(segments), is_peak, decides)


def chart_sentence(chart: StackChart) -> str:
    """The chart in one sentence, for who cannot see it.

    The largest terms of the peak, with their share of it; the rest is in the table.
    """
    peak = next(bar for bar in chart.bars if bar.is_peak)
    largest = sorted(peak.segments, key=lambda segment: -segment.size)[:3]
    parts = ", ".join(
        f"{translated(segment.term)} {format_bytes(segment.size, chart.unit)} ({segment.size / max(peak.total, 1):.0%})"
        for segment in largest
    )
    marks = ", ".join(f"{name} {format_bytes(size, chart.unit)}" for name, size in chart.measured)
    first = tr("Memory over the first step: the peak is {size} at {when}, of {usable} usable on {device}.")
    later = tr("Memory over a later step: the peak is {size} at {when}, of {usable} usable on {device}.")
    words = (first if chart.first_step else later).format(
        size=format_bytes(peak.total, chart.unit),
        when=peak.title.lower(),
        usable=format_bytes(chart.usable, chart.unit),
        device=chart.device,
    )
    measured = tr("Measured: {marks}.").format(marks=marks) if marks else ""
    return " ".join(filter(None, (words, tr("Largest: {terms}.").format(terms=parts), measured)))
