"""Self-attention: projections, rotary positions, fused or eager scores."""

from __future__ import annotations

from memplan.architecture.latent_parts import LatentAttention
from memplan.architecture.linear_parts import StateMixer
from memplan.architecture.parts import Attention
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.caching import cached
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.differential import differential
from memplan.memory.blocks.joining import sliced
from memplan.memory.blocks.joining import split as cut
from memplan.memory.blocks.mlx import unfused_attention
from memplan.memory.blocks.normed_heads import normed_heads
from memplan.memory.blocks.own_scores import own_scores
from memplan.memory.blocks.rotary import joined, rotary
from memplan.memory.blocks.sharing import given_heads
from memplan.memory.blocks.sinks import beside_sink, less_the_largest, weights_beside_sink
from memplan.memory.norms import unit_length
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Tape, Tensor, given


def attention(ctx: Context, spec: Attention, x: Tensor) -> Tensor:
    """The attention module, from normalised input to output projection."""
    with ctx.tape.inside(spec.name):
        held: list[Tensor] = []  # further locals of the framework's function
        q, k, v, gate = _heads(ctx, spec, x, held)
        if spec.rotary_dim and spec.value_norm is None:
            held += [q, k] if spec.rotary.inline else []
            q, k = rotary(ctx, spec, q, k, held if spec.rotary.inline else None)
        if spec.norms_after_turning:
            q, k = ctx.norm(spec.query_norm, q, spec.name), ctx.norm(spec.key_norm, k, spec.name)
        if spec.unit_heads:
            q, k = unit_length(ctx.tape, q), unit_length(ctx.tape, k)
        k, v = cached(ctx, spec.window, (k, v)) if spec.shares != "takes" else (k, v)
        k, v = given_heads(ctx, spec, k, v) if spec.shares == "gives" else (k, v)
        if spec.scaled_queries == "in_fp32":
            scales = ctx.tape.new((1, 1, ctx.sequence, 1), "fp32")
            q = op.to(ctx.tape, op.mul_by_constant(ctx.tape, q, scales, "temperatures"), q.dtype)
            del scales
        if spec.scaled_queries == "after_turning":
            scales = ctx.tape.new((1, 1, ctx.sequence, 1), q.dtype)
            q = op.mul_by_constant(ctx.tape, q, scales, "scales of queries")
            del scales
        if spec.scores == "xglm":
            q, k, v = op.copied(ctx.tape, q), op.copied(ctx.tape, k), op.copied(ctx.tape, v)
        if spec.scores != "kernel" and not is_fused(ctx.setup.attention, spec):
            output = own_scores(ctx, spec, q, k, v, held)
        elif spec.differential:
            output = differential(ctx, spec, q, k, v, scores)
        else:
            output = scores(ctx, spec, q, k, v)
        if _answers_by_head(ctx, spec, q):
            output = op.copied(ctx.tape, output)
        output = op.view(output, (ctx.batch, ctx.sequence, spec.heads * spec.value_dim))
        if gate is not None:
            output = _opened(ctx, spec, output, gate)
        output = ctx.norm(spec.inner_norm, output, spec.name)
        result = ctx.linear(spec.output, output, spec.name)
        if spec.scores == "bloom":
            ctx.attention_locals += [q, k, v, result, *held]
        return result


def _opened(ctx: Context, spec: Attention, output: Tensor, gate: Tensor) -> Tensor:
    """What attention gives, times what its gate opens: a number for each value, or for each head."""
    tape = ctx.tape
    if spec.softplus_gate:
        opened = op.to(tape, op.pointwise(tape, op.to(tape, gate, "fp32"), "gate of the output"), output.dtype)
    else:
        opened = op.pointwise_by_output(tape, gate, "gate of the output")
    if spec.gate is None or spec.gate.outputs == output.shape[-1]:
        return op.mul(tape, output, opened, role_a="attention output", role_b="gate of the output")
    by_head = op.view(output, (ctx.batch, ctx.sequence, spec.heads, spec.value_dim))
    opened = op.view(opened, (ctx.batch, ctx.sequence, spec.heads, 1))
    return op.view(op.mul_by_row_scalar(tape, by_head, opened), output.shape)


