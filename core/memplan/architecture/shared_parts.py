"""What is made before the layers for each of them, beside the residual stream: Gemma's per-layer embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memplan.architecture.parts import Activation, Linear, Norm, Table, Weight


@dataclass(frozen=True, slots=True)
class LayerInputs:
    """For every token and layer so many values, of a table of their own and of the embeddings."""

    layers: int
    width: int
    table: Table
    projection: Linear
    norm: Norm
    tokens: Table
    """The token table, whose rows are projected."""
    tied: bool

    def weights(self) -> Iterator[Weight]:
        """Table, projection and norm. They train when the embeddings do."""
        yield from self.table.weights()
        for part in (self.projection, self.norm):
            for weight in part.weights():
                yield replace(weight, component=weight.component if part is self.norm else "embeddings")


@dataclass(frozen=True, slots=True)
class LayerInput:
    """How a layer reads its own: what it gives passes a gate, is multiplied by its input, and projected back."""

    made_by: LayerInputs
    gate: Linear
    projection: Linear
    norm: Norm
    activation: Activation
    waits: bool
    """A later layer's gradient of all inputs waits when its backward begins."""

    def linears(self) -> Iterator[Linear]:
        """Gate and projection."""
        yield from (self.gate, self.projection)

    def weights(self) -> Iterator[Weight]:
        """Gate, projection and norm."""
        for part in (self.gate, self.projection, self.norm):
            yield from part.weights()
