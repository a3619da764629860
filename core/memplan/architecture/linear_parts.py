"""Linear attention: a state of fixed size for each head instead of keys and values for each position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from memplan.architecture.parts import Attention, Linear, Norm, Weight
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
    wide_residual: bool = False
    """A layer of it alone adds its output to a residual in fp32 (Mamba)."""

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
class Mamba2(StateSpace):
    """A state space of Mamba 2, scanned chunk by chunk. `inputs` is one projection: gate, what is convolved, steps.

    `width` is that of what is convolved: heads, inputs and outputs of the state.
    """

    heads: int
    head_dim: int
    groups: int
    """Heads of a group share inputs and outputs of the state."""
    state_size: int
    chunk: int
    """Positions that are scanned by products."""
    conv_bias: bool = True
    gated: Literal["before_norm", "after_norm", "no_norm"] = "before_norm"
    """Where the gate comes in; the norm is over each group."""
    scaled: bool = False
    """Its input and what it projects are scaled (Falcon H1)."""

    def weights(self) -> Iterator[Weight]:
        """Those of a state space, and its own."""
        yield from StateSpace.weights(self)
        for name in ("dt_bias", "A_log", "D"):
            yield Weight(name, (self.heads,), "attention")
        if self.conv_bias:
            yield Weight("conv1d.bias", (self.width,), "attention")
        if self.gated != "no_norm":
            yield Weight("norm.weight", (self.output.inputs,), "norms")


@dataclass(frozen=True, slots=True, kw_only=True)
class KimiDelta(StateSpace):
    """Kimi Delta Attention: the delta rule with a decay for each channel of a head.

    `inputs` are q, k, v, learning rates, and the narrow halves of decays and gate; `inner` are those two's wide halves.
    """

    heads: int
    head_dim: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba(StateSpace):
    """A state space of Mamba, scanned position by position. `inputs` is one projection: value and gate.

    `inner` are x_proj, which reads time steps, inputs and outputs of the state, and dt_proj, which widens the steps.
    """

    state_size: int
    conv_bias: bool = True
    norms: Literal["no", "with_gain", "without_gain"] = "no"
    """Of what is read off (Jamba, Falcon Mamba)."""

    @property
    def read_norms(self) -> tuple[Norm, ...]:
        """Of time steps, inputs and outputs of the state."""
        sizes = (("dt", self.inner[1].inputs), ("b", self.state_size), ("c", self.state_size))
        return tuple(Norm(f"{name}_layernorm", "rms", size) for name, size in sizes)

    def weights(self) -> Iterator[Weight]:
        """Those of a state space, and its own."""
        yield from StateSpace.weights(self)
        yield Weight("A_log", (self.width, self.state_size), "attention")
        yield Weight("D", (self.width,), "attention")
        if self.conv_bias:
            yield Weight("conv1d.bias", (self.width,), "attention")
        for norm in self.read_norms if self.norms == "with_gain" else ():
            yield from norm.weights()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside(StateMixer):
    """Attention and a state space that read the same input; what they give is scaled and added (Falcon H1)."""

    attention: Attention
    states: Mamba2

    @classmethod
    def of(cls, attention: Attention, states: Mamba2) -> Beside:
        """The two, with what the model makes for attention."""
        return cls(
            name="",
            inputs=(*attention.inputs, *states.inputs),
            output=attention.output,
            dropout=attention.dropout,
            rotary_dim=attention.rotary_dim,
            rotary=attention.rotary,
            attention=attention,
            states=states,
        )

    def linears(self) -> Iterator[Linear]:
        """All of both."""
        yield from self.attention.linears()
        yield from self.states.linears()

    def weights(self) -> Iterator[Weight]:
        """All of both, each under its module's name."""
        for part in (self.states, self.attention):
            for weight in part.weights():
                yield replace(weight, name=f"{part.name}.{weight.name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDelta(StateMixer):
    """The gated delta rule of Qwen3-Next and Qwen3.5, after a short convolution.

    `inputs` are q, k, v; z; b; a. Or q, k, v and z in one, b and a in another, cut within each key head (Qwen3-Next).
    Or each by itself, the gate last, whose learning rates are doubled (OLMo Hybrid).
    """

    key_heads: int
    value_heads: int
    key_dim: int
    """Width of one key head."""
    value_dim: int
    """Width of one value head."""
    kernel: int
    """Positions that the convolution sees."""
    decays_in_fp32: bool = False
    """Decays are fp32 whatever the model is loaded in (OLMo Hybrid)."""

    @property
    def fused(self) -> bool:
        """Whether projections are cut within each key head, and what the convolution reads is joined."""
        return len(self.inputs) == 2

    @property
    def apart(self) -> bool:
        """Whether queries, keys and values have projections of their own, and the gate is made last."""
        return len(self.inputs) == 6

    @property
    def mixed_width(self) -> int:
        """Width of queries, keys and values together."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    def weights(self) -> Iterator[Weight]:
        """Projections, the convolution, decays, and the gain of the gated norm."""
        yield Weight("dt_bias", (self.value_heads,), "attention")
        yield Weight("A_log", (self.value_heads,), "attention", held_in="fp32" if self.decays_in_fp32 else None)
        yield Weight("conv1d.weight", (self.mixed_width, 1, self.kernel), "attention")
        for linear in self.linears():
            yield from linear.weights()
        yield Weight("norm.weight", (self.value_dim,), "norms")
