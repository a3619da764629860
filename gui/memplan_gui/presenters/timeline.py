"""Memory over a step as a chart: its moments in order, its parts, what each moment says. Plain Python, no Qt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from memplan import (
    INSTANT_TITLES,
    TERMS,
    UNTIL_FORWARD_ENDS,
    CoursePoint,
    Estimate,
    LedgerRow,
    TermName,
    Unit,
    format_bytes,
    instant_words,
    peak_words,
    place_words,
    stage_words,
    tr,
    tr_later,
    translated,
)
from memplan_gui.presenters.cells import Amounts, Cells
from memplan_gui.presenters.labels import term_title
from memplan_gui.presenters.make_fit import FigureRows

SHOWN = {"both": (0, 1, 2), "first": (0, 1), "later": (0, 2)}
PLACE_TITLES = (tr_later("Step"), tr_later("Instant"), tr_later("Where"), tr_later("Total"))
STEP_TITLES = {1: tr_later("First step"), 2: tr_later("Later steps")}
STEP_NUMBERS = {0: "", 1: tr_later("first"), 2: tr_later("later")}
MOST_TENSORS = 12
WHOLE = 1.02
"""Rows that come to more than this of what a device holds are of the whole model, and say nothing of the device."""


@dataclass(frozen=True)
class Moment:
    """A point of the course, placed."""

    point: CoursePoint
    start: float
    """In widths of a layer from the left of the chart."""

    @property
    def end(self) -> float:
        """Until when it is so; equal to the start where memory only passes through it."""
        return self.start + self.point.width

    @property
    def middle(self) -> float:
        """Where a cursor on it stands."""
        return self.start + self.point.width / 2

    @cached_property
    def total(self) -> int:
        """All that is held."""
        return self.point.instant.total_bytes

    def size(self, term: TermName) -> int:
        """What one term holds."""
        return self.point.instant.bytes_by_term.get(term, 0)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the axis with a name."""

    title: str
    start: float
    end: float


@dataclass(frozen=True)
class TimelineChart:
    """All that the chart shows."""

    moments: tuple[Moment, ...]
    peak: int
    """The fullest moment's place; of equal ones the last, for it comes again with every step."""
    parts: tuple[Span, ...]
    """Loaded, forward, loss, backward, optimizer step."""
    steps: tuple[Span, ...]
    """The first step, later ones; none where there is one alone, as in inference."""
    terms: tuple[TermName, ...]
    usable: int
    device: str
    unit: Unit
    sentence: str

    @property
    def fullest(self) -> Moment:
        """The fullest moment."""
        return self.moments[self.peak]

    @property
    def width(self) -> float:
        """How wide all of it is."""
        return self.moments[-1].end

    @property
    def overflows(self) -> bool:
        """Whether some moment reaches beyond the usable line."""
        return self.fullest.total > self.usable

    @cached_property
    def stops(self) -> tuple[int, ...]:
        """The moments that a cursor stops at: the fullest ones of layers and of what stands outside."""
        return tuple(at for at, moment in enumerate(self.moments) if not moment.point.begins)


def timeline_chart(estimate: Estimate, unit: Unit, shown: str) -> TimelineChart | None:
    """The chart of the first step, of later ones or of both; None where the estimate has no course."""
    moments = tuple(_placed(one for one in estimate.course if one.instant.step in SHOWN[shown]))
    if not moments:
        return None
    totals = [moment.total for moment in moments]
    present = set[TermName]().union(*(moment.point.instant.bytes_by_term for moment in moments))
    chart = TimelineChart(
        moments=moments,
        peak=len(totals) - 1 - totals[::-1].index(max(totals)),
        parts=tuple(_parts(moments)),
        steps=tuple(_steps(moments)) if estimate.first_step else (),
        terms=tuple(term for term in TERMS if term in present),
        usable=estimate.usable_bytes,
        device=estimate.device_name,
        unit=unit,
        sentence="",
    )
    return replace(chart, sentence=timeline_sentence(estimate, chart))


def _placed(points: Iterable[CoursePoint]) -> Iterator[Moment]:
    offset, end, step = 0.0, 0.0, 0
    for point in points:
        if point.instant.step != step:
            offset, step = end, point.instant.step
        moment = Moment(point, offset + point.at)
        end = moment.end
        yield moment


def _parts(moments: tuple[Moment, ...]) -> Iterator[Span]:
    keys = [(one.point.instant.step, one.point.instant.name) for one in moments]
    for at, span in _runs(moments, keys):
        yield replace(span, title=INSTANT_TITLES[keys[at][1]])


def _steps(moments: tuple[Moment, ...]) -> Iterator[Span]:
    keys = [one.point.instant.step for one in moments]
    for at, span in _runs(moments, keys):
        if keys[at]:
            yield replace(span, title=STEP_TITLES[keys[at]])


def _runs(moments: tuple[Moment, ...], keys: Sequence[object]) -> Iterator[tuple[int, Span]]:
    """Where each run of equal keys begins, and what it spans."""
    begins = [at for at in range(len(keys)) if at == 0 or keys[at] != keys[at - 1]]
    for at, after in zip(begins, [*begins[1:], len(keys)], strict=True):
        end = moments[after].start if after < len(moments) else moments[-1].end
        yield at, Span("", moments[at].start, end)


