"""Multi-head latent attention: projections, the turned part of queries and keys, one fused or eager product."""

from __future__ import annotations

from memplan.architecture.latent_parts import LatentAttention
from memplan.memory import operations as op
from memplan.memory.blocks.attention import scores
from memplan.memory.blocks.caching import cached
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.indexer import selection_mask
from memplan.memory.blocks.joining import joined, split
from memplan.memory.blocks.turning import turned, turned_as_complex, turned_in_halves
from memplan.memory.tape import Grads, Tape, Tensor, given


def latent_attention(ctx: Context, spec: LatentAttention, x: Tensor) -> Tensor:
    """The attention module, from normalised input to output projection."""
    tape = ctx.tape
    rows = (ctx.batch, spec.heads, ctx.sequence)
    with tape.inside(spec.name):
        q, for_indexer = _queries(ctx, spec, x)
        parts = ((*rows, spec.plain_dim), (*rows, spec.rotary_dim))
        q_parts = split(tape, q, parts, reordered=True) if spec.rotary_dim else None
        compressed = ctx.linear(spec.down, x, spec.name)
        one = (ctx.batch, 1, ctx.sequence)
        latent, k_turned = split(tape, compressed, ((*one, spec.latent_dim), (*one, spec.of_all_heads)))
        latent = ctx.norm(spec.latent_norm, latent, spec.name)
        if q_parts is not None:
            q_turned, k_turned = _turned(ctx, spec, q_parts[1], k_turned)
        latents = ctx.setup.stack.caches_latents
        if latents:
            latent, k_turned = cached(ctx, spec.window, (latent, k_turned))
        if q_parts is not None:
            q_whole = joined(tape, (q_parts[0], q_turned))
        else:
            q_whole = op.view_with_copied_gradient(tape, q, (*rows, spec.head_dim))
        if spec.scaled_queries:
            scales = tape.new((1, 1, ctx.sequence, 1), q_whole.dtype)
            q_whole = op.mul_by_constant(tape, q_whole, scales, "scales of queries")
            del scales
        k, v = _keys_and_values(ctx, spec, latent, k_turned)
        if not latents:
            k, v = cached(ctx, spec.window, (k, v))
        mask = selection_mask(ctx, spec.indexer, spec.rotary_dim, x.dtype) if spec.selects else None
        output = scores(ctx, spec, q_whole, k, v, mask)
        del for_indexer
        if not tape.on_device and ctx.setup.attention != "eager":
            output = op.copied(tape, output)  # a CPU's kernel answers in its queries' memory order, head by head
        output = op.view(output, (ctx.batch, ctx.sequence, spec.heads * spec.value_dim))
        return ctx.linear(spec.output, output, spec.name)


def _queries(ctx: Context, spec: LatentAttention, x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Queries, and what they are made of, where an indexer reads it as well."""
    q = ctx.linear(spec.queries[0], x, spec.name)
    if len(spec.queries) == 1:
        return q, None
    narrow = ctx.norm(spec.query_norm, q, spec.name)
    return ctx.linear(spec.queries[1], narrow, spec.name), narrow if spec.selects else None


def _turned(ctx: Context, spec: LatentAttention, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    tape, cos, sin = ctx.tape, ctx.cos, ctx.sin
    assert cos is not None, "the walk makes positions first"
    if spec.rotary.form == "complex":
        return turned_as_complex(tape, q, k, cos)
    assert sin is not None, "the walk makes positions first"
    if spec.rotary.pairs:
        return turned_in_halves(tape, (q, k), cos, sin, sliced_first=True)
    return turned(tape, q, cos, sin), turned(tape, k, cos, sin)


def _keys_and_values(ctx: Context, spec: LatentAttention, latent: Tensor, k_turned: Tensor) -> tuple[Tensor, Tensor]:
    """Keys of each head's own part and the turned part of all heads, copied side by side; values as a view."""
    tape, rows = ctx.tape, (ctx.batch, spec.heads, latent.shape[2])
    whole = ctx.linear(spec.up, latent, spec.name)
    k_plain, v = split(tape, whole, ((*rows, spec.plain_dim), (*rows, spec.value_dim)), reordered=True)
    return _side_by_side(tape, k_plain, k_turned, (*rows, spec.head_dim)), v


def _side_by_side(tape: Tape, plain: Tensor, turned: Tensor, shape: tuple[object, ...]) -> Tensor:
    """Two copies into slices of one new tensor; autograd cuts each slice's gradient out of a copy of the whole."""
    output = tape.new(shape, plain.dtype)
    narrow, of_turned = plain.shape, (*plain.shape[:-1], turned.shape[-1])
    first = Tensor(output.storage, shape, output.dtype)
    if tape.needs_grad(plain):

        def run_plain(grads: list[Tensor | None]) -> Grads:
            whole = tape.new(shape, given(grads).dtype)
            part = tape.new(narrow, whole.dtype)
            del whole
            return (part,)

        tape.record(first, (plain,), run_plain)
    if not tape.needs_grad(first, turned):
        return output

    def run_turned(grads: list[Tensor | None]) -> Grads:
        whole = tape.new(shape, given(grads).dtype)
        part = tape.new(of_turned, whole.dtype)
        zeros = tape.new(of_turned, whole.dtype)
        del zeros
        return whole, part

    wide = Tensor(turned.storage, of_turned, turned.dtype)
    if tape.needs_grad(turned):
        before = turned.shape
        tape.record(wide, (turned,), lambda grads: (tape.new(before, given(grads).dtype),))
    return tape.record(output, (first, wide), run_turned)
