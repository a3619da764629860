"""Every token through every expert, as Llama 4 runs in transformers: inputs are weighted, mostly by zero."""

from __future__ import annotations

from memplan.architecture.expert_parts import Experts
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.gating import activation, halves
from memplan.memory.blocks.grouped import added_up, grouped_product, weighted
from memplan.memory.blocks.mlp import mlp
from memplan.memory.blocks.routing import top
from memplan.memory.products import linear
from memplan.memory.storage import Size
from memplan.memory.tape import Tensor, given


def dense_experts(ctx: Context, spec: Experts, x: Tensor) -> Tensor:
    """Weight a copy of the tokens for each expert, run all, add them up into the shared expert's output."""
    tape, name = ctx.tape, spec.name
    tokens = ctx.batch * ctx.sequence
    flat = op.view(x, (tokens, spec.hidden))
    with tape.inside(f"{name}.{spec.router.name}"):
        scores, logits = _route(ctx, spec, flat, tokens)
    given_in = op.copied(tape, flat, (spec.count * tokens, spec.hidden))
    given_in = weighted(tape, given_in, op.copied(tape, op.view(scores, (spec.count * tokens, 1))))
    with tape.inside(f"{name}.experts"):
        routed = _run(ctx, spec, given_in)
    assert spec.shared is not None, "Llama 4 has a shared expert"
    output = mlp(ctx, spec.shared, flat)
    summand = routed if tape.autocast is None else op.to(tape, routed, "fp32")  # autocast sums in fp32
    output = op.added_in_place(tape, output, added_up(tape, summand, (tokens, spec.hidden)))
    del logits, scores, given_in
    return op.view(output, x.shape)


def _route(ctx: Context, spec: Experts, flat: Tensor, tokens: Size) -> tuple[Tensor, Tensor]:
    """A sigmoid of the largest logits, zero elsewhere; and the logits."""
    tape, dtype = ctx.tape, flat.dtype
    weight = ctx.parameter(f"{spec.name}.{spec.router.name}.weight", (spec.count, spec.hidden))
    logits = linear(tape, flat, weight)
    values = top(tape, logits, (tokens, spec.per_token))
    spread = tape.new((tokens, spec.count), logits.dtype)
    if tape.needs_grad(values):
        narrow = values.shape
        tape.record(spread, (values,), lambda grads: (tape.new(narrow, given(grads).dtype),))
    scores = op.pointwise_by_output(tape, op.to(tape, spread, "fp32"), "sigmoid of logits")
    return op.to(tape, scores, logits.dtype if tape.autocast else dtype), logits


def _run(ctx: Context, spec: Experts, routed: Tensor) -> Tensor:
    tape, rows = ctx.tape, routed.shape[0]
    first, second = spec.expert_matrix(first=True), spec.expert_matrix(first=False)
    output = _product(ctx, spec, routed, first.name, first.shape, (rows, spec.up_width))
    gate, up = halves(tape, output)
    product = op.mul(tape, up, activation(tape, gate, spec.activation), role_a="up", role_b="act(gate)")
    return _product(ctx, spec, product, second.name, second.shape, (rows, spec.hidden))


def _product(
    ctx: Context, spec: Experts, x: Tensor, name: str, shape: tuple[int, ...], output: tuple[Size, ...]
) -> Tensor:
    weight = ctx.parameter(f"{spec.name}.{name}", shape)
    return grouped_product(ctx.tape, x, weight, output, autocasts=True)
