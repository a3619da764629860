"""Element-wise operations and norms: what each makes, keeps for backward, and makes in backward.

Each follows the framework's formula (PyTorch 2.13, derivatives.yaml and the autograd it generates), told by the order
and the lifetime of its tensors: inputs are held before the output is made, and a backward step's temporaries go when
the step is over. `shape` is (batch, sequence, width) or (batch, heads, sequence, width).
"""

from __future__ import annotations

from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Parameter, Tape, Tensor, given


def promoted(*dtypes: str) -> str:
    """The dtype of a result of mixed inputs (PyTorch's type promotion among floats).

    >>> promoted("bf16", "fp32"), promoted("bf16", "bf16")
    ('fp32', 'bf16')
    """
    return "fp32" if "fp32" in dtypes or len(set(dtypes)) > 1 else dtypes[0]


def view(x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """The same storage under another shape; costs nothing in either direction."""
    return Tensor(x.storage, shape, x.dtype, x.node, x.slot)


def view_with_copied_gradient(tape: Tape, x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """A view whose gradient comes in another memory order and is copied (heads split off and moved forward)."""
    output = Tensor(x.storage, shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    before = x.shape
    return tape.record(output, (x,), lambda grads: (tape.new(before, given(grads).dtype),))


def spread(tape: Tape, x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """A view that repeats x; its gradients are summed again."""
    output, before = Tensor(x.storage, shape, x.dtype), x.shape
    if not tape.needs_grad(x):
        return output
    return tape.record(output, (x,), lambda grads: (tape.new(before, given(grads).dtype),))


def copied(tape: Tape, x: Tensor, shape: tuple[Size, ...] | None = None) -> Tensor:
    """A copy. With a shape, values are repeated into it and their gradients are summed again."""
    output = tape.new(x.shape if shape is None else shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    before, repeats = x.shape, shape is not None

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        return (tape.new(before, grad.dtype) if repeats else grad,)

    return tape.record(output, (x,), run)


def to(tape: Tape, x: Tensor, dtype: str) -> Tensor:
    """Cast; nothing happens when the dtype is the same."""
    if x.dtype == dtype:
        return x
    output = tape.new(x.shape, dtype)
    if not tape.needs_grad(x):
        return output
    before = x.dtype

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        return (tape.new(grad.shape, before) if grad.dtype != before else grad,)

    return tape.record(output, (x,), run)


def add(tape: Tape, a: Tensor, b: Tensor) -> Tensor:
    """a + b of one shape; the gradient goes to both as it is."""
    output = tape.new(a.shape, promoted(a.dtype, b.dtype))
    if not tape.needs_grad(a, b):
        return output
    return tape.record(output, (a, b), lambda grads: (grads[0], grads[0]))


def subtract(tape: Tape, a: Tensor, b: Tensor) -> Tensor:
    """a - b of one shape; the gradient goes to a as it is, and negated to b."""
    output = tape.new(a.shape, promoted(a.dtype, b.dtype))
    if not tape.needs_grad(a, b):
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        return grad, tape.new(grad.shape, grad.dtype)

    return tape.record(output, (a, b), run)


def added_in_place(tape: Tape, a: Tensor, b: Tensor) -> Tensor:
    """a += b of one shape: no tensor is made, and the gradient goes to both as it is."""
    output = Tensor(a.storage, a.shape, a.dtype)
    if not tape.needs_grad(a, b):
        return output
    return tape.record(output, (a, b), lambda grads: (grads[0], grads[0]))


def mul(tape: Tape, a: Tensor, b: Tensor, *, role_a: str = "factor", role_b: str = "factor") -> Tensor:
    """a * b of one shape. Each is kept when the other needs a gradient."""
    a_needs, b_needs = tape.needs_grad(a), tape.needs_grad(b)
    kept_a = tape.keep(a, role_a) if b_needs else None
    kept_b = tape.keep(b, role_b) if a_needs else None
    output = tape.new(a.shape, promoted(a.dtype, b.dtype))
    if not (a_needs or b_needs):
        return output
    shape = a.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept_a, kept_b
        dtype = given(grads).dtype
        grad_a = tape.new(shape, dtype) if a_needs else None
        grad_b = tape.new(shape, dtype) if b_needs else None
        del held
        return grad_a, grad_b

    return tape.record(output, (a, b), run)


def mul_by_constant(tape: Tape, x: Tensor, constant: Tensor, role: str) -> Tensor:
    """x times a tensor that needs no gradient and is broadcast (cosines, a mask): the constant is kept."""
    output_dtype = x.dtype if constant.dtype == "bool" else promoted(x.dtype, constant.dtype)
    needs = tape.needs_grad(x)
    kept = tape.keep(constant, role) if needs else None
    output = tape.new(x.shape, output_dtype)
    if not needs:
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        grad = given(grads)
        result = tape.new(grad.shape, grad.dtype)
        del held
        return (result,)

    return tape.record(output, (x,), run)


def mul_by_row_scalar(tape: Tape, x: Tensor, scalar: Tensor) -> Tensor:
    """x times one number a token (the norm's 1 / root mean square); both need gradients when x does."""
    needs = tape.needs_grad(x)
    kept = (tape.keep(x, "input in fp32"), tape.keep(scalar, "1 / root mean square")) if needs else None
    output = tape.new(x.shape, x.dtype)
    if not needs:
        return output
    shape, narrow = x.shape, scalar.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        dtype = given(grads).dtype
        grad_x = tape.new(shape, dtype)
        full = tape.new(shape, dtype)
        grad_scalar = tape.new(narrow, dtype)
        del full, held
        return grad_x, grad_scalar

    return tape.record(output, (x, scalar), run)


def scale(tape: Tape, x: Tensor, weight: Parameter | Tensor, *, weight_first: bool = True) -> Tensor:
    """weight * x, or x * weight, along the last axis (a norm's gain). Keeps x when the weight trains."""
    weight_trains, input_needs = tape.needs_grad(weight), tape.needs_grad(x)
    kept_w = None
    if input_needs and isinstance(weight, Tensor):
        kept_w = tape.keep(weight, "gain in fp32")
    elif input_needs:
        tape.keep_weight()
    kept = tape.keep(x, "normalised") if weight_trains else None
    output = tape.new(x.shape, promoted(x.dtype, weight.dtype))
    if not (weight_trains or input_needs):
        return output
    shape = x.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = (kept, kept_w), given(grads).dtype
        full = tape.new(shape, dtype) if weight_trains else None  # the weight's, which the walk sums
        grad_x = tape.new(shape, dtype) if input_needs else None
        del held
        return (full, grad_x) if weight_first else (grad_x, full)

    tape.record(output, (weight, x) if weight_first else (x, weight), run)
    assert output.node is not None, "it was recorded"
    output.node.sums = (0 if weight_first else 1, weight.shape)
    return output


def times(tape: Tape, x: Tensor) -> Tensor:
    """x times or divided by a number: nothing is kept."""
    output = tape.new(x.shape, x.dtype)
    if not tape.needs_grad(x):
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        return (tape.new(grad.shape, grad.dtype),)

    return tape.record(output, (x,), run)


def plus_constant(tape: Tape, x: Tensor, dtype: str | None = None) -> Tensor:
    """x plus a number, or a mask of a dtype: nothing is kept, the gradient passes."""
    output = tape.new(x.shape, promoted(x.dtype, dtype or x.dtype))
    if not tape.needs_grad(x):
        return output
    return tape.record(output, (x,), lambda grads: (grads[0],))


def square_mean(tape: Tape, x: Tensor) -> Tensor:
    """x.pow(2).mean(-1, keepdim=True) in fp32. The power keeps x."""
    return mean(tape, square(tape, x, "input in fp32"))


def plus_row(tape: Tape, x: Tensor, row: Parameter | Tensor) -> Tensor:
    """x plus a parameter along the last axis, an operation of its own (Falcon): nothing is kept."""
    output = tape.new(x.shape, promoted(x.dtype, row.dtype))
    if not tape.needs_grad(x, row):
        return output
    trains, width = tape.needs_grad(row), row.shape

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        return grad, tape.new(width, grad.dtype) if trains else None

    return tape.record(output, (x, row), run)


def mean(tape: Tape, x: Tensor) -> Tensor:
    """x.mean(-1, keepdim=True): nothing is kept."""
    output = tape.new((*x.shape[:-1], 1), x.dtype)
    if not tape.needs_grad(x):
        return output
    shape = x.shape
    return tape.record(output, (x,), lambda grads: (tape.new(shape, given(grads).dtype),))


def minus_row_scalar(tape: Tape, x: Tensor, scalar: Tensor) -> Tensor:
    """x minus one number a token; nothing is kept."""
    output = tape.new(x.shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    narrow = scalar.shape

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        negative = tape.new(grad.shape, grad.dtype)
        total = tape.new(narrow, grad.dtype)
        del negative
        return grad, total

    return tape.record(output, (x, scalar), run)


def square(tape: Tape, x: Tensor, role: str) -> Tensor:
    """x ** 2; keeps x. A device's autocast runs powers in fp32."""
    if tape.autocast is not None and tape.on_device:
        x = to(tape, x, "fp32")
    output = tape.new(x.shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    kept, shape, dtype = tape.keep(x, role), x.shape, x.dtype

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        power = tape.new(shape, dtype)  # one expression: its parts go when it is over
        doubled = tape.new(shape, dtype)
        result = tape.new(shape, dtype)
        del power, doubled, held
        return (result,)

    return tape.record(output, (x,), run)


def rsqrt(tape: Tape, x: Tensor) -> Tensor:
    """1 / sqrt(x). Keeps its result."""
    output = tape.new(x.shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    kept, shape, dtype = tape.keep(output, "1 / root mean square"), x.shape, x.dtype

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        cube = tape.new(shape, dtype)
        half = tape.new(shape, dtype)
        result = tape.new(shape, dtype)
        del cube, half, held
        return (result,)

    return tape.record(output, (x,), run)


def clipped(tape: Tape, x: Tensor) -> Tensor:
    """x between two numbers, in place: what it was is copied for backward."""
    if not tape.needs_grad(x):
        return x
    kept, output = tape.keep(tape.new(x.shape, x.dtype), "before clipping"), x.detached()

    def run(grads: list[Tensor | None]) -> Grads:
        held, grad = kept, given(grads)
        inside = [tape.new(grad.shape, "bool") for _ in range(2)]
        result = tape.new(grad.shape, grad.dtype)
        del held, inside
        return (result,)

    return tape.record(output, (x,), run)


def pointwise(tape: Tape, x: Tensor, role: str) -> Tensor:
    """An activation with a backward kernel of its own (silu, gelu): keeps its input."""
    needs = tape.needs_grad(x)
    kept = tape.keep(x, role) if needs else None
    output = tape.new(x.shape, x.dtype)
    return _pointwise_step(tape, x, output, kept) if needs else output


def pointwise_by_output(tape: Tape, x: Tensor, role: str) -> Tensor:
    """An activation whose backward kernel reads its result (relu, tanh): keeps its output."""
    output = tape.new(x.shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    return _pointwise_step(tape, x, output, tape.keep(output, role))


def _pointwise_step(tape: Tape, x: Tensor, output: Tensor, kept: Tensor | None) -> Tensor:
    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        grad = given(grads)
        result = tape.new(grad.shape, grad.dtype)
        del held
        return (result,)

    return tape.record(output, (x,), run)


def layer_norm(tape: Tape, x: Tensor, weight: Parameter | Tensor | None, bias: Parameter | Tensor | None) -> Tensor:
    """Layer norm: keeps its input and two numbers a token, fp32 on a device. Under autocast it runs in fp32."""
    if tape.autocast is not None:
        x = to(tape, x, "fp32")
    trains, needs = tape.needs_grad(weight), tape.needs_grad(x)
    kept_x = tape.keep(x, "input") if trains or needs else None
    kept_w = tape.keep(weight, "gain") if isinstance(weight, Tensor) and (trains or needs) else None
    if isinstance(weight, Parameter) and (trains or needs):
        tape.keep_weight()
    output = tape.new(x.shape, x.dtype)
    moments = "fp32" if tape.on_device else x.dtype
    mean = tape.new((*x.shape[:-1], 1), moments)
    inverse = tape.new((*x.shape[:-1], 1), moments)
    if not (trains or needs):
        return output
    kept = (kept_x, tape.keep(mean, "mean"), tape.keep(inverse, "1 / deviation"))
    shape, dtype, w_shape = x.shape, x.dtype, x.shape[-1:]

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept, kept_w
        grad_x = tape.new(shape, dtype) if needs else None
        grad_w = tape.new(w_shape, dtype) if trains else None
        grad_b = tape.new(w_shape, dtype) if trains and bias is not None else None
        del held
        return grad_x, grad_w, grad_b

    return tape.record(output, (x, weight, bias), run)


def rotate_half(tape: Tape, x: Tensor) -> Tensor:
    """(-x2, x1) of the last axis' halves."""
    half, shape = (*x.shape[:-1], x.shape[-1] // 2), x.shape
    negative = tape.new(half, x.dtype)
    output = tape.new(shape, x.dtype)
    del negative
    if not tape.needs_grad(x):
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        # Each half's gradient is put into a full-sized tensor of zeros, and the two are added.
        dtype = given(grads).dtype
        negative = tape.new(half, dtype)
        first = tape.new(shape, dtype)
        del negative
        second = tape.new(shape, dtype)
        result = tape.new(shape, dtype)
        del first, second
        return (result,)

    return tape.record(output, (x,), run)


def dropout(tape: Tape, x: Tensor, probability: float) -> Tensor:
    """Dropout: keeps a mask of one byte a value on a device, noise in the input's dtype on a CPU. Nothing at 0."""
    if probability == 0 or not tape.trains:
        return x
    noise = tape.new(x.shape, "bool" if tape.on_device else x.dtype)
    return mul_by_constant(tape, x, noise, "dropout mask")
