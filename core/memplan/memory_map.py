"""The need for every batch and sequence of a grid, and the largest batch that fits each sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memplan.allocation import Allocation, allocation
from memplan.catalog import device as device_of
from memplan.memory.levels import StepLevels
from memplan.memory.process import Overheads, need_of, overheads, slack, usable_bytes
from memplan.memory.symbols import Monomial, Symbols
from memplan.plan.field_facts import facts
from memplan.plan.scenario import Scenario
from memplan.plan.training import Training
from memplan.result import Verdict

Whole: TypeAlias = NDArray[np.int64]
Real: TypeAlias = NDArray[np.float64]

MAP_VERDICTS: tuple[Verdict, ...] = ("fits", "tight", "does_not_fit")
"""What the numbers of `MemoryMap.verdicts` stand for."""
_MOST_BYTES = 2.0**62
"""More counts as this much: no device comes near it, and arrays of whole numbers end there."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryMap:
    """The need of a scenario for each micro-batch and sequence length, everything else as it is set.

    Arrays have a row for each batch and a column for each sequence. A cell is within 0.01 % of the estimate made for it
    alone, but for tiny models and for libraries that hold hundreds of experts as modules of their own (0.1 %): tensors
    whose size follows the batch or the sequence are not rounded up to the allocator's blocks of 512 bytes. So a cell is
    never above its estimate, and equals it where such tensors are whole blocks (mostly where the sequence is a multiple
    of 512).
    """

    batches: tuple[int, ...]
    sequences: tuple[int, ...]
    need_bytes: Whole
    """The one figure inside the band: the peak of the whole process."""
    low_bytes: Whole
    high_bytes: Whole
    usable_bytes: int
    device_name: str
    frontier: tuple[int, ...]
    """For each sequence the largest micro-batch that fits (its need's high end is within what the device gives), of
    all that a plan can hold; 0 where not even one sequence fits."""
    positions: int | None
    """The longest sequence that the model has learned positions for; None where any length will do."""

    @property
    def verdicts(self) -> NDArray[np.int8]:
        """Each cell's place in MAP_VERDICTS."""
        within = np.where(self.low_bytes <= self.usable_bytes, 1, 2)
        return np.where(self.high_bytes <= self.usable_bytes, 0, within).astype(np.int8)


def memory_map(scenario: Scenario, batches: Sequence[int], sequences: Sequence[int]) -> MemoryMap:
    """Work out the need over a grid of micro-batches and sequence lengths, in one walk for each region of it.

    Args:
        scenario: the set-up; its own micro-batch and sequence length play no part.
        batches: of one device; whole numbers from 1 up, in any order.
        sequences: in tokens; likewise.

    Raises:
        ValueError: a batch or a sequence is below 1, or there is none.
        MemplanError: the scenario cannot be estimated.

    >>> from memplan.estimate import estimate
    >>> scenario = Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.2-1B"}})
    >>> found = memory_map(scenario, [1, 2, 4], [1024, 2048])
    >>> int(found.need_bytes[0, 1]) == estimate(scenario).need_bytes
    True
    """
    if not batches or not sequences or min(*batches, *sequences) < 1:
        raise ValueError("a map is of batches and sequences from 1 up, at least one of each")
    hardware = scenario.hardware
    device = device_of(hardware.device)
    over, usable = overheads(device, hardware), usable_bytes(device, hardware)
    columns = np.array(sequences, dtype=np.float64)
    held = allocation(scenario)
    positions = held.chosen.architecture.positions
    stages = [_Step(one, over.workspace, float(columns.min())) for one in (held, *held.others)]

    def fullest(batches: Real, sequences: Real) -> Whole:
        found: Whole = np.maximum.reduce([stage.allocated(batches, sequences) for stage in stages])
        return found

    allocated = fullest(np.array(batches, dtype=np.float64)[:, None], columns)
    need = need_of(allocated, over)
    return MemoryMap(
        batches=tuple(batches),
        sequences=tuple(sequences),
        need_bytes=_figure(allocated, over),
        low_bytes=np.asarray(need.low),
        high_bytes=np.asarray(need.high),
        usable_bytes=usable,
        device_name=device.name,
        frontier=_largest(
            lambda found: np.asarray(need_of(fullest(found, columns), over).high) <= usable, columns.size
        ),
        positions=positions.usable_rows if positions else None,
    )


def _figure(allocated: Whole, over: Overheads) -> Whole:
    """The one figure inside the need's band, as an estimate gives it."""
    tensors = allocated - over.workspace
    figure: Whole = allocated + slack(tensors) + over.context
    return figure


def _largest(fits: Callable[[Real], NDArray[np.bool_]], count: int) -> tuple[int, ...]:
    """The largest micro-batch for each of `count` sequences, by halving."""
    most = facts(Training, "micro_batch").maximum
    assert isinstance(most, int), "the field says its range"
    low, high = np.zeros(count), np.full(count, most + 1.0)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        held = fits(np.maximum(middle, 1)) & (middle > 0)
        low, high = np.where(held, middle, low), np.where(held, high, middle)
    return tuple(int(one) for one in low)


