"""Gemma 3n's layers, which keep several residual streams: one is run, the others are predicted and corrected.

Source: transformers 5.24, modeling_gemma3n.py (Gemma3nTextAltUp, Gemma3nTextDecoderLayer, Gemma3nTextModel).
"""

from __future__ import annotations

from memplan.architecture.shared_parts import Streams
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.grouped import grouped_product
from memplan.memory.blocks.joining import sliced
from memplan.memory.tape import Grads, Parameter, Tape, Tensor, given


def several(spec: Streams | None) -> tuple[int, ...]:
    """How many streams there are, where there are several: the first of a hidden state's sizes."""
    return (spec.count,) if spec is not None else ()


def predicted(ctx: Context, spec: Streams, x: Tensor) -> Tensor:
    """All streams, each a sum of all weighted by the active one, plus itself; in order again, which is a copy."""
    tape = ctx.tape
    with tape.inside("altup"):
        coefficients = ctx.linear(spec.prediction, _modalities(ctx, spec, active(tape, x)), "altup")
        mixed = products.matmul(tape, x, coefficients, x.shape, "streams", "coefficients of streams")
        mixed = op.added_in_place(tape, mixed, x)
        return op.to(tape, op.copied(tape, mixed), x.dtype)


def corrected(ctx: Context, spec: Streams, predictions: Tensor, ran: Tensor) -> Tensor:
    """All predictions, plus what the active one was off, weighted for each."""
    tape = ctx.tape
    with tape.inside("altup"):
        modalities = _modalities(ctx, spec, ran)
        off = op.subtract(tape, ran, active(tape, predictions))
        off = op.copied(tape, off, predictions.shape)
        name = f"altup.{spec.correction.name}.weight"
        weight = _clamped(tape, ctx.parameter(name, (spec.count, spec.count)))
        dtype = tape.autocast or weight.dtype
        of_token = (ctx.batch, ctx.sequence, spec.count)
        read = op.to(tape, modalities, dtype)
        weights = grouped_product(tape, read, op.to(tape, weight, dtype), of_token)
        weights = op.plus_constant(tape, weights)
        narrow = (*predictions.shape[:-1], 1)
        output = op.mul_by_row_scalar(tape, off, op.view(weights, narrow))
        return op.to(tape, op.added_in_place(tape, output, predictions), ran.dtype)


def active(tape: Tape, x: Tensor) -> Tensor:
    """The stream that is run, a view of all."""
    return sliced(tape, x, x.shape[1:])


def _modalities(ctx: Context, spec: Streams, x: Tensor) -> Tensor:
    """A few values a token: tanh of a product of the normed stream, in fp32."""
    tape = ctx.tape
    read = op.mul_by_constant(tape, ctx.norm(spec.router_norm, x), tape.new((1,), x.dtype), "scale")
    routed = op.to(tape, ctx.linear(spec.router, read, "altup"), "fp32")
    return op.to(tape, op.pointwise_by_output(tape, routed, "modalities"), x.dtype)


def _clamped(tape: Tape, weight: Parameter) -> Tensor:
    """A weight between two numbers, made anew at each use."""
    output = tape.new(weight.shape, weight.dtype)
    if not weight.trainable:
        return output
    tape.keep_weight()
    return tape.record(output, (weight,), lambda grads: (tape.new(weight.shape, given(grads).dtype),))


def with_laurel(ctx: Context, spec: Streams, x: Tensor) -> Tensor:
    """x + norm(right(left(x))): a residual of low rank."""
    left, right = spec.laurel
    watched, ctx.tape.watched = ctx.tape.watched, None  # keys and values are not made of it
    with ctx.tape.inside("laurel"):
        narrow = ctx.linear(right, ctx.linear(left, x, "laurel"), "laurel")
        result = op.add(ctx.tape, x, ctx.norm(spec.laurel_norm, narrow))
    ctx.tape.watched = watched
    return result


def corrected_scale(ctx: Context, spec: Streams, all_streams: Tensor) -> Tensor:
    """A copy of the active stream times a gain."""
    tape = ctx.tape
    first = op.copied(tape, active(tape, all_streams))
    if not spec.scales:
        return first
    gain = ctx.parameter("altup.correct_output_scale", (first.shape[-1],))
    return op.to(tape, op.scale(tape, op.to(tape, first, gain.dtype), gain, weight_first=False), first.dtype)


