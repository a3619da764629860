"""Experts as generation decodes with them: a copy of its experts' matrices for each token, one batched product each.

Source: transformers 5.24, integrations/moe.py (batched_mm_experts_forward).
"""

from __future__ import annotations

from collections.abc import Callable

from memplan.architecture.expert_parts import Experts
from memplan.architecture.parts import Weight
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.grouped import added_up, weighted
from memplan.memory.storage import Size
from memplan.memory.tape import Tensor


def run_selected(
    ctx: Context, spec: Experts, flat: Tensor, scores: Tensor, tokens: Size, gated: Callable[[Tensor], Tensor]
) -> Tensor:
    """Run each token's experts on it and add their weighted outputs up. Each product's copies stay until the next's.

    Equation: tokens × experts per token × values of an expert's matrix are copied for a product; of both products at
    once while the second's are made.
    """
    tape, pairs = ctx.tape, tokens * spec.per_token
    repeated = tape.new((pairs, spec.inner), flat.dtype)
    matrices = _selected(ctx, spec, spec.expert_matrix(first=True), pairs)
    biases = _selected(ctx, spec, spec.expert_bias(first=True), pairs) if spec.bias else None
    output = gated(_product(ctx, repeated, matrices, spec.up_width))
    matrices = _selected(ctx, spec, spec.expert_matrix(first=False), pairs)
    biases = _selected(ctx, spec, spec.expert_bias(first=False), pairs) if spec.bias else None
    output = _product(ctx, output, matrices, spec.inner)
    weighed = weighted(tape, output, op.view(scores, (pairs, 1)))
    result = op.to(tape, added_up(tape, weighed, (tokens, spec.inner)), flat.dtype)
    del repeated, matrices, biases
    return result


def _selected(ctx: Context, spec: Experts, weight: Weight, pairs: Size) -> Tensor:
    """A copy of a parameter's part for the expert of each pair of token and expert."""
    held = ctx.parameter(f"{spec.name}.{weight.name}", weight.shape)
    return ctx.tape.new((pairs, *weight.shape[1:]), held.dtype)


def _product(ctx: Context, x: Tensor, matrices: Tensor, width: int) -> Tensor:
    tape = ctx.tape
    if tape.autocast is not None:
        matrices, x = op.to(tape, matrices, tape.autocast), op.to(tape, x, tape.autocast)
    return tape.new((x.shape[0], width), x.dtype)
