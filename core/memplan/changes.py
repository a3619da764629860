"""From one scenario's peak to another's, one change after another: what each contributed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pydantic import BaseModel

from memplan.errors import MemplanError
from memplan.estimate import estimate
from memplan.plan.edit import facts_at, replaced, value_at
from memplan.plan.scenario import Scenario
from memplan.result import Estimate
from memplan.translation import tr_later

CHANGES_ORDER = tr_later(
    "One after another, in the plan's order: model, training, hardware. "
    "In another order each has another share of the same sum."
)

_TOGETHER: tuple[tuple[str, ...], ...] = (
    ("model",),
    (
        *("training.method", "training.trainable_fraction"),
        *("training.lora", "training.quantization", "training.freeze", "training.inference"),
    ),
    ("training.checkpointing", "training.checkpoint_every"),
    (
        *("hardware.devices", "hardware.devices_per_node", "hardware.sharding", "hardware.tensor_parallel"),
        *("hardware.sequence_parallel", "hardware.pipeline_parallel", "hardware.virtual_stages"),
        *("hardware.context_parallel", "hardware.expert_parallel"),
    ),
    ("measured",),
)
"""Fields that mean something only beside one another, by how their paths start: they change in one step."""


@dataclass(frozen=True, slots=True)
class ChangedField:
    """A field that is not the same in both scenarios."""

    path: str
    title: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Change:
    """One step on the way, after those before it."""

    fields: tuple[ChangedField, ...]
    """What it sets; none where the way starts."""
    change_bytes: int
    """Of the peak, after the steps before it; negative where it falls, 0 where the way starts."""
    estimate: Estimate
    """After it."""


def changes_between(before: Scenario, after: Scenario) -> tuple[Change, ...]:
    """Go from one scenario to another, a field or a group of fields at a time, in the order of the plan file.

    Each step is an estimate of its own, so the contributions come to the difference of the two peaks exactly:

        peak(after) - peak(before) = sum over steps i of (peak(s_i) - peak(s_{i-1})),  s_0 = before, s_n = after

    What a step contributes depends on the steps before it. Fields that mean something only together (the method and its
    options; devices, sharding and parallel sizes) are one step. A step that cannot be estimated is made together with
    the next one.

    >>> plan = {"name": "a", "model": {"catalog": "meta-llama/Llama-3.2-1B"}, "training": {"sequence_length": 256}}
    >>> one = Scenario.model_validate(plan)
    >>> other = replaced(replaced(one, "training.optimizer_impl", "fused"), "training.micro_batch", 2)
    >>> way = changes_between(one, other)
    >>> [[field.title for field in step.fields] for step in way]
    [[], ['Optimizer variant'], ['Micro-batch']]
    >>> sum(step.change_bytes for step in way) == estimate(other).need_bytes - estimate(one).need_bytes
    True

    Raises:
        MemplanError: one of the two scenarios cannot be estimated.
    """
    last = estimate(after)
    way = [Change((), 0, estimate(before))]
    scenario, waiting = before, tuple[ChangedField, ...]()
    steps = [tuple(step) for _, step in groupby(_changed_fields(before, after), key=lambda field: _step_of(field.path))]
    for number, step in enumerate(steps, start=1):
        scenario = _with(scenario, step)
        waiting += step
        try:
            found = last if number == len(steps) else estimate(scenario)
        except MemplanError:
            continue
        way.append(Change(waiting, found.need_bytes - way[-1].estimate.need_bytes, found))
        waiting = ()
    return tuple(way)


def _with(scenario: Scenario, step: Sequence[ChangedField]) -> Scenario:
    for field in step:
        scenario = replaced(scenario, field.path, field.after)
    return scenario


def _step_of(path: str) -> int | str:
    """Fields with the same key are one step."""
    for number, starts in enumerate(_TOGETHER):
        if any(path == start or path.startswith(f"{start}.") for start in starts):
            return number
    return path


def _changed_fields(before: Scenario, after: Scenario) -> Iterator[ChangedField]:
    """Model, training, hardware, measured; a group's fields stand where its first one does."""
    paths = ["model", *_paths(after.training, "training."), *_paths(after.hardware, "hardware."), "measured"]
    first = {step: at for at, step in reversed(list(enumerate(map(_step_of, paths))))}
    for path in sorted(paths, key=lambda path: first[_step_of(path)]):
        old, new = value_at(before, path), value_at(after, path)
        if old != new:
            yield ChangedField(path, facts_at(Scenario, path).title, old, new)


def _paths(part: BaseModel, under: str) -> Iterator[str]:
    """The path of every field that holds a value and not a section."""
    for name, value in part.__dict__.items():
        if isinstance(value, BaseModel):
            yield from _paths(value, f"{under}{name}.")
        else:
            yield f"{under}{name}"
