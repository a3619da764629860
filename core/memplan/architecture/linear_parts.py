"""Linear attention: a state of fixed size for each head instead of keys and values for each position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memplan.architecture.parts import Linear, Weight
from memplan.architecture.positions import Rotary


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMixer:
    """What mixers without attention have in common. Nothing of them asks for positions or masks."""

    name: str
    inputs: tuple[Linear, ...]
    """Projections of the layer's input."""
    output: Linear
    dropout: float = 0.0
    rotary_dim: int = 0
    rotary: Rotary = Rotary()  # noqa: RUF009 - frozen
    window: int | None = None
    softcap: bool = False
    sinks: bool = False
    chunked: bool = False
    scores: str = "kernel"
    alibi: bool = False

    def linears(self) -> Iterator[Linear]:
        """All projections."""
        yield from self.inputs
        yield self.output

    def weights(self) -> Iterator[Weight]:
        """All projections."""
        for linear in self.linears():
            yield from linear.weights()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing(StateMixer):
    """In a layer that is a feed-forward block alone."""

    def linears(self) -> Iterator[Linear]:
        """None."""
        yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortConvolution(StateMixer):
    """LFM2's: a convolution over a few positions between two gates."""

    width: int
    kernel: int

    def weights(self) -> Iterator[Weight]:
        """Projections and the convolution."""
        yield Weight("conv.weight", (self.width, 1, self.kernel), "attention")
        for linear in self.linears():
            yield from linear.weights()


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSpace(StateMixer):
    """A state-space or linear layer without a walk of its own: products, a convolution and a gate stand for it."""

    width: int
    """Channels that are convolved."""
    kernel: int
    state: int
    """Values of the state of one sequence, which is cached from token to token."""
    state_dtype: str = "fp32"
    """What that is held in; empty for what the layer computes in."""
    inner: tuple[Linear, ...] = ()
    """Projections of what the first ones made."""
    others: tuple[Weight, ...] = ()
    """Further parameters: decays, biases, gains."""

    def linears(self) -> Iterator[Linear]:
        """All projections."""
        yield from (*self.inputs, *self.inner, self.output)

    def weights(self) -> Iterator[Weight]:
        """Projections, the convolution and the rest."""
        if self.kernel:
            yield Weight("conv1d.weight", (self.width, 1, self.kernel), "attention")
        for linear in self.linears():
            yield from linear.weights()
        yield from self.others


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDelta(StateMixer):
    """The gated delta rule of Qwen3-Next and Qwen3.5, after a short convolution.

    `inputs` are q, k, v; z; b; a. Or q, k, v and z in one, b and a in another, cut within each key head (Qwen3-Next).
    """

    key_heads: int
    value_heads: int
    key_dim: int
    """Width of one key head."""
    value_dim: int
    """Width of one value head."""
    kernel: int
    """Positions that the convolution sees."""

    @property
    def fused(self) -> bool:
        """Whether projections are cut within each key head, and what the convolution reads is joined."""
        return len(self.inputs) == 2

    @property
    def mixed_width(self) -> int:
        """Width of queries, keys and values together."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    def weights(self) -> Iterator[Weight]:
        """Projections, the convolution, decays, and the gain of the gated norm."""
        yield Weight("dt_bias", (self.value_heads,), "attention")
        yield Weight("A_log", (self.value_heads,), "attention")
        yield Weight("conv1d.weight", (self.mixed_width, 1, self.kernel), "attention")
        for linear in self.linears():
            yield from linear.weights()
        yield Weight("norm.weight", (self.value_dim,), "norms")