def timeline_sentence(estimate: Estimate, chart: TimelineChart) -> str:
    """The chart in words: the fullest moment, and from where to where memory goes."""
    unit, top = chart.unit, chart.fullest
    loaded = next((one for one in chart.moments if one.point.instant.name == "loaded"), chart.moments[0])
    when = moment_place(top, chart)
    if top.total == estimate.peak.total_bytes:
        when = ", ".join(filter(None, (peak_words(estimate), place_words(estimate.peak))))
    words = tr("Fullest {when}: {size} of {usable} usable; {loaded} once loaded.").format(
        when=when,
        size=format_bytes(top.total, unit),
        usable=format_bytes(chart.usable, unit),
        loaded=format_bytes(loaded.total, unit),
    )
    stage = stage_words(estimate)
    return " ".join((words, tr("Of {stage}.").format(stage=stage))) if stage else words


def moment_place(moment: Moment, chart: TimelineChart) -> str:
    """Where a moment is, as a sentence goes on: "in backward of later steps, in layer 12 of 32"."""
    instant = moment.point.instant
    words = instant_words(instant)
    if instant.step and chart.steps:
        words = (tr("{when} of the first step") if instant.step == 1 else tr("{when} of later steps")).format(
            when=words
        )
    place = place_words(instant)
    return f"{words}, {place}" if place else words


def moment_title(moment: Moment, chart: TimelineChart) -> str:
    """What stands over the figures of a moment: its place, what it holds, how much of what is usable that is."""
    words = moment_place(moment, chart)
    share = tr("{share} of usable").format(share=f"{moment.total / max(chart.usable, 1):.0%}")
    mark = tr("the peak") if moment.total == chart.fullest.total else share
    return f"{words[:1].upper()}{words[1:]}: {format_bytes(moment.total, chart.unit)} ({mark})"


def term_rows(moment: Moment, chart: TimelineChart) -> FigureRows:
    """Each term of a moment, what it holds, its share of all; in stack order."""
    sizes = moment.point.instant.bytes_by_term.items()
    cells = tuple(
        (term_title(term), format_bytes(size, chart.unit), f"{size / max(moment.total, 1):.0%}") for term, size in sizes
    )
    return FigureRows(cells, frozenset((1, 2)))


def largest_tensors(estimate: Estimate, moment: Moment) -> tuple[tuple[TermName, LedgerRow], ...]:
    """The largest tensors that are held at a moment, each with its term, as far as terms are known by tensors."""
    instant, found = moment.point.instant, list[tuple[TermName, LedgerRow]]()
    for term in estimate.terms:
        held = moment.size(term.name)
        rows = [row for row in (_alive(row, moment) for row in term.tensors) if row is not None]
        if held and sum(row.total_bytes for row in rows) <= held * WHOLE:
            found += [(term.name, row) for row in rows]
        elif instant.name != "optimizer_step" and term.name not in ("weights", "adapters"):
            found += [(term.name, row) for row in rows if row.total_bytes <= held]
    return tuple(sorted(found, key=lambda pair: -pair[1].total_bytes)[:MOST_TENSORS])


def _alive(row: LedgerRow, moment: Moment) -> LedgerRow | None:
    """The part of a row that is held: a layer's tensors come with it in forward and go with it in backward."""
    instant = moment.point.instant
    if row.note == UNTIL_FORWARD_ENDS:
        if instant.name == "backward":
            return None
    elif row.note and not (instant.name == "backward" and instant.where.startswith("layer")):
        return None  # what is recomputed is there while its layer runs back
    if not row.first_layer:
        return row
    count = min(row.count, max(0, moment.point.layers_held - row.first_layer + 1))
    return replace(row, count=count, total_bytes=row.total_bytes // row.count * count) if count else None


def tensor_rows(estimate: Estimate, moment: Moment, unit: Unit) -> FigureRows:
    """The largest tensors of a moment as a table."""
    cells = tuple(
        (
            row.name,
            row.shape,
            row.dtype,
            str(row.count),
            format_bytes(row.total_bytes, unit),
            translated(term),
        )
        for term, row in largest_tensors(estimate, moment)
    )
    return FigureRows(cells, frozenset((3, 4)))


def table_titles(chart: TimelineChart) -> tuple[str, ...]:
    """What the columns of the table are."""
    return (*map(translated, PLACE_TITLES), *map(term_title, chart.terms))


def table_rows(chart: TimelineChart) -> FigureRows:
    """Every fullest moment in figures, in order."""
    rows = []
    for at in chart.stops:
        moment = chart.moments[at]
        instant = moment.point.instant
        sizes = (moment.total, *(moment.size(term) for term in chart.terms))
        figures = (format_bytes(size, chart.unit).split(" ")[0] if size else "–" for size in sizes)
        rows.append(
            (translated(STEP_NUMBERS[instant.step]), translated(INSTANT_TITLES[instant.name]), instant.where, *figures)
        )
    right = frozenset(range(3, 4 + len(chart.terms)))
    return FigureRows(tuple(rows), right, chart.stops.index(chart.peak))


def timeline_cells(chart: TimelineChart, amounts: Amounts) -> Cells:
    """The table as it leaves the window."""
    rows = []
    for at in chart.stops:
        moment = chart.moments[at]
        instant = moment.point.instant
        sizes = (moment.total, *(moment.size(term) for term in chart.terms))
        place = (translated(STEP_NUMBERS[instant.step]), translated(INSTANT_TITLES[instant.name]), instant.where)
        rows.append((*place, *map(amounts.figure, sizes)))
    step, instant_title, where, *figures = table_titles(chart)
    return Cells((step, instant_title, where, *map(amounts.titled, figures)), tuple(rows))
