"""Linear attention: a state of fixed size for each head instead of keys and values for each position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memplan.architecture.parts import Linear, Rotary, Weight


@dataclass(frozen=True, slots=True)
class GatedDelta:
    """The gated delta rule of Qwen3-Next and Qwen3.5, after a short convolution."""

    name: str
    key_heads: int
    value_heads: int
    key_dim: int
    """Width of one key head."""
    value_dim: int
    """Width of one value head."""
    kernel: int
    """Positions that the convolution sees."""
    inputs: tuple[Linear, ...]
    """q, k, v; z; b; a. Or q, k, v and z in one, b and a in another, cut within each key head (Qwen3-Next)."""
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

    @property
    def fused(self) -> bool:
        """Whether projections are cut within each key head, and what the convolution reads is joined."""
        return len(self.inputs) == 2

    @property
    def mixed_width(self) -> int:
        """Width of queries, keys and values together."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    def linears(self) -> Iterator[Linear]:
        """All projections."""
        yield from self.inputs
        yield self.output

    def weights(self) -> Iterator[Weight]:
        """Projections, the convolution, decays, and the gain of the gated norm."""
        yield Weight("dt_bias", (self.value_heads,), "attention")
        yield Weight("A_log", (self.value_heads,), "attention")
        yield Weight("conv1d.weight", (self.mixed_width, 1, self.kernel), "attention")
        for linear in self.linears():
            yield from linear.weights()
        yield Weight("norm.weight", (self.value_dim,), "norms")
