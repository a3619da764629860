"""Megatron's layer and loss, as its authors count them: fused norms, softmax and activations keep one tensor each.

Equation, bytes a layer keeps in 16 bit, s tokens of b sequences, hidden size h, a heads, feed-forward width 4h, with
dropout: s b h (34 + 5 a s / h); with the attention's core recomputed (selective) 34 s b h; with t tensor-parallel
devices s b h (10 + 24 / t + 5 a s / (h t)).
Source: Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, equations 1, 2 and 6;
megatron-core 0.16, transformer/dot_product_attention.py, fusions/, and tensor_parallel/cross_entropy.py.
"""

from __future__ import annotations

from memplan.architecture.parts import Architecture, Attention, Layer, Mlp
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.context import Context
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Parameter, Tape, Tensor, given


def layer(ctx: Context, spec: Layer, x: Tensor) -> Tensor:
    """Hidden states in, hidden states out."""
    assert isinstance(spec.attention, Attention), "Megatron's compositions have no other attention"
    assert isinstance(spec.mlp, Mlp), "Megatron's compositions have no other feed-forward block"
    attended = _attention(ctx, spec.attention, ctx.norm(spec.attention_norm, x))
    x = op.add(ctx.tape, x, op.dropout(ctx.tape, attended, spec.dropout))
    del attended
    fed = _mlp(ctx, spec.mlp, ctx.norm(spec.mlp_norm, x))
    return op.add(ctx.tape, x, op.dropout(ctx.tape, fed, spec.dropout))


def _attention(ctx: Context, spec: Attention, x: Tensor) -> Tensor:
    tape = ctx.tape
    with tape.inside(spec.name):
        q, k, v = _heads(ctx, spec, x)
        if ctx.setup.attention != "eager":
            y = products.flash_attention(tape, q, k, v)
        else:
            k, v = (op.copied(tape, one, q.shape) if spec.kv_heads != spec.heads else one for one in (k, v))
            y = _core_recomputed(ctx, spec, q, k, v) if ctx.setup.selective else _core(ctx, spec, q, k, v)
        del q, k, v
        y = op.view(y, (ctx.batch, ctx.sequence, spec.heads * spec.value_dim))
        return ctx.linear(spec.output, y, spec.name)


