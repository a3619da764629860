"""What a step may take at most, for every batch and sequence of a region: polynomials, of which the largest counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memplan.memory.account import States
from memplan.memory.buffers import position_bytes
from memplan.memory.instants import accumulates, before_the_walk, beside_the_ids
from memplan.memory.moment import Candidate
from memplan.memory.runs import Work
from memplan.memory.step import decoding, moments
from memplan.memory.storage import Level
from memplan.memory.symbols import Symbols, fullest
from memplan.plan.hardware import Hardware
from memplan.plan.training import Training


@dataclass(frozen=True, slots=True)
class StepLevels:
    """Levels of a step on one device, states included; sizes are polynomials of `symbols`. The largest is the peak."""

    symbols: Symbols
    levels: tuple[Level, ...]


def levels_of(
    work: Work,
    symbols: Symbols,
    training: Training,
    states: States,
    *,
    hardware: Hardware,
    most_gradients: int | None = None,
) -> StepLevels:
    """Walk a step as `timeline` does, for a whole region."""
    found = moments(work, symbols.batch, symbols.sequence)
    present = states.gradients if accumulates(work.setup, training, states, hardware) else 0
    before = before_the_walk(states, present, states.optimizer)
    before += work.kept_by_others(found.runs)
    backward = _on_top(found.backward, before)
    ids = 8 * symbols.batch * symbols.sequence + position_bytes(work.architecture, symbols.sequence)
    at_step = Level(beside_the_ids(states, trains=training.method != "inference") + ids, 0)
    if most_gradients is not None:
        excesses = [max(0, level.gradients - most_gradients) for level in backward]
        backward = [
            Level(level.total - excess, level.gradients - excess)
            for level, excess in zip(backward, excesses, strict=True)
        ]
    passes = [found]
    if training.caches_keys:
        passes.append(moments(decoding(work, found), symbols.batch, symbols.sequence))
    forward = [level for one in passes for level in _on_top((*one.forward, one.loss, one.forward_end), before)]
    plain = (*forward, at_step)
    return StepLevels(symbols, fullest((*plain, *backward)))


def _on_top(candidates: Iterable[Candidate], before: int) -> list[Level]:
    return [Level(before + level.total, level.gradients) for one in candidates for level in one.levels()]
