"""xIELU as transformers writes it without the fused kernel: two branches of single operations, and a choice."""

from __future__ import annotations

from memplan.memory import operations as op
from memplan.memory.tape import Grads, Parameter, Tape, Tensor, given


def xielu(tape: Tape, x: Tensor, alpha_p: Parameter, alpha_n: Parameter) -> Tensor:
    """a x² + b x where x is positive, (exp(min(x, eps)) - 1 - x) c + b x elsewhere."""
    slope_p, slope_n = _softplus(tape, alpha_p), _softplus(tape, alpha_n)
    positive = tape.new(x.shape, "bool")
    squared = op.mul(tape, op.scale(tape, x, slope_p), x, role_a="slope * x", role_b="activation input")
    above = op.add(tape, squared, op.times(tape, x))
    del squared
    curve = _curve(tape, x)
    bent = op.scale(tape, curve, slope_n, weight_first=False)
    del curve
    below = op.add(tape, bent, op.times(tape, x))
    del bent
    return _either(tape, positive, above, below)


def _softplus(tape: Tape, alpha: Parameter) -> Tensor:
    made = tape.new(alpha.shape, alpha.dtype)
    return tape.record(made, (alpha,), lambda grads: (grads[0],)) if tape.needs_grad(alpha) else made


def _curve(tape: Tape, x: Tensor) -> Tensor:
    """exp(min(x, eps)) - 1 - x."""
    curve = _expm1(tape, no_less_than(tape, x))
    output = tape.new(x.shape, x.dtype)
    if not tape.needs_grad(x):
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        return grad, tape.new(grad.shape, grad.dtype)

    return tape.record(output, (curve, x), run)


def no_less_than(tape: Tape, x: Tensor) -> Tensor:
    """x and a number held as a tensor, whichever is less (or more: XGLM): keeps x."""
    output = tape.new(x.shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    kept = tape.keep(x, "activation input")

    def run(grads: list[Tensor | None]) -> Grads:
        held, grad = kept, given(grads)
        half, equal = tape.new(grad.shape, grad.dtype), tape.new(grad.shape, "bool")
        result, larger = tape.new(grad.shape, grad.dtype), tape.new(grad.shape, "bool")
        del held, half, equal, larger
        return (result,)

    return tape.record(output, (x,), run)


def _expm1(tape: Tape, x: Tensor) -> Tensor:
    """exp(x) - 1: keeps its output."""
    output = tape.new(x.shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    kept = tape.keep(output, "exp - 1")

    def run(grads: list[Tensor | None]) -> Grads:
        held, grad = kept, given(grads)
        plus_one, result = tape.new(grad.shape, grad.dtype), tape.new(grad.shape, grad.dtype)
        del held, plus_one
        return (result,)

    return tape.record(output, (x,), run)


def _either(tape: Tape, positive: Tensor, above: Tensor, below: Tensor) -> Tensor:
    """One of two, value by value: keeps which."""
    output = tape.new(above.shape, op.promoted(above.dtype, below.dtype))
    if not tape.needs_grad(above, below):
        return output
    kept = tape.keep(positive, "which branch")

    def run(grads: list[Tensor | None]) -> Grads:
        held, grad = kept, given(grads)
        results = tape.new(grad.shape, grad.dtype), tape.new(grad.shape, grad.dtype)
        del held
        return results

    return tape.record(output, (above, below), run)