class _Step:
    """What a scenario's device has allocated at its peak, for any batches and for sequences from the shortest on."""

    def __init__(self, held: Allocation, workspace: int, shortest: float) -> None:
        self._held = held
        self._parallel = held.scenario.hardware.context_parallel
        self._beside = held.bucket_bytes + workspace
        self._shortest = np.ceil(shortest / self._parallel)
        self._regions: list[_Region] = []

    def allocated(self, batches: Real, sequences: Real) -> Whole:
        """Bytes, in the shape that both arrays make together."""
        given = np.broadcast_arrays(batches, np.ceil(sequences / self._parallel))
        batch, sequence = given[0].ravel(), given[1].ravel()
        found = np.full(batch.shape, np.nan)
        while (missing := np.isnan(found)).any():
            first = int(missing.argmax())
            region = self._region(int(batch[first]), int(sequence[first]))
            inside = missing & region.holds(batch, sequence)
            found[inside] = region.peak(batch[inside], sequence[inside])
        whole: Whole = np.minimum(found + self._beside, _MOST_BYTES).round().astype(np.int64)
        return whole.reshape(given[0].shape)

    def _region(self, batch: int, sequence: int) -> _Region:
        for region in self._regions:
            if region.holds(np.array(batch), np.array(sequence)):
                return region
        self._regions.append(_Region(self._held.levels(Symbols(batch, sequence)), self._shortest))
        return self._regions[-1]


class _Region:
    """Batches and sequences that are walked alike, and the polynomials that the walk found."""

    def __init__(self, levels: StepLevels, shortest: float) -> None:
        self._symbols = symbols = levels.symbols
        self._batches, self._sequences = symbols.batch.bounds, symbols.sequence.bounds
        polynomials = [symbols.polynomial(level.total) for level in levels.levels]
        self._monomials = sorted({monomial for one in polynomials for monomial in one})
        every = self._matrix(polynomials)
        self._levels = every[self._never_lower(every, shortest)]

    def _matrix(self, polynomials: list[dict[Monomial, int]]) -> Real:
        """A row for each polynomial, a column for each monomial."""
        rows = [[float(one.get(monomial, 0)) for monomial in self._monomials] for one in polynomials]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self._monomials))

    def holds(self, batches: NDArray[Any], sequences: NDArray[Any]) -> NDArray[np.bool_]:
        """Which pairs lie in it."""
        (low, high), (short, long) = self._batches, self._sequences
        return (low <= batches) & (batches < high) & (short <= sequences) & (sequences < long)

    def peak(self, batches: Real, sequences: Real) -> Real:
        """Bytes at the peak, of one-dimensional arrays of pairs."""
        found: Real = (self._levels @ self._values(batches, sequences)).max(axis=0)
        return found

    def _values(self, batches: Real, sequences: Real) -> Real:
        """Each monomial at each pair."""
        counts = self._counts(batches, sequences)
        values = np.empty((len(self._monomials), len(batches)))
        for row, monomial in enumerate(self._monomials):
            values[row] = batches**monomial.batch_power * sequences**monomial.sequence_power
            for place in monomial.counts:
                values[row] *= counts[place]
        return values

    def _counts(self, batches: Real, sequences: Real) -> list[Real]:
        """What is counted by rules of its own, at each pair."""
        pairs = batches.astype(np.int64), sequences.astype(np.int64)
        found = (np.asarray(rule(*pairs, *numbers), dtype=np.float64) for rule, numbers in self._symbols.counts)
        return [np.broadcast_to(one, batches.shape) for one in found]  # of one token, a rule may follow from neither

    def _never_lower(self, matrix: Real, shortest: float) -> list[int]:
        """Rows of the polynomials that no other reaches everywhere.

        Written in what batch, sequence and counts exceed their least by, one reaches another where no coefficient of
        their difference is negative.
        """
        batch, sequence = max(1.0, self._batches[0]), max(shortest, self._sequences[0])
        counts = [float(one[0]) for one in self._counts(np.array([batch]), np.array([sequence]))]
        terms = [_around(monomial, batch, sequence, counts) for monomial in self._monomials]
        places = sorted({place for term in terms for place in term})
        moved = matrix @ np.array([[term.get(place, 0.0) for place in places] for term in terms])
        kept: list[int] = []
        for row in np.argsort(-moved.sum(axis=1)):  # what reaches another comes before it
            if not kept or (moved[kept] < moved[row]).any(axis=1).all():
                kept.append(int(row))
        return kept


def _around(monomial: Monomial, batch: float, sequence: float, counts: list[float]) -> dict[tuple[str, ...], float]:
    """A monomial multiplied out, each variable written as its least and what exceeds it."""
    variables = [("batch", batch)] * monomial.batch_power + [("sequence", sequence)] * monomial.sequence_power
    variables += [(f"count {place}", counts[place]) for place in monomial.counts]
    found: dict[tuple[str, ...], float] = {(): 1.0}
    for name, least in variables:
        grown: dict[tuple[str, ...], float] = {}
        for factors, number in found.items():
            grown[factors] = grown.get(factors, 0.0) + number * least
            grown[(*factors, name)] = grown.get((*factors, name), 0.0) + number
        found = grown
    return found
