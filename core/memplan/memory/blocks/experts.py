"""A mixture of experts as transformers 5 runs it: a router, tokens sorted by expert, grouped products."""

from __future__ import annotations

from memplan.architecture.expert_parts import Experts
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.dense_experts import dense_experts
from memplan.memory.blocks.expert_modules import run_modules, runs_modules
from memplan.memory.blocks.gating import activation, clamped_gate, halves
from memplan.memory.blocks.grouped import (
    Made,
    added_up,
    exchanged,
    gather,
    gather_parameter,
    grouped_product,
    prepared,
    weighted,
)
from memplan.memory.blocks.mlp import mlp
from memplan.memory.blocks.routing import route
from memplan.memory.blocks.selected_experts import run_selected
from memplan.memory.storage import Size
from memplan.memory.tape import Parameter, Tensor


def experts(ctx: Context, spec: Experts, x: Tensor) -> Tensor:
    """Route each token to `per_token` experts, run them, add their weighted outputs up, and the shared expert's."""
    if spec.dense:
        return dense_experts(ctx, spec, x)
    tape, name = ctx.tape, spec.name
    tokens = ctx.batch * ctx.sequence
    flat = op.view(x, (tokens, spec.hidden))
    shared = mlp(ctx, spec.shared, flat) if spec.shared is not None and spec.shared_first else None
    with tape.inside(f"{name}.{spec.router.name}"):
        scores, chosen = route(ctx, spec, flat, tokens)
    around = spec.around()
    read = ctx.linear(around[0], flat, name) if around else flat
    with tape.inside(f"{name}.experts"):
        result = run_experts(ctx, spec, read, scores, tokens)
    del read
    if spec.scaled:
        result = op.times(tape, result)
    if around:
        result = ctx.linear(around[1], result, name)
    if spec.shared is not None and not spec.shared_first:
        result = op.add(tape, result, mlp(ctx, spec.shared, flat))
    elif shared is not None:
        if spec.shared_gate is not None:
            gate = op.pointwise_by_output(tape, ctx.linear(spec.shared_gate, flat, name), "gate of the shared expert")
            shared = weighted(tape, shared, gate)
            del gate
        result = op.add(tape, result, shared)
    del chosen, shared
    return op.view(result, x.shape)


def run_experts(ctx: Context, spec: Experts, read: Tensor, scores: Tensor, tokens: Size) -> Tensor:
    """What each token's experts make of it, weighted and added up."""
    if ctx.past and ctx.setup.stack.selects_experts_to_decode:
        return run_selected(ctx, spec, read, scores, tokens, lambda output: _gated(ctx, spec, output))
    run = run_modules if runs_modules(ctx.setup, spec) else _run
    return run(ctx, spec, read, scores, tokens)


def _run(ctx: Context, spec: Experts, flat: Tensor, scores: Tensor, tokens: Size) -> Tensor:
    tape, pairs, dtype = ctx.tape, tokens * spec.per_token, flat.dtype
    first, second = (_matrix(ctx, spec, first=first) for first in (True, False))
    order = tape.new((pairs,), "int64")
    permutation = tape.new((pairs,), "int64")
    selected = gather(tape, flat, (pairs, spec.inner), tape.new((pairs,), "int64"))
    if ctx.setup.expert_parts > 1:
        selected = exchanged(tape, selected)
    weights = gather(tape, op.view(scores, (pairs, 1)), (pairs, 1), permutation)
    biases = _biases(ctx, spec, order, first=True)
    output = _product(ctx, selected, first(), biases, spec.up_width)
    output = _gated(ctx, spec, output)
    biases = _biases(ctx, spec, order, first=False)
    output = _product(ctx, output, second(), biases, spec.inner)
    if ctx.setup.expert_parts > 1:
        output = exchanged(tape, output)
    weighed = weighted(tape, output, weights)
    inverse = tape.new((pairs,), "int64")
    weighed = gather(tape, weighed, (pairs, spec.inner), inverse)
    result = op.to(tape, added_up(tape, weighed, (tokens, spec.inner)), dtype)
    del order, first, second
    return result


def _biases(ctx: Context, spec: Experts, order: Tensor, *, first: bool) -> Tensor | None:
    """The bias of each row's expert."""
    if not spec.bias:
        return None
    weight = spec.expert_bias(first=first)
    bias = ctx.parameter(f"{spec.name}.{weight.name}", weight.shape)
    return gather_parameter(ctx.tape, bias, (order.shape[0], weight.shape[-1]), order)


def _matrix(ctx: Context, spec: Experts, *, first: bool) -> Made:
    """The matrices of all experts, when they are asked for."""
    weight = spec.expert_matrix(first=first)
    return prepared(ctx, spec, weight.name, weight.shape, ctx.setup.rank * (2 if first and spec.gated else 1))


def _product(ctx: Context, x: Tensor, matrix: Parameter | Tensor, biases: Tensor | None, width: int) -> Tensor:
    """One of the two products of all experts, with their biases."""
    output = grouped_product(ctx.tape, x, matrix, (x.shape[0], width))
    return output if biases is None else op.added_in_place(ctx.tape, output, biases)


def _gated(ctx: Context, spec: Experts, output: Tensor) -> Tensor:
    tape = ctx.tape
    with tape.inside(f"{spec.name}.experts.act"):
        if not spec.gated:
            return activation(tape, output, spec.activation)
        if spec.clamped:
            return clamped_gate(tape, output)
        gate, up = halves(tape, output)
        del output
        gate = activation(tape, gate, spec.activation)
        return op.mul(tape, gate, up, role_a="act(gate)", role_b="up")