def _heads(
    ctx: Context, spec: Attention, x: Tensor, held: list[Tensor]
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Queries, keys and values, (batch, heads, sequence, head_dim); and a gate for the output, if there is one."""
    tape = ctx.tape
    if spec.value_norm is not None:
        return *normed_heads(ctx, spec, x), None
    if spec.fused != "no":
        product = ctx.linear(spec.inputs[0], x, spec.name)
        holds = spec.scores != "kernel" or spec.fused == "by_shard" or ctx.setup.cache != "none"
        held += [product] if holds else []
        q, k, v = _cut(ctx, spec, product)
        if spec.norms_after_turning:
            return q, k, v, None
        return ctx.norm(spec.query_norm, q, spec.name), ctx.norm(spec.key_norm, k, spec.name), v, None
    parts, gate = [], None
    counts = (spec.heads, spec.kv_heads, spec.kv_heads)
    norms = (None,) * 3 if spec.norms_after_turning else (spec.query_norm, spec.key_norm, None)
    for index, (linear, count, norm) in enumerate(zip(spec.inputs, counts, norms, strict=True)):
        y = ctx.linear(linear, x, spec.name)
        if spec.clips:
            y = op.clipped(tape, y)
        if index == 0 and spec.scaled_queries == "first":
            y = op.times(tape, y)
        split = (ctx.batch, ctx.sequence, count, spec.head_dim)
        if index == 0 and spec.gated:
            y, gate = cut(tape, y, (split, split))
            gate = op.view(op.copied(tape, gate), (ctx.batch, ctx.sequence, count * spec.head_dim))
        over_heads = norm is not None and norm.size == spec.head_dim
        if norm is not None:
            y = ctx.norm(norm, op.view(y, split) if over_heads else y, spec.name)
        shape = (ctx.batch, count, ctx.sequence, spec.value_dim if index == 2 else spec.head_dim)
        # Gradients come back head by head where rotary positions made new tensors, and are put in token order.
        rotated = index < 2 and spec.rotary_dim > 0
        copies = rotated and not over_heads and spec.rotary.form != "complex"
        y = op.view_with_copied_gradient(tape, y, shape) if copies else op.view(y, shape)
        if (index, spec.scaled) in ((1, "keys"), (2, "values")):
            y = op.times(tape, y)
        parts.append(y)
    if spec.gate is not None:
        gate = ctx.linear(spec.gate, x, spec.name)
    return parts[0], parts[1], parts[2], gate


def _cut(ctx: Context, spec: Attention, fused: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values as views of one product; their gradients are put together in a tensor of its size."""
    counts = (spec.heads, spec.kv_heads, spec.kv_heads)
    shapes = [(ctx.batch, count, ctx.sequence, spec.head_dim) for count in counts]
    views = [Tensor(fused.storage, shape, fused.dtype) for shape in shapes]
    tape = ctx.tape
    if spec.fused in ("one_pair", "grouped"):
        return _cut_last_two(ctx, spec, fused)
    if tape.needs_grad(fused):
        if spec.fused == "by_index" or (spec.fused == "by_part" and spec.rotary_dim):
            _record_slices(tape, fused, views)
        else:
            _record_split(tape, fused, views, copied=spec.fused == "by_head")
    if spec.fused == "by_shard":
        views = [op.copied(tape, view) for view in views]
    return views[0], views[1], views[2]


def _cut_last_two(ctx: Context, spec: Attention, fused: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Falcon: keys and values are taken out by an index each, a copy; in groups all three are then copied again."""
    tape, one = ctx.tape, (ctx.batch, spec.heads // spec.groups, ctx.sequence, spec.head_dim)
    whole = (ctx.batch, spec.heads, ctx.sequence, spec.head_dim)
    q = sliced(tape, fused, whole)
    k, v = _taken(tape, fused, one), _taken(tape, fused, one)
    if spec.fused == "one_pair":
        return q, k, v
    return op.copied(tape, q), op.copied(tape, k, whole), op.copied(tape, v, whole)


def _taken(tape: Tape, x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """Values by an index: a copy, whose gradient is put into a tensor of zeros, out of place."""
    output, whole = tape.new(shape, x.dtype), x.shape
    if not tape.needs_grad(x):
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        dtype = given(grads).dtype
        zeros, result = tape.new(whole, dtype), tape.new(whole, dtype)
        del zeros
        return (result,)

    return tape.record(output, (x,), run)


def _record_slices(tape: Tape, fused: Tensor, views: list[Tensor]) -> None:
    """Three slices: each one's gradient is put into a full-sized tensor of zeros."""
    shape = fused.shape
    for view in views:
        tape.record(view, (fused,), lambda grads: (tape.new(shape, given(grads).dtype),))


def _record_split(tape: Tape, fused: Tensor, views: list[Tensor], *, copied: bool) -> None:
    """One split: the three gradients are joined once; within heads, the join is then put in token order."""
    shape = fused.shape

    def run(grads: list[Tensor | None]) -> Grads:
        dtype = next(grad.dtype for grad in grads if grad is not None)
        joined = tape.new(shape, dtype)
        if not copied:
            return (joined,)
        grads.clear()
        return (tape.new(shape, dtype),)

    node = tape.node((fused,), run, num_outputs=3)
    for slot, view in enumerate(views):
        view.node, view.slot = node, slot


def _answers_by_head(ctx: Context, spec: Attention, q: Tensor) -> bool:
    """Whether the kernel's answer must be put in token order: it answers in its queries' memory order.

    A CPU's does, and so do flash attention and cuDNN's on a device (out is made like the queries), which take 16 bit,
    no mask and heads of up to 256. The memory-efficient one, which takes the rest, answers in token order. Source:
    PyTorch 2.13, _meta_registrations.py and aten/src/ATen/native/transformers/cuda (flash_attn/flash_api.cpp: out =
    empty_like(q); attention.cu: res = empty(B, M, heads, Kv)).
    """
    by_head = joined(spec) and not spec.rotary.by_token
    if not is_fused(ctx.setup.attention, spec):
        return False
    if not ctx.tape.on_device:
        return by_head or _falls_back(ctx, spec)
    flash = (ctx.tape.autocast or q.dtype) != "fp32" and spec.head_dim <= _WIDEST_FLASH_HEAD
    return by_head and flash and ctx.masks.get(spec.window) is None and not ctx.past


_WIDEST_FLASH_HEAD = 256


def _falls_back(ctx: Context, spec: Attention | LatentAttention) -> bool:
    """Whether a CPU has no fused kernel for it: dropout inside attention, or values of another width than keys."""
    dropped = spec.dropout > 0 and ctx.tape.trains
    unlike = spec.scores == "falcon" and spec.kv_heads != spec.heads  # fewer keys than queries, and unrepeated
    return unlike or ((dropped or spec.value_dim != spec.head_dim) and not ctx.tape.on_device)


def scores(
    ctx: Context, spec: Attention | LatentAttention, q: Tensor, k: Tensor, v: Tensor, own_mask: Tensor | None = None
) -> Tensor:
    """What queries find: fused, step by step, or a CPU's plain products."""
    tape, parts = ctx.tape, ctx.setup.context_parts
    if ctx.setup.stack.unfused_attention and isinstance(spec, Attention):
        return unfused_attention(ctx, spec, q, k, v)
    mask = ctx.masks.get(spec.window) if own_mask is None else own_mask
    groups = spec.heads // spec.kv_heads
    fused = is_fused(ctx.setup.attention, spec)
    if fused and not _falls_back(ctx, spec):
        if groups > 1 and (mask is not None or ctx.setup.stack.repeats_keys or not _takes_groups(spec)):
            k, v = _repeated(ctx, spec, k), _repeated(ctx, spec, v)
        if mask is None:
            return products.flash_attention(tape, q, k, v, context_parts=parts)
        if spec.alibi:
            # The model's mask is of numbers; autocast makes a copy.
            cast = tape.new(_square(ctx, spec), tape.autocast) if tape.autocast else None
            return products.flash_attention(tape, q, k, v, cast, context_parts=parts)
        # The kernel takes a mask of numbers, made from the model's mask of yes and no at each call.
        numbers = tape.new((ctx.batch, 1, ctx.sequence, k.shape[2]), tape.autocast or q.dtype)
        return products.flash_attention(tape, q, k, v, numbers, context_parts=parts)
    if fused:
        if groups > 1 and spec.scores == "kernel" and (mask is not None or not _takes_groups(spec)):
            k, v = _repeated(ctx, spec, k), _repeated(ctx, spec, v)
        return _math_attention(ctx, spec, q, k, v)
    if groups > 1:
        k, v = _repeated(ctx, spec, k), _repeated(ctx, spec, v)
    return _eager(ctx, spec, q, k, v, mask)


def _takes_groups(spec: Attention | LatentAttention) -> bool:
    """Whether transformers lets the kernel share keys and values among queries: not those of wide or unlike heads.

    Source: transformers 5.24, integrations/sdpa_attention.py (use_gqa_in_sdpa).
    """
    return spec.head_dim == spec.value_dim <= _WIDEST_FLASH_HEAD


def is_fused(kind: str, spec: Attention | LatentAttention | StateMixer) -> bool:
    """Whether a fused kernel runs; sinks are known to flash attention alone, and some families run none."""
    if spec.scores in ("gpt", "gpt_neo", "mpt", "bloom", "xglm"):
        return False
    only_flash = spec.sinks or (isinstance(spec, Attention) and spec.steadied)
    return kind == "flash" if only_flash else kind != "eager" and not spec.softcap


def _repeated(ctx: Context, spec: Attention | LatentAttention, x: Tensor) -> Tensor:
    """Keys or values for every query head: a copy, but of one head a view of itself again and again."""
    if spec.kv_heads == 1:
        return op.spread(ctx.tape, x, (ctx.batch, spec.heads, *x.shape[2:]))
    return op.copied(ctx.tape, x, (ctx.batch, spec.heads, *x.shape[2:]))


def _square(ctx: Context, spec: Attention | LatentAttention) -> tuple[Size, ...]:
    return (ctx.batch, spec.heads, ctx.sequence, ctx.keys(spec.window))


def _product(
    ctx: Context, spec: Attention | LatentAttention, q: Tensor, k: Tensor, copies: tuple[bool, bool]
) -> Tensor:
    """q @ k.T; casts of them for the scores go once it is made."""
    dtype = "fp32" if isinstance(spec, Attention) and spec.scores_in_fp32 else q.dtype
    q, k = op.to(ctx.tape, q, dtype), op.to(ctx.tape, k, dtype)
    return products.matmul(ctx.tape, q, k, _square(ctx, spec), "queries", "keys", copies=copies)


def _eager(
    ctx: Context, spec: Attention | LatentAttention, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None
) -> Tensor:
    """softmax(q @ k.T * scale + mask) @ v, each step a tensor of its own."""
    tape, dtype = ctx.tape, q.dtype
    # Batch and heads are one axis of the product, which heads in token order are not: they are copied.
    by_token = isinstance(spec, Attention) and (not joined(spec) or spec.rotary.by_token)
    alone, of_one = spec.kv_heads == spec.heads, spec.kv_heads == 1 and ctx.batch > 1
    copies = by_token and ctx.turns_queries, of_one or (by_token and ctx.turns_keys and alone)
    weights = op.times(tape, _product(ctx, spec, q, k, copies))
    if spec.softcap:
        weights = op.times(tape, weights)
        weights = op.pointwise_by_output(tape, weights, "capped scores")
        weights = op.times(tape, weights)
    if mask is not None:
        weights = op.plus_constant(tape, weights, mask.dtype)
    held: Tensor | None = None
    if isinstance(spec, Attention) and spec.steadied:
        if spec.sinks:
            weights = beside_sink(ctx, spec.name, spec.heads, weights)
        weights = less_the_largest(ctx, weights)
        weights = products.softmax(tape, weights, weights.dtype)
        if spec.sinks:
            weights = sliced(tape, weights, _square(ctx, spec))
        weights = op.to(tape, weights, v.dtype)
    elif spec.sinks:
        weights, held = weights_beside_sink(ctx, spec.name, spec.heads, weights)
        weights = op.to(tape, weights, v.dtype)
    else:
        own = "fp32" if spec.softmax_in_fp32 or tape.autocast is not None else dtype
        weights = op.to(tape, products.softmax(tape, weights, own), dtype)
    weights = op.dropout(tape, weights, spec.dropout)
    output = products.matmul(
        tape,
        weights,
        v,
        (*q.shape[:-1], v.shape[-1]),
        "weights",
        "values",
        copies=(False, of_one or (alone and (ctx.turns_keys or isinstance(spec, LatentAttention)))),
    )
    del held
    ctx.returned_weights = weights.detached()
    return op.copied(tape, output)


def _math_attention(ctx: Context, spec: Attention | LatentAttention, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention that a CPU has no kernel for: PyTorch falls back to plain products in fp32."""
    tape = ctx.tape
    arguments = [q, k, v]
    if tape.autocast is not None:
        v, k, q = (op.to(tape, one, tape.autocast) for one in (v, k, q))
        arguments += [q, k, v]
    dtype, of_heads = q.dtype, isinstance(spec, Attention)
    with tape.no_autocast():
        whole = [op.to(tape, one, "fp32") for one in (q, k, v)]
        q = op.times(tape, whole[0])
        masked, alone = ctx.masks.get(spec.window) is not None, spec.kv_heads == spec.heads
        square = (ctx.sequence, k.shape[2])
        bias = tape.new((ctx.batch, 1, *square), dtype) if masked else None if ctx.past else tape.new(square, "fp32")
        if not (alone or masked):
            arguments += whole[1:]
            whole[1:] = [op.copied(tape, one, (*q.shape[:-1], one.shape[-1])) for one in whole[1:]]
        k = op.times(tape, whole[1])
        if masked and spec.kv_heads == 1:  # one key is spread over all queries by the products themselves
            arguments.append(k)
            k = op.copied(tape, k, q.shape)
        # Latent attention gives queries and keys head by head, and repeated keys are in that order too.
        copies = of_heads, of_heads and alone
        weights = products.matmul(tape, q, k, _square(ctx, spec), "queries", "keys", copies=copies)
        del k
        weights = op.plus_constant(tape, weights) if bias is not None else weights
        weights = products.softmax(tape, weights, "fp32")
        dropped = op.dropout(tape, weights, spec.dropout)
        # The weights' 16-bit copy, which the caller of the kernel drops.
        cast = tape.new(dropped.shape, dtype) if dtype != "fp32" else None
        in_order = not alone or (dtype == "fp32" and of_heads)
        v = whole[2] if in_order else op.copied(tape, whole[2])
        if masked and spec.kv_heads == 1:
            arguments.append(v)
            v = op.copied(tape, v, (*q.shape[:-1], v.shape[-1]))
        output = products.matmul(tape, dropped, v, (*q.shape[:-1], v.shape[-1]), "weights", "values")
        result = op.to(tape, output, dtype)
        del bias, cast, arguments
        return result
