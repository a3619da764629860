"""A feed-forward block: gated or plain, with separate or fused matrices."""

from __future__ import annotations

from memplan.architecture.parts import Mlp
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.gating import activation, halves
from memplan.memory.blocks.xielu import xielu
from memplan.memory.tape import Tensor


def mlp(ctx: Context, spec: Mlp, x: Tensor) -> Tensor:
    """From normalised input to the down projection's output."""
    tape, name = ctx.tape, spec.name
    if spec.fused:
        gate, up = halves(tape, ctx.linear(spec.up, x, name))
        del x
        with tape.inside(f"{name}.act"):
            gate = activation(tape, gate, spec.activation)
            up = op.mul(tape, up, gate, role_a="up", role_b="act(gate)")
        return ctx.linear(spec.down, up, name)
    if spec.gate is None:
        x = ctx.linear(spec.up, x, name)
        with tape.inside(f"{name}.act"):
            x = _activated(ctx, spec, x)
        return ctx.linear(spec.down, x, name)
    gate = ctx.linear(spec.gate, x, name)
    with tape.inside(f"{name}.act"):
        gate = activation(tape, gate, spec.activation)
    up = ctx.linear(spec.up, x, name)
    with tape.inside(f"{name}.act"):
        product = op.mul(tape, gate, up, role_a="act(gate)", role_b="up")
    del gate, up
    return ctx.linear(spec.down, product, name)


def _activated(ctx: Context, spec: Mlp, x: Tensor) -> Tensor:
    if spec.activation != "xielu":
        return activation(ctx.tape, x, spec.activation)
    alphas = [ctx.parameter(f"{spec.name}.{weight.name}", weight.shape) for weight in spec.slopes()]
    return xielu(ctx.tape, x, *alphas)
