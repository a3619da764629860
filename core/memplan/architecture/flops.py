"""Floating-point operations of a model for one token: what a step computes, and what recomputing adds.

Products of matrices and attention's scores are counted, nothing else: norms, activations and the optimizer are bound by
memory, not by arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Literal

from memplan.architecture.expert_parts import Experts
from memplan.architecture.linear_parts import Beside, StateMixer
from memplan.architecture.parts import Architecture, Layer

Gradients = Literal["all", "inputs", "none"]
"""What backward works out: gradients of inputs and weights; of inputs alone (frozen weights under adapters); none."""


@dataclass(frozen=True, slots=True)
class TokenFlops:
    """One token's forward, by what is multiplied."""

    layer_products: int
    """Products with the layers' matrices."""
    head_products: int
    """Products with the output head, and with projections outside the layers."""
    attention: int
    """Scores, and values weighted by them."""

    @property
    def forward(self) -> int:
        """All of it."""
        return self.layer_products + self.head_products + self.attention

    @property
    def layers(self) -> int:
        """What checkpoints of every layer compute a second time."""
        return self.layer_products + self.attention


@lru_cache(maxsize=1024)
def token_flops(architecture: Architecture, sequence: int) -> TokenFlops:
    """Count one token's forward in a sequence.

    Equation: products: 2 · m; attention: Σ over layers of 2 · keys · heads · (d_k + d_v).
    Symbols: m = values of the matrices that a token passes through (of experts those it is sent to), keys = the
    sequence or the layer's window, d_k and d_v = width of a key and of a value.
    Assumption: every query is multiplied with every key in sight; a kernel that skips the masked half does less.
    Source: Kaplan et al. 2020, arXiv:2001.08361, section 2.1; Chowdhery et al. 2022, arXiv:2204.02311, appendix B.

    Llama 3.1 8B has 6.98e9 values in its layers' matrices and 525e6 in its head; 32 layers of 32 heads of width 128:

    >>> from memplan.chosen_model import chosen_model
    >>> from memplan.plan.model_choice import ModelChoice
    >>> found = token_flops(chosen_model(ModelChoice(catalog="meta-llama/Llama-3.1-8B")).architecture, 2048)
    >>> found.layer_products // 2, found.head_products // 2, found.attention == 2 * 2048 * 32 * 32 * (128 + 128)
    (6979321856, 525336576, True)
    """
    layers = sum(count * _layer_values(layer) for layer, count in architecture.kinds.items())
    attention = sum(count * _attention_flops(layer, sequence) for layer, count in architecture.kinds.items())
    outer = architecture.head.inputs * architecture.head.outputs
    outer += sum(linear.inputs * linear.outputs for linear in architecture.projections)
    return TokenFlops(2 * layers, 2 * outer, attention)


def _layer_values(layer: Layer) -> int:
    matrices = sum(prod(weight.shape) for weight in layer.weights() if len(weight.shape) > 1)
    return matrices - (layer.mlp.idle_values if isinstance(layer.mlp, Experts) else 0)


def _attention_flops(layer: Layer, sequence: int) -> int:
    attention = layer.attention
    if isinstance(attention, Beside):
        attention = attention.attention
    if isinstance(attention, StateMixer):
        return 0
    keys = min(sequence, attention.window or sequence)
    return 2 * keys * attention.heads * (attention.head_dim + attention.value_dim)


def step_flops(token: TokenFlops, gradients: Gradients, *, adapters: int = 0, recomputed: float = 0.0) -> int:
    """Count one token's forward and backward.

    Equation: forward F; backward of inputs F once more, of weights their products once more; scores have two inputs
    each, so attention's backward is twice its forward. Adapters of a values: 6 · a. Recomputing: the forward of that
    share of layers once more.
    Symbols: F = forward.
    Source: Kaplan et al. 2020, section 2.1 (backward is twice forward); Chen et al. 2016, arXiv:1604.06174
    (checkpoints cost one more forward); Hu et al. 2021, arXiv:2106.09685, section 4.2 (no gradients of frozen weights).

    Everything trains: three times forward, four times with checkpoints; frozen weights: twice, three times with them.

    >>> token = TokenFlops(layer_products=100, head_products=0, attention=0)
    >>> step_flops(token, "all"), step_flops(token, "all", recomputed=1)
    (300, 400)
    >>> step_flops(token, "inputs"), step_flops(token, "inputs", recomputed=1)
    (200, 300)
    """
    products = token.layer_products + token.head_products
    backward = {"all": 2 * products, "inputs": products, "none": 0}[gradients]
    backward += 0 if gradients == "none" else 2 * token.attention
    again = round(token.layers * recomputed) if gradients != "none" else 0
    return token.forward + backward + again + 6 * adapters
