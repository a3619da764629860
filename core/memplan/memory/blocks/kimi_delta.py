"""Kimi Delta Attention as transformers runs it without fused kernels: the delta rule with a decay for each channel.

Source: transformers 5.24, models/kimi_linear/modeling_kimi_linear.py (KimiLinearDeltaAttention, KimiLinearForgetGate).
"""

from __future__ import annotations

from memplan.architecture.linear_parts import KimiDelta
from memplan.memory import operations as op
from memplan.memory.blocks.caching import state
from memplan.memory.blocks.channel_decays import channel_rule
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.convolution import as_weights_and_back, causal_convolution, exponential_of, plus_parameter
from memplan.memory.blocks.joining import joined, sliced, split
from memplan.memory.blocks.state_space import state_space
from memplan.memory.norms import as_tensor
from memplan.memory.tape import Grads, Tape, Tensor, given


def kimi_delta(ctx: Context, spec: KimiDelta, x: Tensor) -> Tensor:
    """The module as a trace runs it: PyTorch's own path. On a device fused kernels are walked in its place."""
    tape = ctx.tape
    if ctx.past or tape.on_device:
        return state_space(ctx, spec, x)
    rows, wide = (ctx.batch, ctx.sequence), spec.heads * spec.head_dim
    heads = (*rows, spec.heads, spec.head_dim)
    with tape.inside(spec.name):
        mixed = joined(tape, [ctx.linear(linear, x, spec.name) for linear in spec.inputs[:3]])
        state(ctx, ((ctx.batch, spec.width, spec.kernel), mixed.dtype))
        mixed = _convolved(ctx, spec, mixed)
        parts = split(tape, mixed, [(*rows, wide)] * 3)
        q, k, v = (op.view_with_copied_gradient(tape, part, heads) for part in parts)
        decay = _forgets(ctx, spec, x)
        beta = op.pointwise_by_output(tape, ctx.linear(spec.inputs[3], x, spec.name), "beta")
        output = channel_rule(ctx, spec, (q, k, v, beta, decay))
        state(ctx, ((ctx.batch, spec.state), spec.state_dtype or mixed.dtype))
        gate = ctx.linear(spec.inner[1], ctx.linear(spec.inputs[5], x, spec.name), spec.name)
        normed = _gated_norm(ctx, spec, output, op.view(gate, heads))
        result = ctx.linear(spec.output, op.view(normed, (*rows, wide)), spec.name)
        del mixed, parts, q, k, v, decay, beta, output, gate  # names of the function, until it returns
        return result


def _convolved(ctx: Context, spec: KimiDelta, mixed: Tensor) -> Tensor:
    """A convolution over what is turned channel by channel; its last positions, all of them, are cut out."""
    turned = as_weights_and_back(ctx, mixed)
    out = causal_convolution(ctx, f"{spec.name}.conv1d", turned, spec.width, spec.kernel)
    return sliced(ctx.tape, op.to(ctx.tape, out, mixed.dtype), mixed.shape)


def _forgets(ctx: Context, spec: KimiDelta, x: Tensor) -> Tensor:
    """-exp(A) * softplus(f(x) + bias), in fp32, the softplus written out."""
    tape = ctx.tape
    made = ctx.linear(spec.inner[0], ctx.linear(spec.inputs[4], x, spec.name), spec.name)
    bias = ctx.parameter(f"{spec.name}.dt_bias", (spec.heads * spec.head_dim,), dtype="fp32")
    shifted = plus_parameter(tape, op.to(tape, made, "fp32"), bias)
    rate = op.times(tape, exponential_of(tape, ctx.parameter(f"{spec.name}.A_log", (spec.heads,))))
    grown = op.plus_constant(tape, op.pointwise_by_output(tape, shifted, "exponential"))
    return op.scale(tape, _either(tape, shifted, op.pointwise(tape, grown, "1 + exponential")), rate)


def _either(tape: Tape, a: Tensor, b: Tensor) -> Tensor:
    """a where it is large, b elsewhere: keeps which."""
    large = tape.new(a.shape, "bool")
    output = tape.new(a.shape, a.dtype)
    if not tape.needs_grad(a, b):
        return output
    kept = tape.keep(large, "which")

    def run(grads: list[Tensor | None]) -> Grads:
        held, grad = kept, given(grads)
        results = tape.new(grad.shape, grad.dtype), tape.new(grad.shape, grad.dtype)
        del held
        return results

    return tape.record(output, (a, b), run)


def _gated_norm(ctx: Context, spec: KimiDelta, x: Tensor, gate: Tensor) -> Tensor:
    """A norm of each head and its gain in fp32, then a sigmoid gate."""
    tape, dtype = ctx.tape, x.dtype
    weight = ctx.parameter(f"{spec.name}.o_norm.weight", (spec.head_dim,))
    x = op.to(tape, x, "fp32")
    x = op.mul_by_row_scalar(tape, x, op.rsqrt(tape, op.plus_constant(tape, op.square_mean(tape, x))))
    x = op.scale(tape, x, weight if weight.dtype == "fp32" else as_tensor(tape, weight, "fp32"))
    opened = op.pointwise_by_output(tape, op.to(tape, gate, "fp32"), "gate")
    return op.to(tape, op.mul(tape, x, opened, role_a="normalised", role_b="gate"), dtype)
