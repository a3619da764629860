"""A moment of a step: what is held at it, by kind, on top of the states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from memplan.memory.peak import Peak
from memplan.memory.storage import ACTIVATIONS, GRADIENTS, LOGITS, TEMPORARY, Level, Size


@dataclass(frozen=True, slots=True)
class Moment:
    """What forward and backward hold at one moment, on top of the states: bytes by kind, and where it stands."""

    activations: int
    logits: int
    temporary: int
    gradients: int
    """With a cache of keys and values, the cache: it takes their place."""
    communication: int = 0
    where: str = ""
    layer: int = 0
    """The layer it stands in, counted from 1; 0 for outside the layers."""
    under_way: int = 0
    """Of the activations, those of the walk that it stands in: of its layer, or of what stands outside the layers."""

    @property
    def total(self) -> int:
        """All of it."""
        return self.activations + self.logits + self.temporary + self.gradients + self.communication


_NOTHING = (0, 0, 0, 0)


class Candidate(NamedTuple):
    """A moment that may be the fullest: a walk's peak, and what stands beside it."""

    peak: Peak
    activations: int
    communication: int
    gradients: int = 0
    beside: tuple[int, ...] = _NOTHING
    where: str = ""
    layer: int = 0
    """The layer it stands in, counted from 1; 0 for outside the layers."""
    begins: bool = False
    """What is held as the layer begins, which is no fullest moment."""

    def total(self) -> int:
        """All of it."""
        return sum(self.peak.tally) + self.activations + self.communication + self.gradients + sum(self.beside)

    def with_more(self, buckets: int, activations: Size) -> Candidate:
        """The same beside buckets and more activations."""
        return self._replace(communication=self.communication + buckets, activations=self.activations + activations)

    def with_at_most(self, gradients: int | None) -> Candidate:
        """The same without the gradients that a model does not have whose layers were assumed."""
        if gradients is None:
            return self
        excess = self.peak.tally[GRADIENTS] + self.gradients + self.beside[GRADIENTS] - gradients
        return self._replace(gradients=self.gradients - excess) if excess > 0 else self

    def levels(self) -> Iterator[Level]:
        """Every level of the walk that may be the fullest, with what stands beside it."""
        own, beside = self.peak, sum(self.beside) + self.activations + self.communication + self.gradients
        gradients = self.gradients + self.beside[GRADIENTS]
        for total, its_gradients in own.levels or (Level(sum(own.tally), own.tally[GRADIENTS]),):
            yield Level(total + beside, its_gradients + gradients)

    def moment(self, num_layers: int = 0) -> Moment:
        """The moment, divided by kind, with its place in words."""
        tally, beside = self.peak.tally, self.beside
        place = f"layer {self.layer} of {num_layers}" if self.layer else ""
        return Moment(
            activations=tally[ACTIVATIONS] + self.activations + beside[ACTIVATIONS],
            logits=tally[LOGITS] + beside[LOGITS],
            temporary=tally[TEMPORARY] + beside[TEMPORARY],
            gradients=tally[GRADIENTS] + self.gradients + beside[GRADIENTS],
            communication=self.communication,
            where=f"{self.where} {place}".strip(),
            layer=self.layer,
            under_way=tally[ACTIVATIONS],
        )
