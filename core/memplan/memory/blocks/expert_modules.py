"""Experts as transformers ran them before version 5: linear modules of their own, one expert after the other.

Source: transformers 4.48.1, models/mixtral/modeling_mixtral.py. Tokens are taken to be spread evenly.
"""

from __future__ import annotations

from memplan.architecture.expert_parts import Experts
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.gating import activation
from memplan.memory.blocks.grouped import gather, weighted
from memplan.memory.setup import Setup
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Tape, Tensor, given

MOST_MODULES = 16
"""More experts than this, without adapters, are walked as today's grouped products, which hold about as much."""


def runs_modules(setup: Setup, spec: Experts) -> bool:
    """Whether the experts are walked one after the other."""
    modules = setup.expert_modules(spec)
    return bool(modules) and (spec.count <= MOST_MODULES or any(map(setup.adapts, modules)))


def tokens_of_expert(batch: int, sequence: int, per_token: int, experts: int) -> int:
    """Tokens that each expert gets when they are spread evenly.

    >>> tokens_of_expert(1, 100, 2, 8)
    25
    """
    return -(-batch * sequence * per_token // experts)


def run_modules(ctx: Context, spec: Experts, flat: Tensor, scores: Tensor, tokens: Size) -> Tensor:
    """Run each expert on its tokens and add its weighted output to the sum, in place."""
    tape, rows = ctx.tape, ctx.counted(tokens_of_expert, spec.per_token, spec.count)
    scores = op.to(tape, scores, flat.dtype)
    total = tape.new((tokens, spec.inner), flat.dtype)
    mask = tape.new((spec.count, spec.per_token, tokens), "int64")
    for index in range(spec.count):
        found = tape.new((rows, 2), "int64")
        chosen = gather(tape, flat, (rows, spec.inner), found)
        output = _expert(ctx, spec, chosen, f"{spec.name}.experts.{index}")
        output = weighted(tape, output, gather(tape, scores, (rows, 1), found))
        total = _added_to_rows(tape, total, op.to(tape, output, flat.dtype), found)
        del chosen, output
    del mask
    return total


def _expert(ctx: Context, spec: Experts, x: Tensor, name: str) -> Tensor:
    gate, up, down = ctx.setup.expert_modules(spec)
    activated = activation(ctx.tape, ctx.linear(gate, x, name), spec.activation)
    product = op.mul(ctx.tape, activated, ctx.linear(up, x, name), role_a="act(gate)", role_b="up")
    del activated
    return ctx.linear(down, product, name)


def _added_to_rows(tape: Tape, total: Tensor, part: Tensor, rows: Tensor) -> Tensor:
    """Add to some rows in place; keeps their numbers. The part's gradient is those rows of the sum's."""
    output = Tensor(total.storage, total.shape, total.dtype)
    if not tape.needs_grad(total, part):
        return output
    kept = tape.keep(rows, "row numbers") if tape.needs_grad(part) else None
    shape = part.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, grad = kept, given(grads)
        result = tape.new(shape, grad.dtype) if held is not None else None
        return grad, result

    return tape.record(output, (total, part), run)
