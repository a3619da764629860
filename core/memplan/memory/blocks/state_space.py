"""Mixers around a short convolution: LFM2's own, and the nearest thing for state-space layers."""

from __future__ import annotations

from memplan.architecture.linear_parts import ShortConvolution, StateSpace
from memplan.memory import operations as op
from memplan.memory.blocks.caching import state
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.convolution import causal_convolution
from memplan.memory.blocks.gating import activation
from memplan.memory.blocks.joining import joined, sliced, split
from memplan.memory.tape import Grads, Tensor, given


def short_convolution(ctx: Context, spec: ShortConvolution, x: Tensor) -> Tensor:
    """out(C * convolution(B * x)), where B, C and x are thirds of one product."""
    tape, third = ctx.tape, (ctx.batch, ctx.sequence, spec.width)
    with tape.inside(spec.name):
        whole = ctx.linear(spec.inputs[0], x, spec.name)
        before, after, value = split(tape, whole, (third, third, third), reordered=True)
        gated = op.mul(tape, before, value, role_a="first gate", role_b="value")
        state(ctx, ((ctx.batch, spec.width, spec.kernel), gated.dtype))
        gated = causal_convolution(ctx, spec.name, gated, spec.width, spec.kernel, activated=False, in_order=True)
        output = op.mul(tape, after, gated, role_a="second gate", role_b="convolved")
        return ctx.linear(spec.output, output, spec.name)


def state_space(ctx: Context, spec: StateSpace, x: Tensor) -> Tensor:
    """Projections, a convolution with silu, a scan that keeps its input and output, a gate, the output projection."""
    tape, rows = ctx.tape, (ctx.batch, ctx.sequence)
    with tape.inside(spec.name):
        made = [ctx.linear(linear, x, spec.name) for linear in spec.inputs]
        whole = made[0] if len(made) == 1 else joined(tape, made)
        mixed = sliced(tape, whole, (*rows, spec.width))
        if spec.kernel:
            state(ctx, ((ctx.batch, spec.width, spec.kernel), mixed.dtype))
            mixed = causal_convolution(ctx, f"{spec.name}.conv1d", mixed, spec.width, spec.kernel)
        read = [ctx.linear(linear, sliced(tape, mixed, (*rows, linear.inputs)), spec.name) for linear in spec.inner]
        state(ctx, ((ctx.batch, spec.state), spec.state_dtype or mixed.dtype))
        scanned = _scanned(ctx, mixed, spec.output.inputs)
        gate = activation(tape, sliced(tape, whole, scanned.shape), "silu")
        output = op.mul(tape, scanned, gate, role_a="scanned", role_b="gate")
        del read
        return ctx.linear(spec.output, output, spec.name)


def _scanned(ctx: Context, x: Tensor, width: int) -> Tensor:
    tape = ctx.tape
    output = tape.new((*x.shape[:-1], width), x.dtype)
    if not tape.needs_grad(x):
        return output
    kept, before = (tape.keep(x, "input of the scan"), tape.keep(output, "output of the scan")), x.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        result = tape.new(before, given(grads).dtype)
        del held
        return (result,)

    return tape.record(output, (x,), run)
