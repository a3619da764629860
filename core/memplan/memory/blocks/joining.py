"""Tensors cut into views along an axis, and joined again."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.memory import operations as op
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Tape, Tensor, given

Shape = tuple[Size, ...]


def split(tape: Tape, x: Tensor, shapes: Sequence[Shape], *, reordered: bool = False) -> tuple[Tensor, ...]:
    """Views of x; their gradients are joined in one tensor of its size, and put in token order where x was turned."""
    views = tuple(Tensor(x.storage, shape, x.dtype) for shape in shapes)
    if not tape.needs_grad(x):
        return views
    whole = x.shape

    def run(grads: list[Tensor | None]) -> Grads:
        dtype = next(grad.dtype for grad in grads if grad is not None)
        result = tape.new(whole, dtype)
        if not reordered:
            return (result,)
        grads.clear()
        return (tape.new(whole, dtype),)

    node = tape.node((x,), run, num_outputs=len(shapes))
    for slot, view in enumerate(views):
        view.node, view.slot = node, slot
    return views


def sliced(tape: Tape, x: Tensor, shape: Shape) -> Tensor:
    """A view of a part of x; its gradient is put into a tensor of zeros of x's size."""
    view, whole = Tensor(x.storage, shape, x.dtype), x.shape
    if not tape.needs_grad(x):
        return view
    return tape.record(view, (x,), lambda grads: (tape.new(whole, given(grads).dtype),))


def joined(tape: Tape, parts: Sequence[Tensor]) -> Tensor:
    """Parts side by side along the last axis; the gradient is cut into views of itself."""
    width = sum(part.shape[-1] for part in parts)
    output = tape.new((*parts[0].shape[:-1], width), op.promoted(*(part.dtype for part in parts)))
    if not tape.needs_grad(*parts):
        return output
    shapes = [part.shape for part in parts]

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        return tuple(Tensor(grad.storage, shape, grad.dtype) for shape in shapes)

    return tape.record(output, tuple(parts), run)
