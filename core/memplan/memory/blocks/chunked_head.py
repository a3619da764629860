"""A head that runs over chunks of tokens: logits of all chunks, and the head's gradient chunk by chunk."""

from __future__ import annotations

from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.context import Context
from memplan.memory.storage import LOGITS, Size, Storage
from memplan.memory.symbols import Rule
from memplan.memory.tape import Grads, Parameter, Tape, Tensor, given
from memplan.number_formats import BYTES_PER_VALUE


def logits_in_chunks(
    ctx: Context,
    x: Tensor,
    weights: tuple[Parameter, Parameter | None],
    rows: Size,
    chunks_of: Rule,
    *,
    widened: bool = False,
) -> Tensor:
    """Logits of all chunks (one tensor here), `rows` tokens in each.

    With `widened` the model's output is turned to fp32 when all chunks are there, and their gradients back again before
    the head's first product.
    """
    tape, weight, bias = ctx.tape, weights[0], weights[1]
    copies: Tensor | None = None
    w: Tensor | Parameter = weight
    b: Tensor | Parameter | None = bias
    if tape.autocast is not None:
        x = op.to(tape, x, tape.autocast)
        w, copies = _cast_head(ctx, weight, chunks_of, needed=tape.needs_grad(x))
        b = products.weight_cast(tape, bias, tape.autocast) if bias is not None else None
    x_needs, trains = tape.needs_grad(x), tape.needs_grad(w)
    packed = ctx.setup.packs("head")
    keeps = trains or (packed and x_needs and ctx.setup.stack.keeps_packed_inputs)
    # Chunks of several sequences do not lie side by side: each is copied.
    kept = tape.keep(x if ctx.batch == 1 else tape.new(x.shape, x.dtype), "input") if keeps else None
    shape = (ctx.batch, ctx.sequence, weight.shape[0])
    logits = tape.new(shape, x.dtype)
    if widened:
        logits = op.to(tape, logits, "fp32")
    if not (x_needs or trains):
        return logits
    x_shape, x_dtype, w_shape = x.shape, x.dtype, weight.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept, copies
        narrow = None if widened else given(grads)
        grads.clear()
        narrow = narrow or tape.new(shape, x_dtype)
        grad_w = _products(tape, w_shape, x_dtype, rows, packed=packed, trains=trains)
        del narrow
        parts = tape.new(x_shape, x_dtype) if x_needs else None
        whole = tape.new(x_shape, x_dtype) if x_needs else None  # the chunks' gradients, joined
        grad_b = tape.new(w_shape[:1], x_dtype) if trains and bias is not None else None
        del parts, held
        return whole, grad_w, grad_b

    return tape.record(logits, (x, w, b), run)


def _cast_head(
    ctx: Context, weight: Parameter, chunks_of: Rule, *, needed: bool
) -> tuple[Tensor | Parameter, Tensor | None]:
    """The head in autocast's dtype, and the copies that chunks keep: autocast remembers none of a frozen weight."""
    tape = ctx.tape
    assert tape.autocast is not None, "only autocast casts weights"
    cast = products.weight_cast(tape, weight, tape.autocast)
    if weight.trainable or not needed or isinstance(cast, Parameter):
        return cast, None
    shape = (ctx.counted(chunks_of) * weight.shape[0], weight.shape[1])
    return weight, tape.keep(tape.new(shape, cast.dtype), "head cast to 16 bit")


def _products(
    tape: Tape, shape: tuple[int, ...], dtype: str, rows: Size, *, packed: bool, trains: bool
) -> Tensor | None:
    """Backward's products of the first two chunks; returns the head's gradient where it has one."""
    unpacked = tape.new(shape, dtype) if packed else None
    grad_chunk = tape.new((rows, shape[1]), dtype)
    grad_w = tape.new(shape, dtype) if trains else None
    del grad_chunk, unpacked
    return _second_chunk(tape, (rows, shape[0]), grad_w) if grad_w is not None else None


def _second_chunk(tape: Tape, chunk: tuple[Size, Size], first: Tensor) -> Tensor:
    """The second chunk's gradient of the head beside the first's, when the first chunk's logits are gone."""
    num_bytes = tape.meter.size(chunk[0] * chunk[1] * BYTES_PER_VALUE[first.dtype])
    gone = [Storage(tape.meter, -num_bytes, LOGITS)]
    second = tape.new(first.shape, first.dtype)
    if not tape.on_device:  # summed into a third, when the second chunk's logits are gone as well
        gone.append(Storage(tape.meter, -num_bytes, LOGITS))
        first = tape.new(first.shape, first.dtype)
    del second, gone
    return first
