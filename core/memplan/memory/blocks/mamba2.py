"""Mamba 2's mixer: one projection, a short convolution, a scan, a gate around a norm."""

from __future__ import annotations

from memplan.architecture.linear_parts import Mamba2
from memplan.memory import operations as op
from memplan.memory.blocks.caching import state
from memplan.memory.blocks.chunk_scan import chunk_scan
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.convolution import as_weights_and_back, causal_convolution, exponential_of
from memplan.memory.blocks.gating import activation
from memplan.memory.blocks.joining import split
from memplan.memory.blocks.state_space import state_space
from memplan.memory.tape import Tensor, given


def mamba2(ctx: Context, spec: Mamba2, x: Tensor) -> Tensor:
    """The module as a trace runs it: PyTorch's own path. On a device fused kernels are walked in its place."""
    tape = ctx.tape
    if ctx.past or tape.on_device:
        return state_space(ctx, spec, x)
    rows, inner = (ctx.batch, ctx.sequence), spec.output.inputs
    states = spec.groups * spec.state_size
    with tape.inside(spec.name):
        whole = _projected(ctx, spec, x)
        rate = op.times(tape, exponential_of(tape, ctx.parameter(f"{spec.name}.A_log", (spec.heads,))))
        gate, mixed, steps = split(tape, whole, [(*rows, width) for width in (inner, spec.width, spec.heads)])
        state(ctx, ((ctx.batch, spec.width, spec.kernel), mixed.dtype))
        convolved = causal_convolution(
            ctx,
            f"{spec.name}.conv1d",
            as_weights_and_back(ctx, mixed),
            spec.width,
            spec.kernel,
            in_order=True,
            biased=spec.conv_bias,
        )
        mixed = op.to(tape, convolved, mixed.dtype)
        del convolved
        heads, b, c = split(tape, mixed, [(*rows, width) for width in (inner, states, states)])
        scanned = chunk_scan(ctx, spec, (heads, b, c), steps, rate)
        state(ctx, ((ctx.batch, spec.state), spec.state_dtype or mixed.dtype))
        scanned = _gated(ctx, spec, op.view(scanned, (*rows, inner)), gate)
        return ctx.linear(spec.output, op.to(tape, scanned, x.dtype), spec.name)


def _projected(ctx: Context, spec: Mamba2, x: Tensor) -> Tensor:
    if not spec.scaled:
        return ctx.linear(spec.inputs[0], x, spec.name)
    return _by_column(ctx, ctx.linear(spec.inputs[0], op.times(ctx.tape, x), spec.name))


def _by_column(ctx: Context, x: Tensor) -> Tensor:
    """x times a number for each column, a buffer of the layer's in the dtype that it was loaded in."""
    tape = ctx.tape
    output = tape.new(x.shape, op.promoted(x.dtype, ctx.setup.weights_dtype))
    if not tape.needs_grad(x):
        return output
    tape.keep_weight()
    return tape.record(output, (x,), lambda grads: (tape.new(given(grads).shape, given(grads).dtype),))


def _gated(ctx: Context, spec: Mamba2, x: Tensor, gate: Tensor) -> Tensor:
    """Norm and gate in fp32, in the family's order."""
    tape = ctx.tape
    if spec.gated == "no_norm":
        return op.mul(tape, x, activation(tape, gate, "silu"), role_a="scanned", role_b="gate")
    if spec.gated == "after_norm":
        return _opened(ctx, _normed(ctx, spec, x), gate)
    return _normed(ctx, spec, _opened(ctx, x, gate))


def _opened(ctx: Context, x: Tensor, gate: Tensor) -> Tensor:
    tape = ctx.tape
    opened = activation(tape, op.to(tape, gate, "fp32"), "silu")
    return op.mul(tape, x, opened, role_a="scanned", role_b="gate")


def _normed(ctx: Context, spec: Mamba2, x: Tensor) -> Tensor:
    """Over each group's values, then the gain."""
    tape, whole = ctx.tape, x.shape
    weight = ctx.parameter(f"{spec.name}.norm.weight", whole[-1:])
    x = op.view(x, (*whole[:-1], spec.groups, whole[-1] // spec.groups))
    x = op.mul_by_row_scalar(tape, x, op.rsqrt(tape, op.plus_constant(tape, op.square_mean(tape, x))))
    return op.scale(tape, op.view(x, whole), weight)
