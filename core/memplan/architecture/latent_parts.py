"""Multi-head latent attention: keys and values are made from one narrow latent that all heads share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from memplan.architecture.parts import Linear, Norm, Weight
from memplan.architecture.positions import Rotary


@dataclass(frozen=True, slots=True)
class Indexer:
    """What picks the keys that each query sees (DeepSeek-V3.2). It never trains: it runs without gradients."""

    heads: int
    head_dim: int
    queries: Linear
    keys: Linear
    key_norm: Norm
    weights_of_heads: Linear
    best: int
    """How many keys each query keeps."""

    def count(self, sequence: int) -> int:
        """Keys that a query of a sequence keeps."""
        return min(self.best, sequence)

    def linears(self) -> Iterator[Linear]:
        """All projections."""
        yield from (self.queries, self.keys, self.weights_of_heads)

    def weights(self) -> Iterator[Weight]:
        """Projections and the norm of keys."""
        for linear in self.linears():
            for weight in linear.weights():
                yield replace(weight, name=f"indexer.{weight.name}")
        for weight in self.key_norm.weights():
            yield replace(weight, name=f"indexer.{weight.name}", idle=True)


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """DeepSeek's attention. Positions turn a part of each query, and of one key that all heads share."""

    name: str
    heads: int
    plain_dim: int
    """Width of the part of queries and keys that positions leave alone."""
    rotary_dim: int
    value_dim: int
    latent_dim: int
    queries: tuple[Linear, ...]
    """One projection, or down to a latent and up again."""
    query_norm: Norm | None
    down: Linear
    """To the latent and the turned key."""
    latent_norm: Norm
    up: Linear
    """From the latent to keys and values."""
    output: Linear
    rotary: Rotary
    dropout: float = 0.0
    window: int | None = None
    softcap: bool = False
    softmax_in_fp32: bool = True
    scores: Literal["kernel"] = "kernel"
    alibi: Literal[False] = False
    scaled_queries: bool = False
    """Queries are scaled by a number for each position (Mistral 4)."""
    shared_dim: int = 0
    """Width of the part of keys that all heads share where positions turn nothing (Kimi Linear)."""
    indexer: Indexer | None = None
    selects: bool = False
    """Each query sees the keys that an indexer chose, this layer's or an earlier one's."""
    sinks: bool = False
    chunked: bool = False

    @property
    def head_dim(self) -> int:
        """Width of a query and a key."""
        return self.plain_dim + self.of_all_heads

    @property
    def of_all_heads(self) -> int:
        """Width of the part of keys that all heads share."""
        return self.rotary_dim or self.shared_dim

    @property
    def kv_heads(self) -> int:
        """Keys and values are made for each head."""
        return self.heads

    def linears(self) -> Iterator[Linear]:
        """All projections."""
        yield from self.queries
        yield from (self.down, self.up, self.output)
        if self.indexer is not None:
            yield from self.indexer.linears()

    def weights(self) -> Iterator[Weight]:
        """Projections and norms."""
        for linear in (*self.queries, self.down, self.up, self.output):
            yield from linear.weights()
        if self.indexer is not None:
            yield from self.indexer.weights()
        for norm in (self.query_norm, self.latent_norm):
            if norm is not None:
                yield from norm.weights()
