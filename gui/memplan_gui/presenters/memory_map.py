"""The map of micro-batch and sequence length: its axes, what it says in a sentence and in a table. Plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memplan import MAP_VERDICTS, Estimate, MemoryMap, Scenario, Unit, replaced, tr, verdict_sentence
from memplan_gui.charts.scale import grouped
from memplan_gui.presenters.cells import Amounts, Cells

BATCH_LIMITS = (16, 64, 256, 1024)
SHORTEST, LONGEST = 256, 131_072
"""Tokens between which the map lies, unless the plan's own sequence is beyond."""
_PARTS = 16
"""Steps of an axis from one power of two to the next."""
VERDICT_MARKS = {"fits": " ✓", "tight": " ~", "does_not_fit": " ✕"}


@dataclass(frozen=True, slots=True)
class MapChart:
    """A map, the plan's own place on it, and how amounts are written."""

    found: MemoryMap
    batch: int
    sequence: int
    unit: Unit


@dataclass(frozen=True, slots=True)
class MapTable:
    """The map in figures: a row for each sequence length."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str
    """What the figures and the marks behind them are."""


NO_TABLE = MapTable((), (), "")


def map_chart(found: MemoryMap, scenario: Scenario, unit: Unit) -> MapChart:
    """A map for a scenario, no longer than the model has learned positions for."""
    if found.positions is not None:
        count = max(2, sum(sequence <= found.positions for sequence in found.sequences))
        found = replace(
            found,
            sequences=found.sequences[:count],
            frontier=found.frontier[:count],
            need_bytes=found.need_bytes[:, :count],
            low_bytes=found.low_bytes[:, :count],
            high_bytes=found.high_bytes[:, :count],
        )
    return MapChart(found, scenario.training.micro_batch, scenario.training.sequence_length, unit)


def axis_steps(first: int, last: int) -> tuple[int, ...]:
    """Whole numbers from a power of two to another, sixteen from each to the next where there are so many between.

    >>> axis_steps(1, 8)
    (1, 2, 3, 4, 5, 6, 7, 8)
    >>> axis_steps(16, 64)[:3], axis_steps(16, 64)[-3:], len(axis_steps(16, 64))
    ((16, 17, 18), (60, 62, 64), 33)
    """
    found = [first]
    while found[-1] < last:
        power = 1 << (found[-1].bit_length() - 1)
        found.append(found[-1] + max(1, power // _PARTS))
    return tuple(found)


def sequence_axis(own: int) -> tuple[int, ...]:
    """The sequence lengths of a map that shows the plan's own."""
    return axis_steps(min(SHORTEST, _power_below(own)), max(LONGEST, 2 * _power_below(own)))


def batch_axis(limit: int) -> tuple[int, ...]:
    """The micro-batches of a map, from one on."""
    return axis_steps(1, limit)


def limit_for(own: int, frontier: Sequence[int]) -> int:
    """The least limit with the plan's own micro-batch and most of the frontier on the map."""
    wanted = max(own, sorted(frontier)[len(frontier) * 3 // 4] if frontier else 1)
    return next((limit for limit in BATCH_LIMITS if limit >= wanted), BATCH_LIMITS[-1])


def map_sentence(chart: MapChart) -> str:
    """What the map shows: how large a batch fits sequences of which length."""
    found = chart.found
    whole = [one for one in zip(found.sequences, found.frontier, strict=True) if _is_power(one[0])]
    held = [(sequence, batch) for sequence, batch in whole if batch]
    if not held:
        words = tr("On {device} not even one sequence of {length} tokens fits.")
        if (found.verdicts == 1).any():
            words = tr("On {device} not even one sequence of {length} tokens fits for sure; some are tight.")
        return words.format(device=found.device_name, length=tokens_text(found.sequences[0]))
    parts = [f"{grouped(batch)} × {tokens_text(sequence)}" for sequence, batch in _some(held)]
    words = tr("The most that fits {device}: {places} tokens.").format(
        device=found.device_name, places=", ".join(parts)
    )
    longest = max(sequence for sequence, batch in zip(found.sequences, found.frontier, strict=True) if batch)
    if found.positions is not None and longest >= found.positions - found.positions // _PARTS:
        most = tr("The model has no more than {count} learned positions.")
        return f"{words} {most.format(count=tokens_text(found.positions))}"
    if longest < found.sequences[-1]:
        beyond = tr("Beyond about {length} not even one sequence fits.")
        return f"{words} {beyond.format(length=tokens_text(longest))}"
    return words


def cell_words(estimate: Estimate, batch: int, sequence: int, unit: Unit) -> str:
    """The estimate for one place of the map."""
    return f"{place_text(batch, sequence)}. {verdict_sentence(estimate, unit)}."


def place_text(batch: int, sequence: int) -> str:
    """A place of the map: "4 × 8,192 tokens"."""
    return tr("{batch} × {length} tokens").format(batch=grouped(batch), length=grouped(sequence))


def tokens_text(tokens: int) -> str:
    """A sequence length as it is read on an axis: 512, 4k, 1M; in full where that is not round.

    >>> tokens_text(512), tokens_text(4096), tokens_text(131072), tokens_text(1048576), tokens_text(3000)
    ('512', '4k', '128k', '1M', '3,000')
    """
    for size, letter in ((2**20, "M"), (2**10, "k")):
        if tokens >= size and tokens % size == 0:
            return f"{tokens // size}{letter}"
    return grouped(tokens)


def map_table(chart: MapChart) -> MapTable:
    """The map at powers of two: the largest batch that fits each sequence, and what each batch needs."""
    cells = map_cells(chart, Amounts(chart.unit))
    return MapTable(cells.titles, cells.rows, cells.note)


def map_cells(chart: MapChart, amounts: Amounts) -> Cells:
    """The same, as it leaves the window: in whole bytes without the marks behind them."""
    found, rows = chart.found, []
    batches = [(row, batch) for row, batch in enumerate(found.batches) if _is_power(batch)]
    verdicts = found.verdicts
    for column, sequence in enumerate(found.sequences):
        if not _is_power(sequence):
            continue
        cells = [
            amounts.figure(int(found.need_bytes[row, column]))
            + (VERDICT_MARKS[MAP_VERDICTS[verdicts[row, column]]] if amounts.unit else "")
            for row, _ in batches
        ]
        most = found.frontier[column]
        fits = (grouped(most) if most else tr("none")) if amounts.unit else str(most)
        rows.append((tokens_text(sequence) if amounts.unit else str(sequence), fits, *cells))
    exact = tr("batch {count}, bytes")
    heads = (f"{grouped(batch)} ×" if amounts.unit else exact.format(count=batch) for _, batch in batches)
    note = tr("Need in {unit} by tokens and micro-batch; ✓ fits, ~ tight, ✕ does not fit.").format(unit=amounts.name)
    return Cells((tr("Tokens"), tr("Most that fit"), *heads), tuple(rows), note)


def _some(held: list[tuple[int, int]], most: int = 4) -> list[tuple[int, int]]:
    """A few of many, the last among them."""
    step = -(-len(held) // most)
    return held[::-1][::step][::-1]


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0


def _power_below(number: int) -> int:
    return 1 << (number.bit_length() - 1)


def with_place(scenario: Scenario, batch: int, sequence: int) -> Scenario:
    """The scenario with another micro-batch and sequence length."""
    moved = replaced(scenario, "training.micro_batch", batch)
    return replaced(moved, "training.sequence_length", sequence)
