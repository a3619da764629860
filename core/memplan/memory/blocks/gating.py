"""Activations, and the two halves of a fused gate and up product."""

from __future__ import annotations

from memplan.architecture.parts import Activation
from memplan.memory import operations as op
from memplan.memory.blocks.joining import sliced
from memplan.memory.tape import Grads, Tape, Tensor, given


def activation(tape: Tape, x: Tensor, kind: Activation) -> Tensor:
    """silu, gelu and its variants, relu."""
    if kind == "relu":
        return op.pointwise_by_output(tape, x, "relu")
    if kind == "relu2":
        return op.square(tape, op.pointwise_by_output(tape, x, "relu"), "relu")
    if kind == "bloom_gelu":
        return _bloom_gelu(tape, x)
    if kind == "gelu_new":
        return _gelu_new(tape, x)
    return op.pointwise(tape, x, "activation input")


def _gelu_new(tape: Tape, x: Tensor) -> Tensor:
    """0.5 * x * (1 + tanh(c * (x + 0.044715 * x**3))), step by step; the power runs in fp32 under autocast."""
    half = op.times(tape, x)
    inner = _cube(tape, op.to(tape, x, "fp32") if tape.autocast else x)
    inner = op.times(tape, inner)
    inner = op.add(tape, x, inner)
    inner = op.times(tape, inner)
    outer = op.pointwise_by_output(tape, inner, "tanh")
    del inner
    outer = op.plus_constant(tape, outer)
    return op.mul(tape, half, outer, role_a="x / 2", role_b="1 + tanh")


def _bloom_gelu(tape: Tape, x: Tensor) -> Tensor:
    """Bloom's gelu, forward and backward written by hand: keeps its input alone."""
    kept = tape.keep(x, "activation input") if tape.needs_grad(x) else None
    shape, dtype = x.shape, x.dtype
    parts = [tape.new(shape, dtype) for _ in range(4)]
    del parts[2:]
    parts += [tape.new(shape, dtype) for _ in range(2)]
    del parts[1:3]
    output = tape.new(shape, dtype)
    del parts
    if kept is None:
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        tanh = tape.new(shape, dtype)
        # (x / 2) · (1 − tanh²) · (a + b·x²): at most four stand beside tanh, whatever the order of the factors.
        parts = [tape.new(shape, dtype) for _ in range(4)]
        del parts
        slope = tape.new(shape, dtype)
        result = tape.new(shape, dtype)
        del held, tanh, slope
        return (result,)

    return tape.record(output, (x,), run)


def _cube(tape: Tape, x: Tensor) -> Tensor:
    """x ** 3; keeps x."""
    needs = tape.needs_grad(x)
    kept = tape.keep(x, "activation input") if needs else None
    output = tape.new(x.shape, x.dtype)
    if not needs:
        return output
    shape, dtype = x.shape, x.dtype

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        square = tape.new(shape, dtype)
        tripled = tape.new(shape, dtype)
        result = tape.new(shape, dtype)
        del square, tripled, held
        return (result,)

    return tape.record(output, (x,), run)


def halves(tape: Tape, fused: Tensor) -> tuple[Tensor, Tensor]:
    """gate and up as views of one product; their gradients are joined in a tensor of its size."""
    half, whole = (*fused.shape[:-1], fused.shape[-1] // 2), fused.shape
    views = Tensor(fused.storage, half, fused.dtype), Tensor(fused.storage, half, fused.dtype)
    if tape.needs_grad(fused):

        def run(grads: list[Tensor | None]) -> Grads:
            dtype = next(grad.dtype for grad in grads if grad is not None)
            return (tape.new(whole, dtype),)

        node = tape.node((fused,), run, num_outputs=2)
        for slot, one in enumerate(views):
            one.node, one.slot = node, slot
    return views


def clamped_gate(tape: Tape, fused: Tensor) -> Tensor:
    """GPT-OSS's: (up + 1) * gate * sigmoid(1.702 * gate), both clamped; gate and up are every other column."""
    half = (*fused.shape[:-1], fused.shape[-1] // 2)
    gate, up = sliced(tape, fused, half), sliced(tape, fused, half)
    gate = clamped(tape, gate, sides=1)
    up = clamped(tape, up, sides=2)
    opened = op.pointwise_by_output(tape, op.times(tape, gate), "sigmoid")
    glu = op.mul(tape, gate, opened, role_a="gate", role_b="sigmoid")
    del opened
    return op.mul(tape, op.plus_constant(tape, up), glu, role_a="up + 1", role_b="gate * sigmoid")


def clamped(tape: Tape, x: Tensor, *, sides: int) -> Tensor:
    """x no further than a limit on one side or two; keeps x."""
    needs = tape.needs_grad(x)
    kept = tape.keep(x, "before the limit") if needs else None
    output = tape.new(x.shape, x.dtype)
    if not needs:
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        held, grad = kept, given(grads)
        inside = [tape.new(grad.shape, "bool") for _ in range(sides)]
        result = tape.new(grad.shape, grad.dtype)
        del held, inside
        return (result,)

    return tape.record(output, (x,), run)
