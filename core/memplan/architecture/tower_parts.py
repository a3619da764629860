"""What towers are made of: weights that text does not pass through, each with how often it occurs."""

from __future__ import annotations

from collections.abc import Iterator

from memplan.architecture.config_reader import ConfigReader
from memplan.architecture.parts import Component, Weight

Counted = tuple[Weight, int]


def idle(name: str, *shape: int, component: Component = "embeddings", linear: bool = False) -> Weight:
    """A weight that is held and never trains."""
    return Weight(name, shape, component, linear=linear, frozen=True)


def linear(name: str, inputs: int, outputs: int, component: Component, count: int, *, bias: bool) -> Iterator[Counted]:
    """A matrix and its bias."""
    yield idle(f"{name}.weight", outputs, inputs, component=component, linear=True), count
    if bias:
        yield idle(f"{name}.bias", outputs, component=component), count


def norm(name: str, size: int, count: int, *, bias: bool = True) -> Iterator[Counted]:
    """A norm's weight, and its bias where it has one."""
    yield idle(f"{name}.weight", size, component="norms"), count
    if bias:
        yield idle(f"{name}.bias", size, component="norms"), count


def attention(hidden: int, count: int, *, bias: bool, output: str = "o_proj") -> Iterator[Counted]:
    """Four square projections."""
    for name in ("q_proj", "k_proj", "v_proj", output):
        yield from linear(f"vision.self_attn.{name}", hidden, hidden, "attention", count, bias=bias)


def mlp(names: tuple[str, ...], hidden: int, width: int, count: int, *, bias: bool) -> Iterator[Counted]:
    """Matrices that widen, and the one that narrows again."""
    *ups, down = names
    for name in ups:
        yield from linear(f"vision.mlp.{name}", hidden, width, "mlp", count, bias=bias)
    yield from linear(f"vision.mlp.{down}", width, hidden, "mlp", count, bias=bias)


def text_width(reader: ConfigReader) -> int:
    """The width of the language model that a tower is beside."""
    return reader.part("text_config").size("hidden_size")
