"""Attention of families that run no kernel: each writes out scores, mask, softmax and product in its own way."""

from __future__ import annotations

from collections.abc import Callable

from memplan.architecture.parts import Attention
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.xielu import no_less_than
from memplan.memory.tape import Grads, Tape, Tensor, given


def own_scores(ctx: Context, spec: Attention, q: Tensor, k: Tensor, v: Tensor, held: list[Tensor]) -> Tensor:
    """What queries find, as the family that `spec.scores` names writes it. Its locals are added to `held`."""
    return _WAYS[spec.scores](ctx, spec, q, k, v, held)


def _gpt(ctx: Context, spec: Attention, q: Tensor, k: Tensor, v: Tensor, held: list[Tensor]) -> Tensor:
    """Times a causal mask of the module's, plus what it leaves out, times a number; softmax in the scores' dtype."""
    tape, side = ctx.tape, (1, 1, ctx.sequence, ctx.keys(None))
    weights = op.times(tape, _product(ctx, spec, q, k))
    dtype = op.promoted(weights.dtype, ctx.setup.unpacked_dtype)
    weights = op.to(tape, op.times(tape, weights), dtype)
    left_out = tape.new(side, ctx.setup.unpacked_dtype)
    weights = op.plus_constant(tape, weights)
    del left_out
    weights = products.softmax(tape, weights, weights.dtype if tape.autocast is None else "fp32")
    weights = op.dropout(tape, weights, spec.dropout)
    return _found(ctx, spec, weights, v)


def _gpt_neo(ctx: Context, spec: Attention, q: Tensor, k: Tensor, v: Tensor, held: list[Tensor]) -> Tensor:
    """In fp32, unscaled, under a causal buffer and then the model's mask."""
    tape, dtype = ctx.tape, v.dtype
    wide = op.to(tape, q, "fp32"), op.to(tape, k, "fp32")
    weights = _product(ctx, spec, *wide)
    weights = _masked(tape, weights)
    weights = op.plus_constant(tape, weights, ctx.setup.unpacked_dtype)
    weights = products.softmax(tape, weights, "fp32")
    weights = op.to(tape, weights, dtype)
    weights = op.dropout(tape, weights, spec.dropout)
    output = _found(ctx, spec, weights, v)
    del wide
    ctx.returned_weights = weights.detached()
    return output


def _mpt(ctx: Context, spec: Attention, q: Tensor, k: Tensor, v: Tensor, held: list[Tensor]) -> Tensor:
    """Scaled, plus fp32 biases by distance, filled where masked: the scores stay until the function returns."""
    tape = ctx.tape
    product = _product(ctx, spec, q, k)
    scores = op.times(tape, product)
    del product
    scores = op.plus_constant(tape, scores, "fp32")
    scores = _masked(tape, scores)
    weights = op.to(tape, products.softmax(tape, scores, "fp32"), v.dtype)
    weights = op.dropout(tape, weights, spec.dropout)
    held.append(scores)
    ctx.returned_weights = weights.detached()
    return _found(ctx, spec, weights, v)


def _bloom(ctx: Context, spec: Attention, q: Tensor, k: Tensor, v: Tensor, held: list[Tensor]) -> Tensor:
    """Product, scale and biases by distance in one operation; scores with and without the mask stay until the end."""
    tape, dtype = ctx.tape, q.dtype
    q = op.copied(tape, q) if ctx.turns_queries else q
    k, v = (op.copied(tape, k), op.copied(tape, v)) if ctx.turns_keys else (k, v)
    scores = products.matmul(tape, q, k, _square(ctx, spec), "queries", "keys", scaled=True)
    masked = op.plus_constant(tape, scores, ctx.setup.unpacked_dtype)
    weights = op.to(tape, products.softmax(tape, masked, "fp32"), dtype)
    weights = op.dropout(tape, weights, spec.dropout)
    held += [q, k, v, scores, masked]
    ctx.returned_weights = weights.detached()
    return op.copied(tape, products.matmul(tape, weights, v, q.shape, "weights", "values"))


def _falcon(ctx: Context, spec: Attention, q: Tensor, k: Tensor, v: Tensor, held: list[Tensor]) -> Tensor:
    """Scaled in place, softmax in the scores' own dtype; with biases by distance the scores are fp32."""
    tape, dtype = ctx.tape, q.dtype
    scores = [_product(ctx, spec, q, k)]
    if spec.alibi:
        scores.append(op.to(tape, scores[0], "fp32"))
        scores.append(op.plus_constant(tape, scores[1]))
    scores[-1] = _scaled_in_place(tape, scores[-1])
    masked = op.plus_constant(tape, scores[-1], ctx.setup.unpacked_dtype)
    weights = products.softmax(tape, masked, dtype if tape.autocast is None else "fp32")
    del masked
    if not spec.alibi:
        scores.clear()
    weights = op.dropout(tape, weights, spec.dropout if spec.alibi else 0.0)
    held += scores
    ctx.returned_weights = weights.detached()
    return _found(ctx, spec, weights, v)


