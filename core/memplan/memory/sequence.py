"""Sequence parallelism: between attention and feed-forward each tensor-parallel device holds its part of the sequence.

Source: Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, section 4.2;
Megatron-LM, core/tensor_parallel/layers.py (LinearWithGradAccumulationAndAsyncCommunication) and mappings.py.
"""

from __future__ import annotations

from memplan.memory.storage import Size
from memplan.memory.tape import Gathered, Grads, Tape, Tensor, given


def rows_of_part(batch: Size, sequence: Size, parts: int) -> Size:
    """Tokens of the largest part of a sequence.

    >>> rows_of_part(1, 4096, 8), rows_of_part(1, 100, 8)
    (512, 13)
    """
    return -(-sequence // parts)


def gathered(tape: Tape, x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """All parts of a sequence, for a product that needs them. What the product keeps of it is the device's own part;
    the whole is gathered again for the weight's gradient. Its gradient is summed and cut into parts.
    """
    whole = tape.new(shape, x.dtype)
    output = Gathered(whole.storage, whole.shape, whole.dtype)
    output.part = x.detached()
    if tape.needs_grad(x):
        part = x.shape
        tape.record(output, (x,), lambda grads: (tape.new(part, given(grads).dtype),))
    return output


def scattered(tape: Tape, x: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """The device's part of a sum over devices. Its gradient is gathered."""
    output, whole = tape.new(shape, x.dtype), x.shape
    if not tape.needs_grad(x):
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        return (tape.new(whole, given(grads).dtype),)

    return tape.record(output, (x,), run)
