"""What Gemma 3n and 4 have beside one residual stream: inputs made for each layer, and further streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memplan.architecture.parts import Activation, Linear, Mlp, Norm, Table, Weight


@dataclass(frozen=True, slots=True)
class NamedMlp(Mlp):
    """A gated block whose function gives names to gate, activation and up: they stay until it is over (Gemma 3n)."""


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
    in_place: bool = False
    """The projection is scaled in place, and ids without a row become others (Gemma 3n)."""
    cuts_prompts: bool = False
    """Of a prompt, layers that take keys and values read the last token alone (Gemma 4)."""

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


@dataclass(frozen=True, slots=True)
class Streams:
    """Several residual streams, of which a layer runs one, predicts and corrects the others (Gemma 3n's AltUp)."""

    count: int
    router: Linear
    router_norm: Norm
    prediction: Linear
    correction: Linear
    """Its matrix is read by itself: adapters on it never get a gradient."""
    laurel: tuple[Linear, Linear]
    """A residual of low rank around the attention."""
    laurel_norm: Norm
    scales: bool
    """Whether the corrected active stream has a gain."""
    projections: tuple[Linear, ...]
    """Of the model: from the embeddings to each further stream."""
    unembeddings: tuple[Linear, ...]
    """Of the model: from each further stream back."""

    def linears(self) -> Iterator[Linear]:
        """Those of a layer."""
        yield from (self.correction, self.prediction, self.router, *self.laurel)

    def weights(self) -> Iterator[Weight]:
        """Those of a layer; they train all."""
        yield Weight("altup.correct_output_scale", (self.router.inputs,), "mlp")
        for linear in self.linears():
            for weight in linear.weights():
                yield replace(weight, idle=False)
        for norm in (self.router_norm, self.laurel_norm):
            yield from norm.weights()

    def around(self) -> tuple[Linear, ...]:
        """Those of the model."""
        return *self.projections, *self.unembeddings
