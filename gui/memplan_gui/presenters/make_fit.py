"""What makes a plan fit, for the window: the way down from today's peak, and the ways that there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from memplan import (
    Candidate,
    Fall,
    Proposal,
    Unit,
    format_bytes,
    need_words,
    saving_words,
    slowdown_words,
    tr,
    tr_later,
    translated,
    uses_words,
)
from memplan_gui.presenters.cells import Amounts, Cells
from memplan_gui.presenters.waterfall import Waterfall, WaterfallRow, part_row, whole_row

NOW, THEN = tr_later("Now"), tr_later("Then")
WAY_TITLES = (tr_later("Need up to"), tr_later("At worst"), tr_later("Time against now"), tr_later("Levers"))
WAY_TIPS = (
    tr_later("The high end of the need's band with these levers."),
    tr_later("What is usable less that: free, or over where it does not fit."),
    tr_later("The device's time for a token with these levers, against the plan as it is now. It is estimated."),
    "",
)
STEP_TITLES = (
    *(tr_later("Lever"), tr_later("Saves"), tr_later("Need then")),
    *(tr_later("Peak"), tr_later("Costs beside time")),
)


def waterfall_chart(falls: Sequence[Fall], usable: int, device: str, unit: Unit) -> Waterfall:
    """The chart of a way down: the peak now, a bar for each lever, the peak then."""
    first, last = falls[0], falls[-1]
    rows = [_whole(translated(NOW), first, usable, unit)]
    for before, after in pairwise(falls):
        rows.append(_fallen(before, after, unit))
    if len(falls) > 1:
        rows.append(_whole(translated(THEN), last, usable, unit))
    return Waterfall(tuple(rows), usable, device, unit, _sentence(falls, usable, unit))


def _whole(title: str, fall: Fall, usable: int, unit: Unit) -> WaterfallRow:
    return whole_row(title, fall.terms, fall.need_bytes, fall, fall.peak, usable, unit)


def _fallen(before: Fall, after: Fall, unit: Unit) -> WaterfallRow:
    """What a lever takes away."""
    figure = saving_words(before.need_bytes - after.need_bytes, unit)
    plain = tr("{lever} changes the need by {amount}.")
    moved = tr("{lever} changes the need by {amount}; the peak is then {when}.")
    words = plain if after.peak == before.peak else moved
    tip = f"{words.format(lever=after.title, amount=figure, when=after.peak)} {_price(after)}"
    needs = before.need_bytes, after.need_bytes
    return part_row(after.title, (before.terms, after.terms), needs, after.verdict, tip, unit)


def _sentence(falls: Sequence[Fall], usable: int, unit: Unit) -> str:
    first, last = falls[0], falls[-1]
    steps = ", ".join(f"{fall.title} {saving_words(fall.saving_bytes, unit)}" for fall in falls[1:])
    sizes = {"now": format_bytes(first.need_bytes, unit), "then": format_bytes(last.need_bytes, unit)}
    words = tr("The peak falls from {now} now to {then} of {usable} usable: {steps}.")
    words = words if steps else tr("The peak is {now} of {usable} usable.")
    return words.format(**sizes, usable=format_bytes(usable, unit), steps=steps)


def _price(fall: Fall) -> str:
    return translated(fall.use.lever.price) if fall.use else ""


@dataclass(frozen=True, slots=True)
class FigureRows:
    """A table's cells, and which columns stand at the right."""

    cells: tuple[tuple[str, ...], ...]
    right: frozenset[int]
    bold: int = -1
    """The row that is the answer."""


def way_rows(proposal: Proposal, unit: Unit) -> FigureRows:
    """The ways that there are, from the cheapest to the one that needs least; the cheapest that fits is bold."""
    cells = [
        (
            format_bytes(way.need.high, unit),
            _room_words(way, unit),
            slowdown_words(way.slowdown),
            uses_words(way) if way.uses else tr("as it is"),
        )
        for way in proposal.front
    ]
    best = proposal.front.index(proposal.best) if proposal.best in proposal.front else -1
    return FigureRows(tuple(cells), frozenset({0, 1, 2}), best)


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """One way in the chart of memory against time."""

    need_bytes: int
    slowdown: float
    fits: bool
    words: str


@dataclass(frozen=True, slots=True)
class Front:
    """All ways, from the cheapest to the one that needs least."""

    points: tuple[FrontPoint, ...]
    usable: int
    unit: Unit
    sentence: str


def front_of(proposal: Proposal, unit: Unit) -> Front:
    """The chart of the ways."""
    points = tuple(
        FrontPoint(way.need.high, way.slowdown, way.fits, f"{uses_words(way)}: {need_words(way, unit)}")
        for way in proposal.front
    )
    fitting = sum(point.fits for point in points)
    least = format_bytes(proposal.smallest.need.high, unit)
    sentence = tr("{count} ways, of which {fitting} fit; the one that needs least needs up to {least}.").format(
        count=len(points), fitting=fitting, least=least
    )
    return Front(points, proposal.now.usable_bytes, unit, sentence)


def _room_words(way: Candidate, unit: Unit) -> str:
    room = way.usable_bytes - way.need.high
    words = tr("{amount} free") if room >= 0 else tr("{amount} over")
    return words.format(amount=format_bytes(abs(room), unit).split(" ")[0])


def step_rows(falls: Sequence[Fall], unit: Unit) -> FigureRows:
    """The waterfall in figures and words."""
    cells = [
        (
            fall.title,
            saving_words(fall.saving_bytes, unit) if fall.use else "",
            format_bytes(fall.need_bytes, unit),
            fall.peak,
            _price(fall),
        )
        for fall in falls
    ]
    return FigureRows(tuple(cells), frozenset({1, 2}))


def way_cells(proposal: Proposal, amounts: Amounts) -> Cells:
    """The ways as they leave the window; room that lacks is negative."""
    need, room, time, levers = map(translated, WAY_TITLES)
    rows = (
        (
            amounts.figure(way.need.high),
            amounts.figure(way.usable_bytes - way.need.high),
            slowdown_words(way.slowdown),
            uses_words(way) if way.uses else tr("as it is"),
        )
        for way in proposal.front
    )
    return Cells((amounts.titled(need), amounts.titled(room), time, levers), tuple(rows))


def step_cells(falls: Sequence[Fall], amounts: Amounts) -> Cells:
    """The waterfall's table as it leaves the window."""
    lever, saves, need, peak, costs = map(translated, STEP_TITLES)
    rows = (
        (
            fall.title,
            amounts.figure(fall.saving_bytes) if fall.use else "",
            amounts.figure(fall.need_bytes),
            fall.peak,
            _price(fall),
        )
        for fall in falls
    )
    return Cells((lever, amounts.titled(saves), amounts.titled(need), peak, costs), tuple(rows))
