"""Short causal convolutions along the sequence, and the small parameters beside them."""

from __future__ import annotations

from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.joining import sliced
from memplan.memory.products import weight_cast
from memplan.memory.tape import Grads, Parameter, Tape, Tensor, given


def causal_convolution(
    ctx: Context,
    name: str,
    x: Tensor,
    width: int,
    kernel: int,
    *,
    activated: bool = True,
    in_order: bool = False,
    biased: bool = False,
) -> Tensor:
    """Each channel over its last positions, padded on both sides and cut, then silu.

    Its gradient is put in token order, unless what it reads stands channel by channel.
    """
    tape = ctx.tape
    weight = ctx.parameter(f"{name}.weight", (width, 1, kernel))
    shape = (ctx.batch, width, ctx.sequence)
    turned = op.view(x, shape) if in_order else op.view_with_copied_gradient(tape, x, shape)
    bias = ctx.parameter(f"{name}.bias", (width,)) if biased else None
    padded = _convolved(tape, turned, weight, bias, (ctx.batch, width, ctx.sequence + kernel - 1))
    output = sliced(tape, padded, shape)
    if activated:
        output = op.pointwise(tape, output, "convolved")
    return op.view(output, (ctx.batch, ctx.sequence, width))


def as_weights_and_back(ctx: Context, x: Tensor) -> Tensor:
    """The convolution's input is cast to its weights' dtype, and under autocast cast back: a copy of its own."""
    wide = op.to(ctx.tape, x, ctx.setup.unpacked_dtype)
    return wide if ctx.tape.autocast is None else op.to(ctx.tape, wide, ctx.tape.autocast)


def _convolved(tape: Tape, x: Tensor, weight: Parameter, bias: Parameter | None, shape: tuple[object, ...]) -> Tensor:
    w: Parameter | Tensor = weight
    b: Parameter | Tensor | None = bias
    if tape.autocast is not None:
        if bias is not None:
            b = weight_cast(tape, bias, tape.autocast)
        x, w = op.to(tape, x, tape.autocast), weight_cast(tape, weight, tape.autocast)
    trains, needs = tape.needs_grad(w), tape.needs_grad(x)
    kept = tape.keep(x, "input of the convolution") if trains or needs else None
    if needs:
        tape.keep_weight()
    output = tape.new(shape, x.dtype)
    if not (trains or needs):
        return output
    before, w_shape, bias_trains = x.shape, weight.shape, tape.needs_grad(b)

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        grad_x = tape.new(before, dtype) if needs else None
        grad_w = tape.new(w_shape, dtype) if trains else None
        grad_b = tape.new(w_shape[:1], dtype) if bias_trains else None
        del held
        return grad_x, grad_w, grad_b

    return tape.record(output, (x, w, b), run)


def plus_parameter(tape: Tape, x: Tensor, bias: Parameter) -> Tensor:
    """x plus a number for each column; nothing is kept."""
    output = tape.new(x.shape, op.promoted(x.dtype, bias.dtype))
    if not tape.needs_grad(x, bias):
        return output
    narrow = bias.shape
    trains = tape.needs_grad(bias)

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        return grad, tape.new(narrow, grad.dtype) if trains else None

    return tape.record(output, (x, bias), run)


def exponential_of(tape: Tape, weight: Parameter) -> Tensor:
    """exp of a small parameter in fp32; keeps its result."""
    output = tape.new(weight.shape, "fp32")
    if not tape.needs_grad(weight):
        return output
    kept = tape.keep(output, "exponential")

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        result = tape.new(weight.shape, "fp32")
        del held
        return (result,)

    return tape.record(output, (weight,), run)
