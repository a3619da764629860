"""Experts beside a dense block, each with norms of its own around it (Gemma 4).

Source: transformers 5.24, modeling_gemma4.py (Gemma4TextDecoderLayer, Gemma4TextRouter).
"""

from __future__ import annotations

from memplan.architecture.expert_parts import Experts
from memplan.memory import norms, products
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.experts import run_experts
from memplan.memory.blocks.grouped import gather_parameter
from memplan.memory.blocks.mlp import mlp
from memplan.memory.blocks.routing import divided_by_sum, picked
from memplan.memory.storage import Size
from memplan.memory.tape import Tensor


def experts_beside_mlp(ctx: Context, spec: Experts, given: list[Tensor], residual: Tensor) -> Tensor:
    """norm(MLP of the one input given) + norm(experts of the normed residual): the layer's function holds all parts."""
    assert spec.beside is not None, "other experts read what the dense block reads"
    assert spec.shared is not None, "they stand beside one"
    after_mlp, before, after = spec.beside.norms
    tape, tokens = ctx.tape, ctx.batch * ctx.sequence
    dense = mlp(ctx, spec.shared, given.pop())
    first = ctx.norm(after_mlp, dense)
    flat = op.view(residual, (tokens, spec.hidden))
    with tape.inside("router"):
        scores = _routed(ctx, spec, flat, tokens)
    second = run_experts(ctx, spec, ctx.norm(before, flat), scores, tokens)
    second = ctx.norm(after, op.view(second, residual.shape))
    ctx.layer_locals += [first, second, scores]
    return op.add(tape, first, second)


def _routed(ctx: Context, spec: Experts, flat: Tensor, tokens: Size) -> Tensor:
    """Each token's weights for its experts: of a softmax of the largest, over their sum, times a number an expert."""
    assert spec.beside is not None, "other experts have another router"
    tape, of_token = ctx.tape, (tokens, spec.per_token)
    scale, scales = (ctx.parameter(f"{spec.name}.{one.name}", one.shape) for one in spec.beside.scales)
    x = norms.norm(tape, "power_rms", flat, None, None)
    x = op.times(tape, op.scale(tape, x, scale, weight_first=False))
    probabilities = products.softmax(tape, ctx.linear(spec.beside.router, x, spec.name), "fp32")
    ctx.layer_locals.append(probabilities)
    chosen = tape.new(of_token, "int64")
    values = divided_by_sum(tape, picked(tape, probabilities, tape.new(of_token, "fp32"), chosen), guarded=False)
    values = op.copied(tape, values)  # divided in place: backward keeps a copy of what was divided
    return op.mul(tape, values, gather_parameter(tape, scales, of_token, chosen))
