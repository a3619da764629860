"""A mixture of experts: a router, experts held as 3-D tensors, and shared experts that every token passes through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from memplan.architecture.parts import Activation, Linear, Mlp, Norm, Weight

Scores = Literal["softmax", "sigmoid", "top_softmax", "top_sigmoid", "sparse_mixer"]
"""softmax, sigmoid: of all logits, then the largest. top_softmax, top_sigmoid: of the largest logits alone (GPT-OSS,
Llama 4). sparse_mixer: two draws, each with a gradient of its own (Phi-3.5-MoE)."""


@dataclass(frozen=True, slots=True)
class Router:
    """How each token's experts and their weights are found."""

    name: str = "gate"
    scores: Scores = "softmax"
    bias: bool = False
    softmax_in_fp32: bool = True
    fp32: bool = False
    """Its input and its matrix are cast to fp32 for the product."""
    leaves_autocast: bool = False
    """It runs outside autocast (ERNIE 4.5)."""
    held_in_fp32: bool = False
    """Its matrix is fp32 whatever the model is loaded in."""
    correction: Literal["none", "buffer", "fp32_buffer", "parameter", "narrow_parameter"] = "none"
    """A bias that only the choice of experts sees; a buffer, or a parameter that never trains, in fp32 or narrow."""
    groups: bool = False
    """Groups of experts are chosen first."""
    normalised: bool = True
    """A token's weights are divided by their sum."""
    guarded: bool = False
    """The sum is made safe from zero by an operation of its own."""
    scaled: bool = False
    """A token's weights are multiplied by a number."""
    plain_scores: bool = False
    """Sigmoids are of the logits in their own dtype (LFM2)."""
    is_module: bool = False
    """It is a linear module, which adapters reach (AFMoE)."""
    scores_in_input_dtype: bool = False
    """A token's weights go back to the input's dtype; otherwise the weighted outputs are fp32."""


@dataclass(frozen=True, slots=True)
class BesideMlp:
    """Experts beside a dense block that read the residual by themselves, and how they are chosen (Gemma 4)."""

    norms: tuple[Norm, Norm, Norm]
    """After the dense block, before the experts, after them."""
    router: Linear
    scales: tuple[Weight, Weight]
    """What the router's input is multiplied by, and an expert's share."""

    def weights(self) -> Iterator[Weight]:
        """The router's scales, and the norms."""
        yield from self.scales
        for norm in self.norms:
            yield from norm.weights()


@dataclass(frozen=True, slots=True)
class Experts:
    """Experts held as two 3-D tensors, with a router and an optional shared expert."""

    name: str
    count: int
    per_token: int
    hidden: int
    width: int
    activation: Activation
    router: Router
    shared: Mlp | None = None
    shared_gate: Linear | None = None
    """A number for each token by which the shared expert's output is multiplied."""
    shared_first: bool = False
    """The shared expert runs before the others."""
    gated: bool = True
    latent: int | None = None
    """The routed experts work in a narrower space: a projection before them and one after (Nemotron 3)."""
    transposed: bool = False
    """Held as (experts, inputs, outputs)."""
    bias: bool = False
    clamped: bool = False
    """GPT-OSS's gate: interleaved columns, clamped, (up + 1) * gate * sigmoid(1.702 * gate)."""
    dense: bool = False
    """Every token passes through every expert, weighted before it does (Llama 4 in transformers)."""
    scaled: bool = False
    """What they give is multiplied by a number before the shared expert's is added (Laguna)."""
    adapter_names: Literal["none", "qwen", "mixtral"] = "none"
    """The names under which PEFT puts adapters on routers and experts, which are no linear modules."""

    beside: BesideMlp | None = None
    """They stand beside the dense block, which is in `shared`."""

    def expert_matrix(self, *, first: bool) -> Weight:
        """The matrices of all experts: gate and up in one, or down."""
        name = "down_proj" if not first else "gate_up_proj" if self.gated else "up_proj"
        outputs, inputs = (self.up_width, self.inner) if first else (self.inner, self.width)
        shape = (self.count, inputs, outputs) if self.transposed else (self.count, outputs, inputs)
        return Weight(f"experts.{name}", shape, "experts")

    def expert_bias(self, *, first: bool) -> Weight:
        """The biases of all experts."""
        matrix = self.expert_matrix(first=first)
        return Weight(f"{matrix.name}_bias", (self.count, self.up_width if first else self.inner), "experts")

    def expert_weights(self) -> Iterator[Weight]:
        """The tensors of all experts."""
        for first in (True, False):
            yield self.expert_matrix(first=first)
            if self.bias:
                yield self.expert_bias(first=first)

    def weights(self) -> Iterator[Weight]:
        """Router, experts, shared expert and its gate."""
        router, held_in = self.router, "fp32" if self.router.held_in_fp32 else None
        if self.beside is not None:
            yield from self.beside.weights()
        elif not router.is_module:
            yield Weight(f"{router.name}.weight", (self.count, self.hidden), "experts", held_in=held_in)
        if router.bias:
            yield Weight(f"{router.name}.bias", (self.count,), "experts")
        if router.correction in ("parameter", "narrow_parameter"):
            wide = "fp32" if router.correction == "parameter" else None
            yield Weight(f"{router.name}.correction", (1, self.count), "experts", held_in=wide, frozen=True)
        yield from self.expert_weights()
        routed = self.router_linear()
        for linear in self.linears():
            for weight in linear.weights():
                yield replace(weight, held_in=held_in) if linear == routed else weight

    def router_linear(self) -> Linear | None:
        """The router where it is a linear module."""
        if not self.router.is_module:
            return None
        return Linear(self.router.name, self.hidden, self.count, component="experts")

    def linears(self) -> Iterator[Linear]:
        """The linear modules: those of the shared expert, and a router that is one."""
        if (router := self.router_linear()) is not None:
            yield router
        if self.shared is not None:
            yield from self.shared.linears()
        if self.shared_gate is not None:
            yield self.shared_gate
        if self.beside is not None:
            yield self.beside.router
        yield from self.around()

    def around(self) -> tuple[Linear, ...]:
        """The projections before and after the routed experts; none where they work in the model's width."""
        if self.latent is None:
            return ()
        before = Linear("fc1_latent_proj", self.hidden, self.latent, component="experts")
        return before, Linear("fc2_latent_proj", self.latent, self.hidden, component="experts")

    @property
    def inner(self) -> int:
        """Width of what the routed experts read and give."""
        return self.latent or self.hidden

    @property
    def up_width(self) -> int:
        """Width of the first product."""
        return 2 * self.width if self.gated else self.width

    @property
    def idle_values(self) -> int:
        """Values of the experts that a token is not sent to."""
        of_all = sum(weight.count for weight in self.expert_weights())
        return of_all // self.count * (self.count - self.per_token)

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the buffer that corrects the choice, in the model's dtype counted as 16 bit."""
        return {"buffer": 2, "fp32_buffer": 4}.get(self.router.correction, 0) * self.count
