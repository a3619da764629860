"""Queries, keys and values of Gemma 3n and Gemma 4: each normed over its head, and shared with later layers."""

from __future__ import annotations

from memplan.architecture.parts import Attention
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.rotary import turned_alone
from memplan.memory.blocks.sharing import taken_heads
from memplan.memory.tape import Tensor


def normed_heads(ctx: Context, spec: Attention, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, (batch, heads, sequence, head_dim), queries and keys turned by their positions.

    One is made after the other. A layer that takes another's keys and values has no projections of them; without a
    projection of values, these are the keys' products with a norm of their own.
    """
    name, watched = spec.name, ctx.tape.watched
    before = len(watched or ())
    q = op.view(ctx.linear(spec.inputs[0], x, name), (ctx.batch, spec.heads, ctx.sequence, spec.head_dim))
    q = turned_alone(ctx, ctx.norm(spec.query_norm, q, name))
    if spec.shares == "takes":
        return q, *taken_heads(ctx, spec, x)
    apart = len(watched or ())
    heads = (ctx.batch, spec.kv_heads, ctx.sequence, spec.head_dim)
    k = op.view(ctx.linear(spec.inputs[1], x, name), heads)
    own_values = len(spec.inputs) > 2
    v = op.view(ctx.linear(spec.inputs[2], x, name), heads) if own_values else k
    k = turned_alone(ctx, ctx.norm(spec.key_norm, k, name))
    v = ctx.norm(spec.value_norm, v, name)
    if watched is not None:
        ctx.behind = watched[:before] + watched[apart:]
        ctx.tape.watched = None
    return q, k, v
