"""Floating-point operations of a model for one token: what a step computes, and what recomputing adds.

Products of matrices and attention's scores are counted, nothing else: norms, activations and the optimizer are bound by
memory, not by arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from memplan.architecture.expert_parts import Experts
from memplan.architecture.linear_parts import Beside, StateMixer
from memplan.architecture.parts import Architecture, Layer


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
    return TokenFlops(2 * layers, 2 * _outer_values(architecture), attention)


def _outer_values(architecture: Architecture) -> int:
    projections = sum(linear.inputs * linear.outputs for linear in architecture.projections)
    return architecture.head.inputs * architecture.head.outputs + projections


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


@dataclass(frozen=True, slots=True)
class Reach:
    """How far backward comes, and what it works out on the way."""

    num_layers: int
    begins: int = 0
    """Layers, from the first, that it does not come to: nothing before them or in them trains."""
    frozen: int = 0
    """Layers, from the first, whose own weights do not train; all of them under adapters."""
    head_trains: bool = True
    every: int = 0
    """Each layer whose number, from 1, this divides is recomputed where backward comes to it; 0: none is."""

    @property
    def reached(self) -> float:
        """The share of layers that it comes to."""
        return (self.num_layers - self.begins) / self.num_layers

    @property
    def trained(self) -> float:
        """The share of layers whose own weights train."""
        return (self.num_layers - self.frozen) / self.num_layers

    @property
    def recomputed(self) -> float:
        """The share of layers whose forward runs once more."""
        if not self.every:
            return 0.0
        return (self.num_layers // self.every - self.begins // self.every) / self.num_layers


@lru_cache(maxsize=1024)
def backward_flops(architecture: Architecture, sequence: int, reach: Reach) -> int:
    """Count one token's backward.

    Equation: gradients of inputs: the products of each layer that backward comes to, and of the head, once more; of
    weights: those of what trains; scores have two inputs each, so attention's backward is twice its forward.
    Recomputing: the forward of those layers once more.
    Source: Kaplan et al. 2020, section 2.1 (backward is twice forward); Chen et al. 2016, arXiv:1604.06174
    (checkpoints cost one more forward); Hu et al. 2021, arXiv:2106.09685, section 4.2 (no gradients of frozen weights);
    PyTorch, "Autograd mechanics" (an operation none of whose inputs needs a gradient is not recorded).

    Everything trains: twice forward, three times with checkpoints but for the head; weights that are frozen below
    adapters: once, but for attention; and adapters on the last four of 32 layers: an eighth of that, and the head.

    >>> from memplan.chosen_model import chosen_model
    >>> from memplan.plan.model_choice import ModelChoice
    >>> llama = chosen_model(ModelChoice(catalog="meta-llama/Llama-3.1-8B")).architecture
    >>> token = token_flops(llama, 2048)
    >>> backward_flops(llama, 2048, Reach(32)) == 2 * token.forward
    True
    >>> backward_flops(llama, 2048, Reach(32, every=1)) == 2 * token.forward + token.layers
    True
    >>> adapters = backward_flops(llama, 2048, Reach(32, frozen=32, head_trains=False))
    >>> adapters == token.forward + token.attention
    True
    >>> last = backward_flops(llama, 2048, Reach(32, begins=28, frozen=32, head_trains=False))
    >>> last - token.head_products == (adapters - token.head_products) // 8
    True
    """
    head = 2 * _outer_values(architecture)
    total = head * ((reach.reached > 0) + reach.head_trains)
    number = 0
    for layer, count in architecture.layers:
        products, attention = 2 * _layer_values(layer), _attention_flops(layer, sequence)
        first, number = number, number + count
        reached = _above(first, number, reach.begins)
        total += reached * (products + 2 * attention) + _above(first, number, reach.frozen) * products
        if reach.every:
            again = number // reach.every - (number - reached) // reach.every
            total += again * (products + attention)
    return total


def _above(first: int, end: int, bound: int) -> int:
    """How many of the layers from `first` to before `end` are not among the first `bound`."""
    return max(0, end - max(first, bound))