def _heads(ctx: Context, spec: Attention, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, a tensor each; positions turn queries and keys in one kernel, which keeps nothing."""
    tape, counts = ctx.tape, (spec.heads, spec.kv_heads, spec.kv_heads)
    shapes = [(ctx.batch, count, ctx.sequence, spec.head_dim) for count in counts]
    if len(spec.inputs) == 3:
        made = [ctx.linear(linear, x, spec.name) for linear in spec.inputs]
        parts = [op.view(one, shape) for one, shape in zip(made, shapes, strict=True)]
        if not spec.rotary_dim:
            return parts[0], parts[1], parts[2]
        return op.times(tape, parts[0]), op.times(tape, parts[1]), parts[2]
    fused = ctx.linear(spec.inputs[0], x, spec.name)
    q, k, v = (op.view(_taken_out(tape, fused, shape), shape) for shape in shapes)
    return q, k, v


def _taken_out(tape: Tape, fused: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """A part of a product, copied out of it; its gradient is put among zeros."""
    output, whole = tape.new(shape, fused.dtype), fused.shape
    if not tape.needs_grad(fused):
        return output
    return tape.record(output, (fused,), lambda grads: (tape.new(whole, given(grads).dtype),))


def _core(ctx: Context, spec: Attention, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Scores, scale, mask and softmax in one kernel, dropout, and the product with the values."""
    tape, square = ctx.tape, (ctx.batch, spec.heads, ctx.sequence, ctx.sequence)
    scores = products.matmul(tape, q, k, square, "queries", "keys")
    weights = _fused_softmax(tape, scores)
    del scores
    weights = op.dropout(tape, weights, spec.dropout)
    return products.matmul(tape, weights, v, (*q.shape[:-1], v.shape[-1]), "weights", "values")


def _fused_softmax(tape: Tape, scores: Tensor) -> Tensor:
    """Keeps its result, in the scores' dtype; backward writes over the gradient."""
    output = tape.new(scores.shape, scores.dtype)
    if not tape.needs_grad(scores):
        return output
    kept = tape.keep(output, "softmax")

    def run(grads: list[Tensor | None]) -> Grads:
        held, grad = kept, given(grads)
        del held
        return (grad,)

    return tape.record(output, (scores,), run)


def _core_recomputed(ctx: Context, spec: Attention, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The core under selective recomputation: keeps queries, keys and values, and runs again in backward."""
    tape, drops = ctx.tape, spec.dropout > 0 and ctx.tape.trains
    square = (ctx.batch, spec.heads, ctx.sequence, ctx.sequence)
    needs = tape.needs_grad(q, k, v)
    kept = tuple(tape.keep(one, "recomputed from") for one in (q, k, v)) if needs else None

    def run_again() -> list[Tensor]:
        """Softmax, dropout's mask and what it lets through; the scores have gone by then."""
        made = [tape.new(square, q_dtype), tape.new(square, q_dtype)]
        if drops:
            made[0] = tape.new(square, "bool")
            made.append(tape.new(square, q_dtype))
        return made

    q_dtype, shapes = q.dtype, (q.shape, k.shape, v.shape)
    first = run_again()
    output = tape.new((*q.shape[:-1], v.shape[-1]), q.dtype)
    del first
    if not needs:
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        held, again, dtype = kept, run_again(), given(grads).dtype
        of_weights = tape.new(square, dtype)
        results = tuple(tape.new(shape, dtype) for shape in shapes)
        del held, again, of_weights
        return results

    return tape.record(output, (q, k, v), run)


def _mlp(ctx: Context, spec: Mlp, x: Tensor) -> Tensor:
    """One kernel for the activation (and the product with the gate): keeps what goes in."""
    tape, name = ctx.tape, spec.name
    if spec.gate is None:
        x = ctx.linear(spec.up, x, name)
        with tape.inside(f"{name}.act"):
            x = op.pointwise(tape, x, "activation input")
        return ctx.linear(spec.down, x, name)
    gate, up = ctx.linear(spec.gate, x, name), ctx.linear(spec.up, x, name)
    with tape.inside(f"{name}.act"):
        x = _gated(tape, gate, up)
    del gate, up
    return ctx.linear(spec.down, x, name)


def _gated(tape: Tape, gate: Tensor, up: Tensor) -> Tensor:
    output = tape.new(gate.shape, gate.dtype)
    if not tape.needs_grad(gate, up):
        return output
    kept, shape = (tape.keep(gate, "gate"), tape.keep(up, "up")), gate.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        results = tape.new(shape, dtype), tape.new(shape, dtype)
        del held
        return results

    return tape.record(output, (gate, up), run)


def head_and_loss(
    ctx: Context,
    architecture: Architecture,
    last: list[Tensor],
    weights: tuple[Parameter, Parameter | None],
    with_loss: bool,
) -> tuple[Tensor | None, Tensor | None]:
    """Logits in fp32, of which the loss makes the softmax in place, and in backward the gradient."""
    tape = ctx.tape
    logits = products.linear(tape, last.pop(), *weights)
    if not with_loss:
        return logits, None
    wide = op.to(tape, logits, "fp32")
    del logits
    loss = tape.new((ctx.batch, ctx.sequence), "fp32")
    if not tape.needs_grad(wide):
        return None, loss
    held, shape = [tape.keep(wide, "softmax")], wide.shape

    def run(grads: list[Tensor | None]) -> Grads:
        kept = held.pop()
        assert kept is not None, "the loss stands outside checkpoints"
        return (Tensor(kept.storage, shape, "fp32"),)

    return None, tape.record(loss, (wide,), run)
