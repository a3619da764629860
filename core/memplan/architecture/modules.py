"""The modules that have weights: matrices, norms, tables. Frozen shapes, which larger parts are put together of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

NormKind = Literal[
    "rms", "late_rms", "gemma_rms", "power_rms", "litgpt_rms", "fused", "layer", "fp32_layer", "layer_1p", "centred"
]
"""late_rms: the gain in fp32 as well (OLMo 2). power_rms: so does Gemma 4, whose root is a power; without a gain of
values. litgpt_rms: so does litgpt, whose square is a product. fused: one kernel (Megatron). fp32_layer: in
fp32 whatever the input (OLMo). layer_1p: the gain is 1 + weight (Nemotron). centred: a layer norm of single operations
in fp32 (Cohere)."""
Component = Literal["embeddings", "attention", "mlp", "experts", "norms", "head"]


@dataclass(frozen=True, slots=True)
class Weight:
    """One parameter tensor: its name inside its module, shape, and component."""

    name: str
    shape: tuple[int, ...]
    component: Component
    linear: bool = False
    """Whether it is the matrix of a linear module (adapters and 4-bit packing go to those only)."""
    held_in: str | None = None
    """dtype that it keeps whatever the model is loaded in."""
    frozen: bool = False
    """It never trains."""
    idle: bool = False
    """It is said to train, but runs without gradients and never gets one."""

    @property
    def count(self) -> int:
        """How many values it holds."""
        product = 1
        for size in self.shape:
            product *= size
        return product


@dataclass(frozen=True, slots=True)
class Linear:
    """y = x @ W.T + b, W of shape (outputs, inputs)."""

    name: str
    inputs: int
    outputs: int
    bias: bool = False
    component: Component = "attention"
    adaptable: bool = True
    """Whether adapters reach it. PEFT takes the names gate_proj, up_proj and down_proj for those of the experts in most
    mixtures of experts, and leaves the linear modules of these names alone."""
    idle: bool = False
    """It runs without gradients and never gets one, though it may be said to train (DeepSeek-V3.2's indexer)."""
    bypassed: bool = False
    """Its matrix is read past the module (Mamba's dt_proj), so that an adapter beside it never gets a gradient."""
    transposed: bool = False
    """The product reads the weight's transpose, a tensor that autocast does not remember; the bias is added by an
    operation of its own (Falcon)."""
    parts: tuple[tuple[str, int], ...] = ()
    """Of several matrices in one: the name under which adapters reach each, and how many heads wide it is (litgpt)."""

    def weights(self) -> Iterator[Weight]:
        """The matrix, then the bias."""
        yield Weight(f"{self.name}.weight", (self.outputs, self.inputs), self.component, linear=True, idle=self.idle)
        if self.bias:
            yield Weight(f"{self.name}.bias", (self.outputs,), self.component)


@dataclass(frozen=True, slots=True)
class Norm:
    """A norm over the last axis."""

    name: str
    kind: NormKind
    size: int
    bias: bool = False
    affine: bool = True
    heads: int = 0
    """So many heads have a gain each: in one tensor (Cohere), or in a module each ("layer" norms: StableLM)."""

    @property
    def modules(self) -> int:
        """How many modules it is."""
        return self.heads if self.heads and self.kind == "layer" else 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a module's gain."""
        return (self.heads, self.size) if self.heads and self.modules == 1 else (self.size,)

    def weights(self) -> Iterator[Weight]:
        """The gain, then the bias; none at all without affine."""
        for _ in range(self.modules if self.affine else 0):
            yield Weight(f"{self.name}.weight", self.shape, "norms")
            if self.bias:
                yield Weight(f"{self.name}.bias", self.shape, "norms")


@dataclass(frozen=True, slots=True)
class Table:
    """An embedding table: rows of a width."""

    name: str
    rows: int
    width: int
    unused_rows: int = 0
    """Rows that nothing looks up: OPT's positions begin at the third."""

    @property
    def usable_rows(self) -> int:
        """How many different things it can look up."""
        return self.rows - self.unused_rows

    def weights(self) -> Iterator[Weight]:
        """The table."""
        yield Weight(f"{self.name}.weight", (self.rows, self.width), "embeddings")
