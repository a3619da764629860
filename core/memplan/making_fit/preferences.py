"""What must stay as it is while a run is made to fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from memplan.levers import Lever, Preference
from memplan.memory.sharding import data_parallel_devices
from memplan.plan.scenario import Scenario

PREFERENCES: tuple[Preference, ...] = get_args(Preference)
PREFERENCE_TITLES: dict[Preference, str] = {
    "method": "Method",
    "optimizer": "Optimizer",
    "precision": "Precision",
    "sequence_length": "Sequence",
    "effective_batch": "Batch",
    "devices": "Devices",
    "host": "Offloading",
}
PREFERENCE_WORDS: dict[Preference, str] = {
    "method": "What is trained stays: no LoRA or 4-bit base instead, no lower rank.",
    "optimizer": "The optimizer stays, in as many bits as now.",
    "precision": "Weights, gradients and states stay in the dtypes that they have.",
    "sequence_length": "As many tokens at once as now.",
    "effective_batch": "As many sequences for one update as now: micro-batch × accumulation × data-parallel devices. "
    "In inference as many at once.",
    "devices": "As many devices as now.",
    "host": "What moves to the host's memory stays: nothing more is offloaded.",
}


@dataclass(frozen=True, slots=True)
class Preferences:
    """What is kept; everything else may change where that makes the run fit."""

    kept: frozenset[Preference] = frozenset({"method", "precision", "sequence_length", "effective_batch", "devices"})

    def allow(self, lever: Lever) -> bool:
        """Whether a lever may be proposed."""
        return lever.is_advised and lever.changes_what not in self.kept

    def hold(self, before: Scenario, after: Scenario) -> bool:
        """Whether the batch of an update is what it was, where it is kept."""
        return "effective_batch" not in self.kept or effective_batch(before) == effective_batch(after)

    def toggled(self, preference: Preference) -> Preferences:
        """The same with one of them kept instead of free, or the other way round."""
        return Preferences(self.kept ^ {preference})


def effective_batch(scenario: Scenario) -> int:
    """Sequences of one update.

    Equation: micro-batch × accumulation × data-parallel devices.

    >>> effective_batch(Scenario.model_validate({"model": {"parameters": 7}, "training": {"micro_batch": 3},
    ...     "hardware": {"devices": 8, "tensor_parallel": 2}}))
    12
    """
    training = scenario.training
    return training.micro_batch * training.gradient_accumulation * data_parallel_devices(scenario.hardware)
