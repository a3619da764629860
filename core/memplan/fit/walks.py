"""Walks of one scenario with one thing of it changed: each is made once, whatever device or question wants it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from memplan.allocation import allocation
from memplan.fit.states import states_bytes_of
from memplan.plan.hardware import Hardware, Strategy
from memplan.plan.scenario import Scenario

Measure = Literal["micro_batch", "sequence_length"]


class FitWalks:
    """What tensors and buckets of a scenario take at the peak, as other numbers would have it.

    Args:
        scenario: the set-up.
        before: called before each walk that has not been made yet; what it raises stops the question, and when that is
            asked again, the walks that were made are there.
    """

    def __init__(self, scenario: Scenario, before: Callable[[], None] | None = None) -> None:
        self.scenario = scenario
        self._before = before
        self._known: dict[tuple[str, int], int] = {}

    def on_devices(self, strategy: Strategy, count: int) -> int:
        """Bytes on each of so many devices under a strategy."""
        return self._allocated((strategy, count), lambda: on_devices(self.scenario, strategy, count))

    def with_number(self, measure: Measure, number: int) -> int:
        """Bytes with another micro-batch or sequence length."""

        def changed() -> Scenario:
            training = self.scenario.training.model_copy(update={measure: number})
            return self.scenario.model_copy(update={"training": training})

        return self._allocated((measure, number), changed)

    def states_bytes(self) -> int:
        """The states of the whole model."""
        return self._walked(("states", 0), lambda: states_bytes_of(self.scenario))

    def _allocated(self, key: tuple[str, int], scenario: Callable[[], Scenario]) -> int:
        return self._walked(key, lambda: allocation(scenario()).peak_bytes)

    def _walked(self, key: tuple[str, int], walk: Callable[[], int]) -> int:
        if key not in self._known:
            if self._before is not None:
                self._before()
            self._known[key] = walk()
        return self._known[key]


def on_devices(scenario: Scenario, strategy: Strategy, count: int) -> Scenario:
    """The same set-up on so many devices under a strategy."""
    return scenario.model_copy(update={"hardware": hardware_of(scenario.hardware, strategy, count)})


def hardware_of(hardware: Hardware, strategy: Strategy, count: int) -> Hardware:
    """The same hardware, so many of it, under a strategy."""
    sharding = hardware.sharding.model_copy(update={"strategy": strategy})
    return hardware.model_copy(update={"devices": count, "sharding": sharding})