def _granite_swa(ctx: Context, spec: Attention, q: Tensor, k: Tensor, v: Tensor, held: list[Tensor]) -> Tensor:
    """What each head found, times a sigmoid in fp32 of how far its scores' logarithmic sum is above its sink."""
    tape, groups = ctx.tape, spec.heads // spec.kv_heads
    if groups > 1:
        k, v = (op.copied(tape, one, (ctx.batch, spec.heads, *one.shape[2:])) for one in (k, v))
    scores = products.matmul(tape, q, k, _square(ctx, spec), "queries", "keys", copies=(False, False))
    scores = op.times(tape, scores)
    scores = op.plus_constant(tape, scores, ctx.setup.unpacked_dtype)
    opened = _above_sink(ctx, spec, scores)
    weights = op.to(tape, products.softmax(tape, scores, "fp32"), q.dtype)
    del scores
    weights = op.dropout(tape, weights, spec.dropout)
    shape = (ctx.batch, spec.heads, ctx.sequence, spec.head_dim)
    found = products.matmul(tape, weights, v, shape, "weights", "values", copies=(False, False))
    output = op.mul_by_row_scalar(tape, found, op.to(tape, opened, found.dtype))
    ctx.returned_weights = weights.detached()
    return op.copied(tape, output)


def _above_sink(ctx: Context, spec: Attention, scores: Tensor) -> Tensor:
    """sigmoid(log of the sum of exponentials - sink): keeps the scores, their sum's logarithm, and the result."""
    tape = ctx.tape
    summed = _logarithmic_sum(tape, scores)
    sink = ctx.parameter(f"{spec.name}.sinks", (spec.heads,))
    less = op.to(tape, op.plus_row(tape, summed, sink), "fp32")
    return op.pointwise_by_output(tape, less, "sigmoid")


def _logarithmic_sum(tape: Tape, x: Tensor) -> Tensor:
    output = tape.new((*x.shape[:-1], 1), x.dtype)
    if not tape.needs_grad(x):
        return output
    kept, shape = (tape.keep(x, "scores"), tape.keep(output, "logarithmic sum")), x.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        less, shares, result = tape.new(shape, dtype), tape.new(shape, dtype), tape.new(shape, dtype)
        del held, less, shares
        return (result,)

    return tape.record(output, (x,), run)


def _xglm(ctx: Context, spec: Attention, q: Tensor, k: Tensor, v: Tensor, held: list[Tensor]) -> Tensor:
    """Of heads put in order; masked scores are no less than a number, compared with it value by value."""
    tape, dtype = ctx.tape, q.dtype
    scores = products.matmul(tape, q, k, _square(ctx, spec), "queries", "keys")
    scores = op.plus_constant(tape, scores, ctx.setup.unpacked_dtype)
    scores = no_less_than(tape, scores)
    weights = products.softmax(tape, scores, "fp32" if dtype == "fp16" or tape.autocast is not None else dtype)
    weights = op.to(tape, weights, dtype) if dtype == "fp16" else weights
    del scores
    held += [q, k, v, weights]
    ctx.returned_weights = weights.detached()
    weights = op.dropout(tape, weights, spec.dropout)
    held.append(weights)
    return op.copied(tape, products.matmul(tape, weights, v, q.shape, "weights", "values"))


def _square(ctx: Context, spec: Attention) -> tuple[int, ...]:
    return (ctx.batch, spec.heads, ctx.sequence, ctx.keys(spec.window))


def _product(ctx: Context, spec: Attention, q: Tensor, k: Tensor) -> Tensor:
    copies = (ctx.turns_queries, ctx.turns_keys and spec.kv_heads > 1)
    return products.matmul(ctx.tape, q, _spread(ctx, spec, k), _square(ctx, spec), "queries", "keys", copies=copies)


def _spread(ctx: Context, spec: Attention, x: Tensor) -> Tensor:
    """One key or value is spread over all queries."""
    if spec.kv_heads > 1:
        return x
    shape = (ctx.batch, spec.heads, *x.shape[2:])
    return op.copied(ctx.tape, x, shape) if ctx.batch > 1 else op.spread(ctx.tape, x, shape)


def _found(ctx: Context, spec: Attention, weights: Tensor, v: Tensor) -> Tensor:
    shape = (ctx.batch, spec.heads, ctx.sequence, spec.head_dim)
    copies = (False, ctx.turns_keys and spec.kv_heads > 1)
    output = products.matmul(ctx.tape, weights, _spread(ctx, spec, v), shape, "weights", "values", copies=copies)
    return op.copied(ctx.tape, output)


def _scaled_in_place(tape: Tape, x: Tensor) -> Tensor:
    """x times a number, in place; its gradient is a tensor of its own."""
    output = x.detached()
    if not tape.needs_grad(x):
        return output
    return tape.record(output, (x,), lambda grads: (tape.new(given(grads).shape, given(grads).dtype),))


def _masked(tape: Tape, x: Tensor) -> Tensor:
    """x where a mask of the module allows it, a number elsewhere: costs what a product with a number does."""
    return op.times(tape, x)


_WAYS: dict[str, Callable[[Context, Attention, Tensor, Tensor, Tensor, list[Tensor]], Tensor]] = {
    "gpt": _gpt,
    "gpt_neo": _gpt_neo,
    "mpt": _mpt,
    "bloom": _bloom,
    "falcon": _falcon,
    "granite_swa": _granite_swa,
    "xglm": _xglm,
}
