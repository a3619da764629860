"""What fits, as a table: a row for each device, in any order, and the words and figures of its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from memplan import (
    UNIT_NAMES,
    Device,
    DeviceAnswer,
    DeviceFit,
    Unit,
    catalog,
    choice_title,
    fewest_words,
    fit_title,
    format_bytes,
    free_figure,
    limit_words,
    ranked_fits,
    tr,
    tr_later,
    translated,
)
from memplan_gui.charts.scale import grouped
from memplan_gui.presenters.cells import Amounts, Cells
from memplan_gui.presenters.words import both_units

FAVOURITE, VERDICT, DEVICE, USABLE, NEED, FREE, FEWEST, NODES, BATCH, TOKENS = range(10)
COSTLY = (FEWEST, NODES, BATCH, TOKENS)
"""What is searched for device by device; the rest follows from one walk."""
AMOUNTS = (USABLE, NEED, FREE)
TITLES = (
    *(tr_later("Favourite"), tr_later("Verdict"), tr_later("Device"), tr_later("Usable"), tr_later("Need")),
    *(tr_later("Free"), tr_later("Fewest devices"), tr_later("In whole nodes")),
    *(tr_later("Largest batch"), tr_later("Most tokens")),
)
"""What the columns are called."""
NOT_YET = "…"
NONE_HOLDS = "–"
ROOM_BEYOND_NEED = 1.3
ROOM_FOR_CAPACITY = 1.8
LAST = float("inf")

CLASSES = {
    "datacentre": tr_later("Data centre"),
    "workstation": tr_later("Workstation"),
    "consumer": tr_later("Consumer"),
    "unified": tr_later("Unified memory"),
}
TIPS = (
    tr_later("Favourites: a click or the space bar marks a device."),
    tr_later("Whether the need's band lies within what the device gives."),
    tr_later("Enter or a double click takes the device into the plan."),
    tr_later("What a process can get: the device's memory less what its driver, other programs and the headroom take."),
    tr_later(
        "The need's band, low to high, against what each device gives. A frame that is torn off gives more than is "
        "shown."
    ),
    tr_later("What is usable less the need."),
    tr_later("The fewest devices of this kind that hold the run, and the sharding that does it."),
    tr_later("The fewest devices in whole nodes that hold the run: machines are rented as they are."),
    tr_later("The largest micro-batch that fits one device, everything else as it is."),
    tr_later("The longest sequence that fits one device, everything else as it is."),
)


@dataclass(frozen=True, slots=True)
class FitRow:
    """One device."""

    fit: DeviceFit
    rank: int
    """Its place in the order of what fits."""
    is_own: bool
    is_favourite: bool
    answer: DeviceAnswer | None = None
    """What is searched for; None until it is found."""

    @property
    def device(self) -> Device:
        """Which device."""
        return self.fit.device


@dataclass(frozen=True, slots=True)
class FitFilter:
    """Which rows are shown."""

    text: str = ""
    vendor: str = ""
    device_class: str = ""
    favourites: bool = False


def fit_rows(fits: Sequence[DeviceFit], own: str, favourites: Iterable[str]) -> tuple[FitRow, ...]:
    """A row for each device, in the order of what fits."""
    marked = set(favourites)
    return tuple(
        FitRow(fit, rank, fit.device.id == own, fit.device.id in marked) for rank, fit in enumerate(ranked_fits(fits))
    )


def kept(rows: Iterable[FitRow], wanted: FitFilter) -> list[FitRow]:
    """The rows that a filter leaves."""
    found = None
    if wanted.text.strip():
        words = wanted.text.casefold().split()
        found = {device.id for device in catalog.search_devices(wanted.text)}
    return [
        row
        for row in rows
        if (found is None or row.device.id in found or all(word in row.device.name.casefold() for word in words))
        and wanted.vendor in ("", row.device.vendor)
        and wanted.device_class in ("", row.device.device_class)
        and (row.is_favourite or not wanted.favourites)
    ]


def ordered(rows: Iterable[FitRow], column: int, *, descending: bool) -> list[FitRow]:
    """Rows in the order of a column; equal ones in the order of what fits, unknown ones last either way."""
    ranked = sorted(rows, key=lambda row: row.rank)
    key = _KEYS[column]
    known = [row for row in ranked if column not in COSTLY or row.answer is not None]
    unknown = [row for row in ranked if column in COSTLY and row.answer is None]
    return sorted(known, key=key, reverse=descending) + unknown


def _fewest_key(row: FitRow) -> float:
    best = row.answer.fewest.best if row.answer else None
    return LAST if best is None or best.devices is None else best.devices


def _nodes_key(row: FitRow) -> float:
    best = row.answer.fewest.best if row.answer else None
    return LAST if best is None or best.in_whole_nodes is None else best.in_whole_nodes


_KEYS: dict[int, Callable[[FitRow], float | str]] = {
    FAVOURITE: lambda row: not row.is_favourite,
    VERDICT: lambda row: row.rank,
    DEVICE: lambda row: row.device.name.casefold(),
    USABLE: lambda row: row.fit.usable_bytes,
    NEED: lambda row: row.fit.need_bytes / max(row.fit.usable_bytes, 1),
    FREE: lambda row: row.fit.headroom_bytes,
    FEWEST: _fewest_key,
    NODES: _nodes_key,
    BATCH: lambda row: row.answer.limits.micro_batch.fits if row.answer else 0,
    TOKENS: lambda row: row.answer.limits.sequence.fits if row.answer else 0,
}


def full_title(column: int, unit: Unit) -> str:
    """What a column is called away from the table, where its unit must be said."""
    title = translated(TITLES[column])
    return f"{title}, {UNIT_NAMES[unit]}" if column in AMOUNTS else title


def shown_words(shown: int, every: int, unit: Unit) -> str:
    """How many rows are shown, and the unit of their amounts: "3 of 166 · in GiB"."""
    count = "" if shown == every else tr("{shown} of {all}").format(shown=shown, all=every) + " · "
    return count + tr("in {unit}").format(unit=UNIT_NAMES[unit])


def cell(row: FitRow, column: int, unit: Unit) -> str:
    """What stands in a cell, or what it says where it is drawn."""
    fit = row.fit
    if column == FAVOURITE:
        return "★" if row.is_favourite else ""
    if column == VERDICT:
        return fit_title(fit)
    if column == DEVICE:
        return fit.device.name
    if column == USABLE:
        return _figure(fit.usable_bytes, unit)
    if column == NEED:
        return f"{_figure(fit.need.low, unit)}–{_figure(fit.need.high, unit)}"
    if column == FREE:
        return free_figure(fit, unit)
    if row.answer is None:
        return NOT_YET
    if column in (FEWEST, NODES):
        return _fewest(row.answer, column)
    limit = row.answer.limits.micro_batch if column == BATCH else row.answer.limits.sequence
    return grouped(limit.fits)


def _figure(num_bytes: int, unit: Unit) -> str:
    return format_bytes(num_bytes, unit).split(" ")[0]


def _fewest(answer: DeviceAnswer, column: int) -> str:
    best = answer.fewest.best
    if best is None or best.devices is None:
        return NONE_HOLDS
    if column == NODES:
        return NONE_HOLDS if best.in_whole_nodes is None else grouped(best.in_whole_nodes)
    return (
        "1" if best.devices == 1 else f"{grouped(best.devices)} {translated(choice_title('strategy', best.strategy))}"
    )


def tip_of(row: FitRow, column: int, unit: Unit) -> str:
    """What a cell says to the mouse that rests on it."""
    fit, answer = row.fit, row.answer
    if column == DEVICE:
        return "\n".join([fit.device.name, *(advice.message for advice in fit.advice), *_own_notes(fit.device)])
    if column == USABLE:
        taken = tr("{size}, after other programs and headroom").format(size=both_units(fit.usable_bytes))
        whole = format_bytes(fit.device.total_bytes, unit)
        return taken + "\n" + tr("Of {size}: {basis}").format(size=whole, basis=fit.device.usable_basis)
    if column in (NEED, FREE, VERDICT):
        low, high = format_bytes(fit.need.low, unit), format_bytes(fit.need.high, unit)
        usable = format_bytes(fit.usable_bytes, unit)
        words = tr("Needs {low} to {high} of {usable} usable").format(low=low, high=high, usable=usable)
        return "\n".join([words, *(one.message for one in fit.advice if column == VERDICT and fit.runs_alone)])
    if column in (FEWEST, NODES) and answer:
        return "\n".join(fewest_lines(answer, unit))
    if column == BATCH and answer:
        return _sentence(limit_words(answer.limits.micro_batch))
    if column == TOKENS and answer:
        return _sentence(limit_words(answer.limits.sequence))
    return translated(TIPS[column])


def fewest_lines(answer: DeviceAnswer, unit: Unit) -> list[str]:
    """How many devices each sharding takes, a line for those that are alike."""
    lines = []
    for words, alike in groupby(answer.fewest.by_strategy, key=lambda one: fewest_words(one, unit)):
        strategies = ", ".join(translated(choice_title("strategy", one.strategy)) for one in alike)
        lines.append("1" if words == "1" else f"{strategies}: {words}")
    return list(dict.fromkeys(lines))


def detail(row: FitRow, unit: Unit) -> str:
    """All that is known of one device, in words."""
    fit, answer = row.fit, row.answer
    lines = []
    if answer is not None:
        batch, sequence = limit_words(answer.limits.micro_batch), limit_words(answer.limits.sequence)
        lines.append(tr("Micro-batch: {batch}. Sequence: {sequence}.").format(batch=batch, sequence=sequence))
        states = answer.states
        alone = f"{grouped(states.devices)} × {states.capacity_bytes // 10**9} GB"
        fewest = ". ".join(fewest_lines(answer, unit))
        words = tr("Fewest devices: {fewest}. For the states alone: {alone}.")
        lines.append(words.format(fewest=fewest, alone=alone))
    lines += [" ".join([*(advice.message for advice in fit.advice), *_own_notes(fit.device)])]
    return "\n".join(filter(None, lines))


def _own_notes(device: Device) -> tuple[str, ...]:
    return device.notes if device.origin == "computer" else ()


def spoken(row: FitRow, column: int, unit: Unit) -> str:
    """A cell for a screen reader: whose it is, and what it says."""
    if column == FAVOURITE:
        words = tr("{device}: a favourite") if row.is_favourite else tr("{device}: no favourite")
        return words.format(device=row.device.name)
    own = tr("{device}, the plan's own device") if row.is_own else "{device}"
    return f"{own.format(device=row.device.name)}: {full_title(column, unit)} {cell(row, column, unit)}"


def bar_end(rows: Sequence[FitRow]) -> float:
    """Where the scale of the bars ends: every need has room, and capacities as far as that stays readable."""
    need = max((row.fit.need.high for row in rows), default=1)
    usable = max((row.fit.usable_bytes for row in rows), default=1)
    return max(need * ROOM_BEYOND_NEED, min(usable * 1.02, need * ROOM_FOR_CAPACITY), 1.0)


def fit_cells(rows: Iterable[FitRow], amounts: Amounts) -> Cells:
    """The table as it leaves the window."""
    sizes = (tr("Usable"), tr("Need from"), tr("Need to"), tr("Free"))
    titles = (tr("Verdict"), tr("Device"), *map(amounts.titled, sizes))
    return Cells(
        (*titles, *(translated(TITLES[column]) for column in COSTLY)), tuple(_cells(row, amounts) for row in rows)
    )


def _cells(row: FitRow, amounts: Amounts) -> tuple[str, ...]:
    fit, answer = row.fit, row.answer
    sizes = (fit.usable_bytes, fit.need.low, fit.need.high)
    free = free_figure(fit, amounts.unit) if amounts.unit else str(fit.headroom_bytes)
    found = [NOT_YET] * len(COSTLY)
    if answer is not None:
        limits = answer.limits.micro_batch.fits, answer.limits.sequence.fits
        far = (grouped(limit) if amounts.unit else str(limit) for limit in limits)
        found = [_fewest(answer, FEWEST), _fewest(answer, NODES), *far]
    return (fit_title(fit), fit.device.name, *map(amounts.figure, sizes), free, *found)


def with_answer(row: FitRow, answer: DeviceAnswer) -> FitRow:
    """The row with what was searched for."""
    return replace(row, answer=answer)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