def added_to_others(tape: Tape, x: Tensor, one: Tensor) -> Tensor:
    """x[1:] += one: an addition in place to a view, and a copy of that view to where it is.

    Each is a step that copies the gradient whole and that of the view once more; the view's own gradient is put into a
    tensor of zeros in between. Source: PyTorch 2.13, torch/csrc/autograd/functions/tensor.cpp
    (CopySlices, CopyBackwards).
    """
    whole, others = x.shape, (x.shape[0] - 1, *x.shape[1:])
    output = Tensor(x.storage, whole, x.dtype)
    if not tape.needs_grad(x, one):
        return output

    def added(grads: list[Tensor | None]) -> Grads:
        dtype = given(grads).dtype
        result = tape.new(whole, dtype)
        of_view = tape.new(others, dtype)
        of_one = tape.new(one_shape, dtype)
        del of_view
        return result, of_one

    def copied(grads: list[Tensor | None]) -> Grads:
        dtype = given(grads).dtype
        result, of_view = tape.new(whole, dtype), tape.new(others, dtype)
        zeros = tape.new(others, dtype)
        del zeros
        return result, of_view

    one_shape = one.shape
    tape.record(output, (x, one), added)
    view = Tensor(x.storage, others, x.dtype)
    tape.record(view, (output,), lambda grads: (tape.new(whole, given(grads).dtype),))
    return tape.record(Tensor(x.storage, whole, x.dtype), (output, view), copied)


def begun(ctx: Context, spec: Streams, x: Tensor, held: list[Tensor]) -> Tensor:
    """The streams of the embeddings: themselves, and projections of them of the same size. What the model's function
    holds until it is over is added to `held`.
    """
    tape = ctx.tape
    magnitude = _magnitude(tape, x)
    streams, named = [x], list[Tensor]()
    for linear in spec.projections:
        streams.append(_of_magnitude(tape, op.to(tape, ctx.linear(linear, x, ""), x.dtype), magnitude, named))
    held += [*streams[1:], *named, magnitude]
    return _stacked(tape, streams)


def ended(ctx: Context, spec: Streams, x: Tensor) -> Tensor:
    """The mean of the active stream and of projections of the others of its size."""
    tape = ctx.tape
    magnitude = _magnitude(tape, active(tape, x))
    streams, held = [active(tape, x)], list[Tensor]()
    for linear in spec.unembeddings:
        streams.append(
            _of_magnitude(tape, op.to(tape, ctx.linear(linear, active(tape, x), ""), x.dtype), magnitude, held)
        )
    ctx.layer_locals += [*held, *streams[1:], magnitude]
    whole = _stacked(tape, streams)
    output, shape = tape.new(x.shape[1:], whole.dtype), whole.shape
    if not tape.needs_grad(whole):
        return output
    return tape.record(output, (whole,), lambda grads: (tape.new(shape, given(grads).dtype),))


def _magnitude(tape: Tape, x: Tensor) -> Tensor:
    """The root of the mean square of each token."""
    return op.square(tape, op.mean(tape, op.square(tape, x, "stream")), "mean square")


def _of_magnitude(tape: Tape, x: Tensor, magnitude: Tensor, held: list[Tensor]) -> Tensor:
    """x times a magnitude over its own."""
    own = op.pointwise(tape, op.mean(tape, op.square(tape, x, "stream")), "mean square")
    own = op.pointwise_by_output(tape, own, "own magnitude")
    held[:] = [x, own]  # the names are given anew for each stream
    return _divided(tape, op.mul_by_row_scalar(tape, x, magnitude), own)


def _divided(tape: Tape, x: Tensor, by: Tensor) -> Tensor:
    """x over one number a token; keeps both."""
    output = tape.new(x.shape, op.promoted(x.dtype, by.dtype))
    if not tape.needs_grad(x, by):
        return output
    kept, shape, narrow = (tape.keep(x, "stream"), tape.keep(by, "own magnitude")), x.shape, by.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        grad_x = tape.new(shape, dtype)
        parts = [tape.new(shape, dtype) for _ in range(3)]
        grad_by = tape.new(narrow, dtype)
        del parts, held
        return grad_x, grad_by

    return tape.record(output, (x, by), run)


def _stacked(tape: Tape, streams: list[Tensor]) -> Tensor:
    """Streams one behind the other; each one's gradient is a view."""
    output = tape.new((len(streams), *streams[0].shape), op.promoted(*(one.dtype for one in streams)))
    if not tape.needs_grad(*streams):
        return output
    shapes = [one.shape for one in streams]

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        return tuple(Tensor(grad.storage, shape, grad.dtype) for shape in shapes)

    return tape.record(output, streams, run)
