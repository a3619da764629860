"""A mixture of experts as transformers 5 runs it: a router, tokens sorted by expert, grouped products."""

from __future__ import annotations

from memplan.architecture.parts import Experts
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.gating import activation, halves
from memplan.memory.tape import Grads, Parameter, Size, Tape, Tensor, given


def experts(ctx: Context, spec: Experts, x: Tensor) -> Tensor:
    """Route each token to `per_token` experts, run them, and add their weighted outputs up again."""
    tape, name = ctx.tape, spec.name
    tokens = ctx.batch * ctx.sequence
    flat = op.view(x, (tokens, spec.hidden))
    with tape.inside(f"{name}.gate"):
        scores, chosen = _route(ctx, spec, flat, tokens)
    with tape.inside(f"{name}.experts"):
        result = _run(ctx, spec, flat, scores, tokens)
    del chosen
    return op.view(result, x.shape)


def _route(ctx: Context, spec: Experts, flat: Tensor, tokens: Size) -> tuple[Tensor, Tensor]:
    """Each token's weights for the experts it is sent to, and the logits (which the block's caller holds)."""
    tape = ctx.tape
    weight = _merged(ctx, f"{spec.name}.gate.weight", (spec.count, spec.hidden), ctx.setup.rank)
    if isinstance(weight, Parameter):
        logits = products.linear(tape, flat, weight)
    else:
        logits = _product(tape, flat, weight, (tokens, spec.count))
    probabilities = products.softmax(tape, op.to(tape, logits, "fp32"), "fp32")
    values = _top(tape, probabilities, (tokens, spec.per_token))
    del probabilities
    if spec.normalised:
        values = _divided_by_sum(tape, values)
    return (op.to(tape, values, logits.dtype) if spec.scores_in_input_dtype else values), logits


def _run(ctx: Context, spec: Experts, flat: Tensor, scores: Tensor, tokens: Size) -> Tensor:
    tape, pairs, dtype = ctx.tape, tokens * spec.per_token, flat.dtype
    first = f"{spec.name}.experts.gate_up_proj", (spec.count, 2 * spec.width, spec.hidden), 2 * ctx.setup.rank
    second = f"{spec.name}.experts.down_proj", (spec.count, spec.hidden, spec.width), ctx.setup.rank
    order = tape.new((pairs,), "int64")
    permutation = tape.new((pairs,), "int64")
    selected = _gather(tape, flat, (pairs, spec.hidden), tape.new((pairs,), "int64"))
    weights = _gather(tape, op.view(scores, (pairs, 1)), (pairs, 1), permutation)
    output = _product(tape, selected, _merged(ctx, *first), (pairs, 2 * spec.width))
    gate, up = halves(tape, output)
    del output
    with tape.inside(f"{spec.name}.experts.act"):
        gate = activation(tape, gate, spec.activation)
        product = op.mul(tape, gate, up, role_a="act(gate)", role_b="up")
    del gate, up
    output = _product(tape, product, _merged(ctx, *second), (pairs, spec.hidden))
    del product
    weighted = _weighted(tape, output, weights)
    inverse = tape.new((pairs,), "int64")
    weighted = _gather(tape, weighted, (pairs, spec.hidden), inverse)
    result = op.to(tape, _added_up(tape, weighted, (tokens, spec.hidden)), dtype)
    del order
    return result


