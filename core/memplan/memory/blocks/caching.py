"""The cache of keys and values as transformers' DynamicCache keeps it: it grows by joining, layer by layer.

Source: transformers 5.24, cache_utils.py (DynamicLayer, DynamicSlidingWindowLayer, LinearAttentionLayer), and traces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from memplan.architecture.latent_parts import LatentAttention
from memplan.architecture.linear_parts import StateMixer
from memplan.architecture.parts import Attention
from memplan.memory.blocks.context import Context
from memplan.memory.storage import CACHED
from memplan.memory.tape import Kept, Tensor

CACHE, CACHED_BEFORE = "cache", "cached before"
"""What caches are called as modules: what a pass makes of one, and what it finds."""


def cached(ctx: Context, window: int | None, new: tuple[Tensor, ...], *, at: int = 0) -> tuple[Tensor, ...]:
    """Join what is new, (batch, heads, tokens, width) each, to what is cached; returns what attention reads.

    A prompt's keys and values are copied whole, of a layer with a sliding window too: what it keeps is a view of them,
    so that all of them stay until the next token's are joined. `at` is their place among what the layer caches.
    """
    if ctx.setup.cache == "none":
        return new
    tape, joined, tokens = ctx.tape, [], ctx.keys(window)
    with tape.inside(CACHE, CACHED):
        for place, one in enumerate(new, at):
            joined.append(tape.new((*one.shape[:2], tokens, one.shape[3]), one.dtype))
            if window is None:
                ctx.cache[place : place + 1] = joined[-1:]
        ctx.cache[at : at + len(new)] = joined  # a layer with a window makes all of them before any goes
    return tuple(joined)


def state(ctx: Context, *made: tuple[tuple[int, ...], str]) -> None:
    """A state whose size follows from no sequence, made with the prompt and written in place: shapes and dtypes."""
    if ctx.setup.cache == "prefill":
        with ctx.tape.inside(CACHE, CACHED):
            ctx.states += [ctx.tape.new(shape, dtype) for shape, dtype in made]


def in_cache(ctx: Context, spec: Attention | LatentAttention | StateMixer) -> Iterator[Kept]:
    """What the layer has cached, as a ledger lists it."""
    latents = isinstance(spec, LatentAttention) and ctx.setup.stack.caches_latents
    roles = ("latents of keys and values", "turned part of keys") if latents else ("keys", "values")
    for role, one in zip((*roles, "the indexer's keys"), ctx.cache, strict=False):
        yield spec.name, role, one.shape, one.dtype, one.storage.num_bytes
    for one in ctx.states:
        yield spec.name, "state", one.shape, one.dtype, one.storage.num_bytes


class Left(NamedTuple):
    """What a prompt of one token leaves in a layer's cache: shapes and dtypes."""

    cache: tuple[tuple[tuple[int, ...], str], ...]
    states: tuple[tuple[tuple[int, ...], str], ...]

    @classmethod
    def of(cls, ctx: Context) -> Left:
        """What a walk has left."""
        cache, states = (tuple((one.shape, one.dtype) for one in some) for some in (ctx.cache, ctx.states))
        return cls(cache, states)


def as_before(ctx: Context, window: int | None, left: Left) -> None:
    """Cache what earlier tokens left, given what one token leaves.

    Joined tensors are as long as what is cached; with a window as long as what the last token read.
    """
    tokens, tape = ctx.past if window is None or ctx.past < window else window, ctx.tape
    with tape.inside(CACHED_BEFORE, CACHED):
        ctx.cache = [tape.new((ctx.batch, shape[1], tokens, shape[3]), dtype) for shape, dtype in left.cache]
        ctx.states = [tape.new((ctx.batch, *shape[1:]), dtype) for shape, dtype in left.states]
