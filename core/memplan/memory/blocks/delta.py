"""The gated delta rule as transformers runs it without fused kernels: chunks of 64 positions, in fp32."""

from __future__ import annotations

from memplan.architecture.linear_parts import GatedDelta
from memplan.memory import operations as op
from memplan.memory.blocks.caching import state
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.convolution import causal_convolution, exponential_of, plus_parameter
from memplan.memory.blocks.delta_chunks import chunked_rule
from memplan.memory.blocks.gating import activation
from memplan.memory.blocks.joining import joined, split
from memplan.memory.tape import Tensor


def gated_delta(ctx: Context, spec: GatedDelta, x: Tensor) -> Tensor:
    """The module, from normalised input to output projection."""
    tape = ctx.tape
    with tape.inside(spec.name):
        mixed, z, b, a, held = _projected(ctx, spec, x)
        state(ctx, ((ctx.batch, spec.mixed_width, spec.kernel), mixed.dtype))
        mixed = causal_convolution(ctx, f"{spec.name}.conv1d", mixed, spec.mixed_width, spec.kernel)
        q, k, v = _heads(ctx, spec, mixed)
        beta = op.pointwise_by_output(tape, b, "beta")
        if spec.apart:
            beta = op.times(tape, beta)
        decay = _decay(ctx, spec, a)
        rule = _one_token if ctx.past else chunked_rule
        output = rule(ctx, spec, q, k, v, beta, decay)
        state(ctx, ((ctx.batch, spec.value_heads, spec.key_dim, spec.value_dim), "fp32"))
        if spec.apart:
            z = ctx.linear(spec.inputs[-1], x, spec.name)
        width = (ctx.batch * ctx.sequence * spec.value_heads, spec.value_dim)
        output = _gated_norm(ctx, spec, op.view(output, width), op.view(z, width))
        output = op.view(output, (ctx.batch, ctx.sequence, spec.value_heads * spec.value_dim))
        output = ctx.linear(spec.output, output, spec.name)
        del held
        return output


def _one_token(ctx: Context, spec: GatedDelta, q: Tensor, k: Tensor, v: Tensor, beta: Tensor, decay: Tensor) -> Tensor:
    """The rule for one token on a state that is cached: each step makes a state anew, of which three are there at once.

    Source: transformers 5.24, models/qwen3_next/modeling_qwen3_next.py (torch_recurrent_gated_delta_rule).
    """
    tape, whole = ctx.tape, (ctx.batch, spec.value_heads, spec.key_dim, spec.value_dim)
    wide = [op.to(tape, one, "fp32") for one in (q, k, v, beta, decay)]
    decayed = tape.new(whole, "fp32")
    read = tape.new(whole, "fp32")
    del read
    added = tape.new(whole, "fp32")
    last = tape.new(whole, "fp32")
    del decayed, added
    read = tape.new(whole, "fp32")
    del read, wide, last
    return tape.new((ctx.batch, ctx.sequence, spec.value_heads, spec.value_dim), q.dtype)


def _projected(ctx: Context, spec: GatedDelta, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, tuple[Tensor, ...]]:
    """Queries, keys and values side by side; gates; learning rates; decays; and what the module holds beside them."""
    tape, rows = ctx.tape, (ctx.batch, ctx.sequence)
    if spec.apart:
        mixed = joined(tape, [ctx.linear(linear, x, spec.name) for linear in spec.inputs[:3]])
        b, a = (ctx.linear(linear, x, spec.name) for linear in spec.inputs[3:5])
        return mixed, mixed, b, a, ()
    if not spec.fused:
        mixed, z, b, a = (ctx.linear(linear, x, spec.name) for linear in spec.inputs)
        return mixed, z, b, a, ()
    whole, small = (ctx.linear(linear, x, spec.name) for linear in spec.inputs)
    keys, values = spec.key_heads * spec.key_dim, spec.value_heads * spec.value_dim
    parts = split(tape, whole, [(*rows, width) for width in (keys, keys, values, values)])
    b, a = split(tape, small, [(*rows, spec.value_heads)] * 2)
    # What is cut within heads is put in order by a copy.
    value, z, b, a = (op.copied(tape, one) for one in (parts[2], parts[3], b, a))
    q, k = op.copied(tape, parts[0]), op.copied(tape, parts[1])
    return joined(tape, (q, k, value)), z, b, a, (whole, small)


def _heads(ctx: Context, spec: GatedDelta, mixed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Views of what the convolution made."""
    rows = (ctx.batch, ctx.sequence)
    keys, values = (*rows, spec.key_heads, spec.key_dim), (*rows, spec.value_heads, spec.value_dim)
    q, k, v = split(ctx.tape, mixed, (keys, keys, values))
    return q, k, v


def _decay(ctx: Context, spec: GatedDelta, a: Tensor) -> Tensor:
    """-exp(A) * softplus(a + bias), in fp32."""
    tape = ctx.tape
    heads = (spec.value_heads,)
    rate = ctx.parameter(f"{spec.name}.A_log", heads, dtype="fp32" if spec.decays_in_fp32 else None)
    bias = ctx.parameter(f"{spec.name}.dt_bias", heads)
    shifted = plus_parameter(tape, op.to(tape, a, "fp32"), bias)
    return op.scale(tape, op.pointwise(tape, shifted, "softplus input"), exponential_of(tape, rate))


def _gated_norm(ctx: Context, spec: GatedDelta, x: Tensor, gate: Tensor) -> Tensor:
    """A norm of each head, then its gain, then the gate in fp32."""
    tape, dtype = ctx.tape, x.dtype
    weight = ctx.parameter(f"{spec.name}.norm.weight", (spec.value_dim,))
    x = op.to(tape, x, "fp32")
    x = op.mul_by_row_scalar(tape, x, op.rsqrt(tape, op.plus_constant(tape, op.square_mean(tape, x))))
    x = op.scale(tape, op.to(tape, x, dtype), weight)
    opened = activation(tape, op.to(tape, gate, "fp32"), "silu")
    return op.to(tape, op.mul(tape, x, opened, role_a="normalised", role_b="gate"), dtype)