def _merged(ctx: Context, name: str, shape: tuple[int, ...], rank: int) -> Parameter | Tensor:
    """The weight; with an adapter on it, PEFT's sum of both, a tensor as large as the weight, made at each forward."""
    tape, setup = ctx.tape, ctx.setup
    weight = ctx.parameter(name, shape)
    if not setup.adapts_experts:
        return weight
    wide = rank * (shape[0] if len(shape) == 3 else 1)
    a = ctx.parameter(f"{name}.lora_A", (wide, shape[-1]), dtype=setup.adapter_dtype, trains=True)
    b = ctx.parameter(f"{name}.lora_B", (shape[-2], wide), dtype=setup.adapter_dtype, trains=True)
    cast_a, cast_b = tape.new(a.shape, weight.dtype), tape.new(b.shape, weight.dtype)
    kept = (tape.keep(cast_a, "adapter in the weight's dtype"), tape.keep(cast_b, "adapter in the weight's dtype"))
    tried = tape.new(shape, weight.dtype)  # registering the parametrisation evaluates it once
    del tried
    output = tape.new(shape, weight.dtype)

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        grad_b, grad_a = tape.new(b.shape, dtype), tape.new(a.shape, dtype)
        del held
        return grad_a, grad_b

    return tape.record(output, (a, b), run)


def _product(tape: Tape, x: Tensor, weight: Parameter | Tensor, shape: tuple[Size, ...]) -> Tensor:
    """A product with one matrix per group of rows; keeps what `linear` keeps."""
    trains, needs = tape.needs_grad(weight), tape.needs_grad(x)
    kept_x = tape.keep(x, "input") if trains else None
    kept_w = None
    if needs and isinstance(weight, Tensor):
        kept_w = tape.keep(weight, "weight with its adapter added")
    elif needs:
        tape.keep_weight()
    output = tape.new(shape, x.dtype)
    if not (trains or needs):
        return output
    x_shape, w_shape = x.shape, weight.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = (kept_x, kept_w), given(grads).dtype
        grad_w = tape.new(w_shape, dtype) if trains else None
        grad_x = tape.new(x_shape, dtype) if needs else None
        del held
        return grad_x, grad_w

    return tape.record(output, (x, weight), run)


def _top(tape: Tape, x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """The largest values of each row; keeps their places."""
    values, places = tape.new(shape, x.dtype), tape.new(shape, "int64")
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


def _divided_by_sum(tape: Tape, x: Tensor) -> Tensor:
    """Each row over its sum; keeps both."""
    total = tape.new((*x.shape[:-1], 1), x.dtype)
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


def _gather(tape: Tape, x: Tensor, shape: tuple[Size, ...], index: Tensor) -> Tensor:
    """Rows of x by index; keeps the index. Its gradient is put into zeros of x's size, out of place."""
    needs = tape.needs_grad(x)
    kept = tape.keep(index, "row numbers") if needs else None
    output = tape.new(shape, x.dtype)
    if not needs:
        return output
    before = x.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        zeros = tape.new(before, dtype)
        result = tape.new(before, dtype)
        del zeros, held
        return (result,)

    return tape.record(output, (x,), run)


def _weighted(tape: Tape, x: Tensor, weights: Tensor) -> Tensor:
    """x times one number a row; keeps x when the numbers need gradients, and the numbers when x does."""
    needs_x, needs_w = tape.needs_grad(x), tape.needs_grad(weights)
    kept_x = tape.keep(x, "expert output") if needs_w else None
    kept_w = tape.keep(weights, "weights of the experts") if needs_x else None
    output = tape.new(x.shape, op.promoted(x.dtype, weights.dtype))
    if not (needs_x or needs_w):
        return output
    shape, narrow, x_dtype = x.shape, weights.shape, x.dtype

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = (kept_x, kept_w), given(grads).dtype
        grad_x = tape.new(shape, dtype) if needs_x else None
        full = tape.new(shape, dtype) if needs_w else None
        if grad_x is not None and x_dtype != dtype:
            grad_x = tape.new(shape, x_dtype)
        grad_w = tape.new(narrow, dtype) if needs_w else None
        del full, held
        return grad_x, grad_w

    return tape.record(output, (x, weights), run)


def _added_up(tape: Tape, x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """Each token's experts added up; the gradient is copied to each of them."""
    output = tape.new(shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    before = x.shape
    return tape.record(output, (x,), lambda grads: (tape.new(before, given(grads).dtype),))
