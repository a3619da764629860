"""Products with one matrix for each group of rows, and PEFT's adapters on such matrices."""

from __future__ import annotations

from collections.abc import Callable

from memplan.architecture.expert_parts import Experts
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.products import weight_cast
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Parameter, Tape, Tensor, given

Made = Callable[[], "Parameter | Tensor"]
"""What gives a weight when it is asked for."""


def prepared(
    ctx: Context, spec: Experts, name: str, shape: tuple[int, ...], rank: int, *, dtype: str | None = None
) -> Made:
    """The weight; with an adapter on it, PEFT's sum of both, a tensor as large as the weight.

    It is made at its first use and held until the module is through. Registering the parametrisation, before the module
    runs, evaluates it once.
    """
    tape, setup = ctx.tape, ctx.setup
    weight = ctx.parameter(f"{spec.name}.{name}", shape, dtype=dtype)
    if not setup.adapts_parameter(spec, name):
        return lambda: weight
    wide = rank * (shape[0] if len(shape) == 3 else 1)
    a = ctx.parameter(f"{spec.name}.{name}.lora_A", (wide, shape[-1]), dtype=setup.adapter_dtype, trains=True)
    b = ctx.parameter(f"{spec.name}.{name}.lora_B", (shape[-2], wide), dtype=setup.adapter_dtype, trains=True)
    casts = [tape.new(one.shape, weight.dtype) if one.dtype != weight.dtype else None for one in (a, b)]
    tried = tape.new(shape, weight.dtype)
    del tried
    made: list[Tensor] = []

    def make() -> Tensor:
        if not made:
            made.append(_sum(tape, weight, (a, b), casts))
        return made[0]

    return make


def _sum(tape: Tape, weight: Parameter, adapters: tuple[Parameter, Parameter], casts: list[Tensor | None]) -> Tensor:
    kept = []
    for cast in casts:
        if cast is None:
            tape.keep_weight()
        else:
            kept.append(tape.keep(cast, "adapter in the weight's dtype"))
    output, (a, b) = tape.new(weight.shape, weight.dtype), adapters

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        grad_b, grad_a = tape.new(b.shape, dtype), tape.new(a.shape, dtype)
        del held
        return grad_a, grad_b

    return tape.record(output, (a, b), run)


def grouped_product(
    tape: Tape, x: Tensor, weight: Parameter | Tensor, shape: tuple[Size, ...], *, autocasts: bool = False
) -> Tensor:
    """A product with one matrix per group of rows; keeps what `linear` keeps. Autocast leaves grouped kernels alone."""
    if autocasts and tape.autocast is not None:
        weight = weight_cast(tape, weight, tape.autocast) if isinstance(weight, Parameter) else weight
    x = op.to(tape, x, weight.dtype)
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


def gather(tape: Tape, x: Tensor, shape: tuple[Size, ...], index: Tensor) -> Tensor:
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


def gather_parameter(tape: Tape, weight: Parameter, shape: tuple[Size, ...], index: Tensor) -> Tensor:
    """Rows of a parameter by index (a bias for each row of a grouped product)."""
    needs = tape.needs_grad(weight)
    kept = tape.keep(index, "experts in order") if needs else None
    output = tape.new(shape, weight.dtype)
    if not needs:
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        zeros = tape.new(weight.shape, dtype)
        result = tape.new(weight.shape, dtype)
        del zeros, held
        return (result,)

    return tape.record(output, (weight,), run)


def exchanged(tape: Tape, x: Tensor) -> Tensor:
    """Rows sent to their experts' devices, or back, for as many that come (all-to-all); what was sent goes.

    Rows are taken to spread evenly. Its gradient travels the other way. Source: PyTorch, all_to_all_single_autograd, as
    torchtitan's expert parallelism and Megatron-LM's dispatcher (token_dispatcher.py) use it on each way.
    """
    output, shape = tape.new(x.shape, x.dtype), x.shape
    if not tape.needs_grad(x):
        return output
    return tape.record(output, (x,), lambda grads: (tape.new(shape, given(grads).dtype),))


def weighted(tape: Tape, x: Tensor, weights: Tensor) -> Tensor:
    """x times one number a row; keeps x when the numbers need gradients, and the numbers when x does."""
    needs_x, needs_w = tape.needs_grad(x), tape.needs_grad(weights)
    kept = [
        tape.keep(x, "expert output") if needs_w else None,
        tape.keep(weights, "weights of the experts") if needs_x else None,
    ]
    output = tape.new(x.shape, op.promoted(x.dtype, weights.dtype))
    if not (needs_x or needs_w):
        return output
    shape, narrow, x_dtype, recomputed = x.shape, weights.shape, x.dtype, tape.recomputes

    def run(grads: list[Tensor | None]) -> Grads:
        dtype = given(grads).dtype
        grad_x = tape.new(shape, dtype) if needs_x else None
        full = tape.new(shape, dtype) if needs_w else None
        if recomputed:
            kept.clear()  # a checkpoint gives what it recomputed away; a step's own values stay until it is over
        if grad_x is not None and x_dtype != dtype:
            grad_x = tape.new(shape, x_dtype)
        grad_w = tape.new(narrow, dtype) if needs_w else None
        del full
        return grad_x, grad_w

    return tape.record(output, (x, weights), run)


def added_up(tape: Tape, x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """Each token's experts added up; the gradient is copied to each of them."""
    output = tape.new(shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    before = x.shape
    return tape.record(output, (x,), lambda grads: (tape.new(before, given(grads).dtype),))
