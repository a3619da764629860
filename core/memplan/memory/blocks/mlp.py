"""A feed-forward block: gated or plain, with separate or fused matrices."""

from __future__ import annotations

from memplan.architecture.parts import Linear, Mlp
from memplan.architecture.shared_parts import NamedMlp
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.gating import activation, halves
from memplan.memory.blocks.xielu import xielu
from memplan.memory.tape import Grads, Tape, Tensor, given


def mlp(ctx: Context, spec: Mlp, x: Tensor) -> Tensor:
    """From normalised input to the down projection's output."""
    tape, name = ctx.tape, spec.name
    if spec.fused:
        gate, up = halves(tape, ctx.linear(spec.up, x, name))
        del x
        with tape.inside(f"{name}.act"):
            gate = activation(tape, gate, spec.activation)
            up = op.mul(tape, up, gate, role_a="up", role_b="act(gate)")
        return _ended(ctx, spec, up)
    if spec.gate is None:
        x = ctx.linear(spec.up, x, name)
        with tape.inside(f"{name}.act"):
            x = _activated(ctx, spec, x)
        return _ended(ctx, spec, x)
    if spec.scaled:
        return _scaled(ctx, spec, spec.gate, x)
    gate = ctx.linear(spec.gate, x, name)
    if spec.sparse:
        gate = _above_cutoff(tape, gate)
    with tape.inside(f"{name}.act"):
        activated = activation(tape, gate, spec.activation)
    named = [gate] if isinstance(spec, NamedMlp) else []
    del gate
    up = ctx.linear(spec.up, x, name)
    with tape.inside(f"{name}.act"):
        product = op.mul(tape, activated, up, role_a="act(gate)", role_b="up")
    named += [activated, up] if named else []
    del activated, up
    return _ended(ctx, spec, product)


def _ended(ctx: Context, spec: Mlp, x: Tensor) -> Tensor:
    """The last matrix, behind its norm if there is one."""
    return ctx.linear(spec.down, ctx.norm(spec.inner_norm, x, spec.name), spec.name)


def _scaled(ctx: Context, spec: Mlp, gate: Linear, x: Tensor) -> Tensor:
    """down(up(x) * act(gate(x) * number)) * number."""
    tape, name = ctx.tape, spec.name
    up = ctx.linear(spec.up, x, name)
    opened = op.times(tape, ctx.linear(gate, x, name))
    with tape.inside(f"{name}.act"):
        opened = activation(tape, opened, spec.activation)
        product = op.mul(tape, up, opened, role_a="up", role_b="act(gate)")
    del up, opened
    return op.times(tape, ctx.linear(spec.down, product, name))


def _above_cutoff(tape: Tape, x: Tensor) -> Tensor:
    """relu(x - (mean + number * deviation)): keeps x and the deviation, one number a token, and what is left."""
    mean, deviation = op.mean(tape, x), _deviation(tape, x)
    cutoff = op.add(tape, mean, op.times(tape, deviation))
    return op.pointwise_by_output(tape, op.minus_row_scalar(tape, x, cutoff), "above the cutoff")


def _deviation(tape: Tape, x: Tensor) -> Tensor:
    """The standard deviation of each row; keeps the row."""
    output = tape.new((*x.shape[:-1], 1), x.dtype)
    if not tape.needs_grad(x):
        return output
    kept, shape = (tape.keep(x, "gate"), tape.keep(output, "deviation")), x.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        less_mean, result = tape.new(shape, dtype), tape.new(shape, dtype)
        del held, less_mean
        return (result,)

    return tape.record(output, (x,), run)


def _activated(ctx: Context, spec: Mlp, x: Tensor) -> Tensor:
    if spec.activation != "xielu":
        return activation(ctx.tape, x, spec.activation)
    alphas = [ctx.parameter(f"{spec.name}.{weight.name}", weight.shape) for weight in spec.slopes()]
    return xielu(ctx.tape, x, *alphas)
