"""From one scenario's peak to another's, for the window: a waterfall, its sentence, its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from memplan import (
    CHANGES_ORDER,
    Change,
    ChangedField,
    Estimate,
    Scenario,
    Unit,
    facts_at,
    format_bytes,
    peak_words,
    tr,
    tr_later,
    translated,
)
from memplan_gui.plan_fields import means_something
from memplan_gui.presenters.cells import Amounts, Cells
from memplan_gui.presenters.compare import value_text
from memplan_gui.presenters.make_fit import FigureRows
from memplan_gui.presenters.waterfall import Waterfall, WaterfallRow, part_row, whole_row

CHANGE_TITLES = (
    *(tr_later("Change"), tr_later("From"), tr_later("To")),
    *(tr_later("Of the peak"), tr_later("Peak then"), tr_later("Where")),
)
START = tr_later("Start")
MOST_FIELDS = 2
"""Of a step, that its title names."""
MOST_NAMED = 4
"""Changes that the sentence names; the table has them all."""


def telling(way: Sequence[Change], before: Scenario, after: Scenario) -> tuple[Change, ...]:
    """The way as it is told: what does nothing in a scenario counts as its default there, and has a dash for a value.

    A step that sets nothing but such fields is left out, unless it moves the peak.
    """
    told = list(way[:1])
    for step in way[1:]:
        fields = tuple(found for field in step.fields if (found := _told(field, before, after)))
        if fields or step.change_bytes:
            told.append(replace(step, fields=fields or step.fields))
    return tuple(told)


def _told(field: ChangedField, before: Scenario, after: Scenario) -> ChangedField | None:
    """The field with the values that do something; None where those are the same."""
    known = [means_something(field.path, one) for one in (before, after)]
    if all(known):
        return field
    default = facts_at(Scenario, field.path).default
    old, new = (
        value if is_known else default for value, is_known in zip((field.before, field.after), known, strict=True)
    )
    if old == new:
        return None
    return replace(field, before=old if known[0] else None, after=new if known[1] else None)


def change_waterfall(way: Sequence[Change], names: tuple[str, str], unit: Unit) -> Waterfall:
    """The chart from one peak to the other: a bar for each change that moves the peak."""
    start, end = way[0].estimate, way[-1].estimate
    rows = [_whole(names[0], way[0], unit)]
    for before, after in pairwise(way):
        if after.change_bytes:
            rows.append(_part(before, after, unit))
    rows.append(_whole(names[1], way[-1], unit))
    usable = {(one.device_name, one.usable_bytes) for one in (start, end)}
    device = end.device_name if len(usable) == 1 else ""
    most = max(start.usable_bytes, end.usable_bytes)
    return Waterfall(tuple(rows), most, device, unit, change_sentence(way, names, unit))


def change_sentence(way: Sequence[Change], names: tuple[str, str], unit: Unit) -> str:
    """How much more or less the second needs, and the changes that count most, in their order."""
    if len(way) == 1:
        return tr("“{one}” and “{other}” are set up alike.").format(one=names[0], other=names[1])
    start, end = (step.estimate.need_bytes for step in (way[0], way[-1]))
    moving = [step for step in way[1:] if step.change_bytes]
    largest = sorted(moving, key=lambda step: -abs(step.change_bytes))[:MOST_NAMED]
    parts = [f"{step_title(step, unit)} ({_signed(step.change_bytes, unit)})" for step in moving if step in largest]
    more = len(moving) - len(parts)
    listed = "; ".join([*parts, *([tr("{count} more").format(count=more)] if more else [])])
    if end == start:
        words = tr("The peak stays the same, from {before} (“{one}”) to {after} (“{other}”): {changes}.")
    elif end < start:
        words = tr("The peak falls from {before} (“{one}”) to {after} (“{other}”): {changes}.")
    else:
        words = tr("The peak grows from {before} (“{one}”) to {after} (“{other}”): {changes}.")
    return words.format(
        before=format_bytes(start, unit),
        one=names[0],
        after=format_bytes(end, unit),
        other=names[1],
        changes=listed or tr("nothing that differs moves it"),
    )


def _signed(num_bytes: int, unit: Unit) -> str:
    return format_bytes(num_bytes, unit, signed=True)


def step_title(step: Change, unit: Unit) -> str:
    """What a step sets: its first fields with their values, and how many more there are."""
    named = [
        f"{translated(one.title)}: {_value(one, step.estimate, one.after, unit)}" for one in step.fields[:MOST_FIELDS]
    ]
    more = len(step.fields) - len(named)
    listed = ", ".join(named)
    return tr("{changes} and {count} more").format(changes=listed, count=more) if more else listed


def change_rows(way: Sequence[Change], unit: Unit) -> FigureRows:
    """The table twin: where it starts, then each change, those that move nothing as well."""
    return FigureRows(tuple(_cells(before, step, Amounts(unit)) for before, step in _pairs(way)), frozenset({3, 4}))


def change_cells(way: Sequence[Change], amounts: Amounts) -> Cells:
    """The table as it leaves the window; what the order means stands under it."""
    change, old, new, part, then, where = map(translated, CHANGE_TITLES)
    titles = (change, old, new, amounts.titled(part), amounts.titled(then), where)
    return Cells(
        titles, tuple(_cells(before, step, amounts) for before, step in _pairs(way)), translated(CHANGES_ORDER)
    )


def _pairs(way: Sequence[Change]) -> Iterator[tuple[Change, Change]]:
    """Each step with the one before it; the first with itself."""
    return zip((way[0], *way), way, strict=False)


def _cells(before: Change, step: Change, amounts: Amounts) -> tuple[str, ...]:
    unit = amounts.unit or "gib"
    olds = (_value(field, before.estimate, field.before, unit) for field in step.fields)
    news = (_value(field, step.estimate, field.after, unit) for field in step.fields)
    return (
        ", ".join(translated(field.title) for field in step.fields) or translated(START),
        ", ".join(olds),
        ", ".join(news),
        amounts.signed(step.change_bytes) if step.fields else "",
        amounts.figure(step.estimate.need_bytes),
        peak_words(step.estimate),
    )


def _value(field: ChangedField, estimate: Estimate, value: Any, unit: Unit) -> str:
    """A value by its name; an estimate knows those of model and device."""
    if field.path in ("model", "hardware.device"):
        return estimate.model_name if field.path == "model" else estimate.device_name
    return tr("a run") if field.path == "measured" else value_text(field.path, value, unit)


def _whole(name: str, step: Change, unit: Unit) -> WaterfallRow:
    one = step.estimate
    terms = one.peak.bytes_by_term
    return whole_row(name, terms, one.need_bytes, one, peak_words(one), one.usable_bytes, unit)


def _part(before: Change, after: Change, unit: Unit) -> WaterfallRow:
    title, ends = step_title(after, unit), (before.estimate, after.estimate)
    where = peak_words(after.estimate)
    words = tr("{change} changes the peak by {amount}.")
    if peak_words(before.estimate) != where:
        words = tr("{change} changes the peak by {amount}; the peak is then {when}.")
    tip = words.format(change=title, amount=_signed(after.change_bytes, unit), when=where)
    terms = before.estimate.peak.bytes_by_term, after.estimate.peak.bytes_by_term
    return part_row(title, terms, (ends[0].need_bytes, ends[1].need_bytes), after.estimate.verdict, tip, unit)
