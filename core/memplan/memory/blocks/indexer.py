"""DeepSeek-V3.2's indexer: scores of every key for every query, of which each keeps the best. Without gradients."""

from __future__ import annotations

from memplan.architecture.latent_parts import Indexer
from memplan.memory.blocks.caching import cached
from memplan.memory.blocks.context import Context
from memplan.memory.operations import promoted, to
from memplan.memory.tape import Tensor


def selection_mask(ctx: Context, spec: Indexer | None, rotary_dim: int, dtype: str) -> Tensor:
    """The model's mask without what the indexer left out: a mask of its own for each layer.

    A layer without an indexer takes the places that an earlier layer's found.
    """
    tape, batch, sequence = ctx.tape, ctx.batch, ctx.sequence
    best = _best(ctx, spec, rotary_dim, dtype) if spec is not None else None
    square = (batch, 1, sequence, ctx.keys(None))
    left_out = tape.new(square, "bool")
    places = tape.new(best.shape, "int64") if best is not None else None
    scattered = tape.new(square, "bool")
    del places, left_out
    kept_in = tape.new(square, "bool")
    mask = tape.new(square, "bool")
    del scattered, kept_in
    return mask


def _best(ctx: Context, spec: Indexer, rotary_dim: int, dtype: str) -> Tensor:
    """The places of each query's best keys."""
    tape, rows = ctx.tape, (ctx.batch, ctx.sequence)
    dtype = tape.autocast or dtype
    wide, one = (*rows, spec.heads, spec.head_dim), (*rows, spec.head_dim)
    made = [tape.new(wide, dtype), tape.new(one, dtype)]
    assert ctx.cos is not None, "the walk makes positions first"
    turned = promoted(dtype, ctx.cos.dtype)
    made += [tape.new((*rows, heads, rotary_dim), turned) for heads in (spec.heads, 1)]
    q, k = tape.new(wide, turned), tape.new((ctx.batch, 1, ctx.sequence, spec.head_dim), turned)
    (k,) = cached(ctx, None, (k,), at=2)  # behind what attention itself caches
    scores = _scores(ctx, spec, q, k)
    weights = tape.new((*rows, spec.heads), "fp32")
    summed = tape.new((*rows, ctx.keys(None)), "fp32")
    allowed = tape.new(summed.shape, "bool")
    masked = tape.new(summed.shape, "fp32")
    del summed, allowed
    count = spec.count(ctx.keys(None))
    values, places = tape.new((*rows, count), "fp32"), tape.new((*rows, count), "int64")
    del values
    best = tape.new((*rows, count), "int32")
    del places, masked, weights, scores, q, k, made
    return best


def _scores(ctx: Context, spec: Indexer, q: Tensor, k: Tensor) -> Tensor:
    """Products of each query's heads with all keys; of several sequences the keys are copied out for every query."""
    tape, rows = ctx.tape, (ctx.batch, ctx.sequence)
    dtype = tape.autocast or "fp32"
    queries, keys = to(tape, to(tape, q, "fp32"), dtype), to(tape, to(tape, k, "fp32"), dtype)
    copies = tape.new((*rows, spec.head_dim, k.shape[2]), dtype) if ctx.batch > 1 else None
    shape = (*rows, spec.heads, k.shape[2])
    product = tape.new(shape, dtype)
    del copies, queries, keys
    scaled = tape.new(shape, dtype)
    del product
    return tape.new(scaled.shape, dtype)
