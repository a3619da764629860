"""Routers: each token's experts and their weights, as the modelling code of each family finds them."""

from __future__ import annotations

from memplan.architecture.expert_parts import Experts, Router
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.grouped import grouped_product, prepared
from memplan.memory.blocks.joining import joined
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Parameter, Tape, Tensor, given


def route(ctx: Context, spec: Experts, flat: Tensor, tokens: Size) -> tuple[Tensor, Tensor]:
    """Each token's weights for the experts it is sent to, and the logits (which the block's caller holds)."""
    if spec.router.leaves_autocast:
        with ctx.tape.no_autocast():
            return _routed(ctx, spec, flat, tokens)
    return _routed(ctx, spec, flat, tokens)


def _routed(ctx: Context, spec: Experts, flat: Tensor, tokens: Size) -> tuple[Tensor, Tensor]:
    router, tape = spec.router, ctx.tape
    logits = _logits(ctx, spec, flat, tokens)
    of_token = (tokens, spec.per_token)
    match router.scores:
        case "softmax":
            values = _of_softmax(tape, router, logits, of_token)
        case "sigmoid":
            values = _of_sigmoid(tape, router, logits, of_token)
        case "top_softmax":
            values = top(tape, logits, of_token)
            values = products.softmax(tape, values, values.dtype if router.bias else "fp32")
        case "top_sigmoid":
            values = op.pointwise_by_output(tape, _chosen(tape, logits, of_token), "sigmoid of logits")
        case "sparse_mixer":
            values = _of_two_draws(tape, logits)
    if router.normalised:
        values = divided_by_sum(tape, values, guarded=router.guarded)
    if router.scaled:
        values = op.times(tape, values)
    return (op.to(tape, values, flat.dtype) if router.scores_in_input_dtype else values), logits


def _logits(ctx: Context, spec: Experts, flat: Tensor, tokens: Size) -> Tensor:
    tape, router, name = ctx.tape, spec.router, f"{spec.name}.{spec.router.name}"
    module = ctx.setup.router_module(spec) or spec.router_linear()
    held_in = "fp32" if router.held_in_fp32 else None
    if module is not None:
        ctx.parameter(f"{spec.name}.{module.name}.weight", (module.outputs, module.inputs), dtype=held_in)
        return ctx.linear(module, op.to(tape, flat, "fp32") if router.fp32 else flat, spec.name)
    weight = prepared(ctx, spec, f"{router.name}.weight", (spec.count, spec.hidden), ctx.setup.rank, dtype=held_in)()
    bias = ctx.parameter(f"{name}.bias", (spec.count,)) if router.bias else None
    if router.fp32:
        flat = op.to(tape, flat, "fp32")
        weight = op.to(tape, weight, "fp32") if isinstance(weight, Tensor) else _fp32(tape, weight)
    if isinstance(weight, Parameter):
        logits = products.linear(tape, flat, weight, bias)
    else:
        dtype = tape.autocast or weight.dtype
        logits = grouped_product(tape, op.to(tape, flat, dtype), op.to(tape, weight, dtype), (tokens, spec.count))
    return op.to(tape, logits, "fp32") if router.scores == "top_softmax" and not router.bias else logits


def _fp32(tape: Tape, weight: Parameter) -> Parameter | Tensor:
    if weight.dtype == "fp32":
        return weight
    output = tape.new(weight.shape, "fp32")
    if not tape.needs_grad(weight):
        return output
    return tape.record(output, (weight,), lambda grads: (tape.new(given(grads).shape, weight.dtype),))


def _of_softmax(tape: Tape, router: Router, logits: Tensor, picked: tuple[Size, ...]) -> Tensor:
    """The largest of a softmax in fp32; with a correction, those where the corrected scores are largest."""
    dtype = "fp32" if router.softmax_in_fp32 or tape.autocast is not None else logits.dtype
    scores = products.softmax(tape, op.to(tape, logits, dtype), dtype)
    if router.groups:
        mask = tape.new(scores.shape, "bool")
        scores = op.mul_by_constant(tape, scores, mask, "chosen groups")
    if router.correction == "none":
        return top(tape, scores, picked)
    corrected = tape.new(scores.shape, "fp32")
    values = _gathered(tape, scores, picked)
    del corrected
    return values


def _of_sigmoid(tape: Tape, router: Router, logits: Tensor, picked: tuple[Size, ...]) -> Tensor:
    """Sigmoids where the corrected ones are largest. The choice itself has no gradient."""
    if not (router.fp32 or router.plain_scores):
        logits = op.to(tape, logits, "fp32")
    scores = op.pointwise_by_output(tape, logits, "sigmoid of logits")
    corrected = tape.new(scores.shape, "fp32")
    mask = None
    if router.groups:
        mask = tape.new(scores.shape, "bool")
        corrected = tape.new(scores.shape, "fp32")
    values = _gathered(tape, scores, picked)
    del corrected, mask
    return values


def _chosen(tape: Tape, logits: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """Logits where the corrected ones are largest (Kolibri)."""
    corrected = tape.new(logits.shape, "fp32")
    values = _gathered(tape, logits, shape)
    del corrected
    return values


def _of_two_draws(tape: Tape, logits: Tensor) -> Tensor:
    """Phi-3.5-MoE's sparsemixer: an expert drawn, then a second one, each with a softmax and a gradient of its own."""
    draws = [_draw(tape, logits), _draw(tape, logits)]
    return joined(tape, draws)


def _draw(tape: Tape, logits: Tensor) -> Tensor:
    """A drawn expert's share; keeps it, its place and the softmax."""
    shape, column = logits.shape, (*logits.shape[:-1], 1)
    gates = tape.new(shape, "fp32" if tape.autocast is not None else logits.dtype)
    share, place = tape.new(column, gates.dtype), tape.new(column, "int64")
    output = tape.new(column, gates.dtype)
    if not tape.needs_grad(logits):
        return output
    kept = tuple(tape.keep(one, "drawn experts") for one in (share, place, gates, tape.new(shape, "bool")))

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        narrow = [tape.new(column, dtype) for _ in range(2)]
        result = tape.new(shape, dtype)
        del narrow, held
        return (result,)

    return tape.record(output, (logits,), run)


def top(tape: Tape, x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """The largest values of each row; keeps their places."""
    values = tape.new(shape, x.dtype)
    return picked(tape, x, values, tape.new(shape, "int64"))


def _gathered(tape: Tape, x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """The values of each row at places found before; keeps the places."""
    places = tape.new(shape, "int64")
    return picked(tape, x, tape.new(shape, x.dtype), places)


def picked(tape: Tape, x: Tensor, values: Tensor, places: Tensor) -> Tensor:
    """Values of x that were picked; keeps their places."""
    if not tape.needs_grad(x):
        return values
    kept, whole = tape.keep(places, "chosen experts"), x.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        zeros = tape.new(whole, dtype)
        result = tape.new(whole, dtype)
        del zeros, held
        return (result,)

    return tape.record(values, (x,), run)


def divided_by_sum(tape: Tape, x: Tensor, *, guarded: bool) -> Tensor:
    """Each row over its sum; keeps both."""
    total = tape.new((*x.shape[:-1], 1), x.dtype)
    if guarded:
        total = tape.new(total.shape, x.dtype)
    output = tape.new(x.shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    kept = tape.keep(total, "sum of weights"), tape.keep(output, "weights")
    shape = x.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        parts = [tape.new(shape, dtype) for _ in range(3)]
        result = tape.new(shape, dtype)
        del parts, held
        return (result,)

    return tape.record(output, (x,), run)
