"""litgpt's head and loss: logits whole or in chunks of tokens, turned to fp32 as they leave the model.

Source: litgpt 0.5.13, model.py (GPT.forward), utils.py (chunked_cross_entropy), finetune/lora.py and finetune/full.py;
lightning 2.6, fabric/plugins/precision (convert_output).
"""

from __future__ import annotations

from memplan.architecture.parts import Architecture
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.context import Context
from memplan.memory.storage import TEMPORARY, Size, Storage
from memplan.memory.tape import Grads, Parameter, Tape, Tensor
from memplan.number_formats import BYTES_PER_VALUE

CHUNK_TOKENS = 128
"""Tokens of each sequence that a chunk of the head takes, and tokens of all that a chunk of the loss takes."""


def litgpt_head_and_loss(
    ctx: Context,
    architecture: Architecture,
    last: list[Tensor],
    weights: tuple[Parameter, Parameter | None],
    with_loss: bool,
) -> tuple[Tensor | None, Tensor | None]:
    """Logits in fp32, which the caller holds, and the loss. The model returns in between: its last tensor goes."""
    vocabulary = architecture.vocab_size
    if ctx.setup.loss == "chunked":
        tokens = ctx.counted(_tokens_of_chunk)
        logits = _logits_in_chunks(ctx, vocabulary, last.pop(), weights, tokens)
        if not with_loss:
            return logits, None
        # Without its last token the last chunk of several sequences is copied.
        short = ctx.counted(_tokens_of_copied_chunk)
        copy = ctx.tape.new((short, vocabulary), "fp32")
        loss = _cross_entropy(ctx.tape, logits, (ctx.batch * tokens, vocabulary))
        del copy
        return logits, loss
    chunk = ctx.counted(_rows_of_chunk), vocabulary
    logits = op.to(ctx.tape, products.linear(ctx.tape, last.pop(), *weights), "fp32")
    return logits, _cross_entropy(ctx.tape, _moved(ctx, logits), chunk, joins=True) if with_loss else None


def _smaller(one: int, other: int) -> int:
    return (one + other - abs(one - other)) // 2  # of arrays each number


def _tokens_of_chunk(batch: int, sequence: int) -> int:
    return _smaller(CHUNK_TOKENS, sequence)


def _tokens_of_copied_chunk(batch: int, sequence: int) -> int:
    return (batch > 1) * batch * ((sequence - 1) % CHUNK_TOKENS)


def _rows_of_chunk(batch: int, sequence: int) -> int:
    return _smaller(CHUNK_TOKENS, batch * sequence)


def _chunks_of_head(batch: int, sequence: int) -> int:
    return -(-sequence // CHUNK_TOKENS)


def _moved(ctx: Context, logits: Tensor) -> Tensor:
    """Logits without the last token of each sequence: a copy where there is more than one sequence."""
    if ctx.batch == 1:
        return op.view(logits, logits.shape)
    return op.copied(ctx.tape, logits)


def _logits_in_chunks(
    ctx: Context, vocabulary: int, x: Tensor, weights: tuple[Parameter, Parameter | None], tokens: Size
) -> Tensor:
    """The head, chunk by chunk; all chunks are in 16 bit before the first is turned to fp32."""
    tape, weight, bias, rows = ctx.tape, weights[0], weights[1], ctx.batch * tokens
    w: Tensor | Parameter = weight
    b: Tensor | Parameter | None = bias
    copies = None
    if tape.autocast is not None:
        x = op.to(tape, x, tape.autocast)
        w, b = _cast(tape, weight), _cast(tape, bias) if bias is not None else None
        if isinstance(w, Tensor) and not w.needs_grad and tape.needs_grad(x):
            # Autocast remembers no copy of a frozen weight: each chunk keeps one.
            chunks = ctx.counted(_chunks_of_head)
            copies = tape.keep(tape.new((chunks * weight.shape[0], weight.shape[1]), w.dtype), "head cast to 16 bit")
            w = weight
    x_needs, trains = tape.needs_grad(x), tape.needs_grad(w)
    packed = ctx.setup.packs("head")
    keeps = trains or (packed and x_needs and ctx.setup.stack.keeps_packed_inputs)
    # Chunks of several sequences do not lie side by side: each is copied.
    kept = tape.keep(x if ctx.batch == 1 else tape.new(x.shape, x.dtype), "input") if keeps else None
    shape = (ctx.batch, ctx.sequence, vocabulary)
    narrow = tape.new(shape, x.dtype)
    logits = op.to(tape, narrow, "fp32")
    del narrow
    if not (x_needs or trains):
        return logits
    x_shape, x_dtype, w_shape = x.shape, x.dtype, weight.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept, copies
        grads.clear()  # all chunks' gradients are in 16 bit before the head's first product
        narrow = tape.new(shape, x_dtype)
        unpacked = tape.new(w_shape, x_dtype) if packed else None
        grad_chunk = tape.new((rows, x_shape[-1]), x_dtype)
        grad_w = tape.new(w_shape, x_dtype) if trains else None
        del grad_chunk, unpacked
        if grad_w is not None:
            grad_w = _second_chunk(tape, (rows, vocabulary), grad_w)
        del narrow
        parts = tape.new(x_shape, x_dtype) if x_needs else None
        whole = tape.new(x_shape, x_dtype) if x_needs else None  # the chunks' gradients, joined
        grad_b = tape.new(w_shape[:1], x_dtype) if trains and bias is not None else None
        del parts, held
        return whole, grad_w, grad_b

    return tape.record(logits, (x, w, b), run)


def _cast(tape: Tape, weight: Parameter) -> Tensor | Parameter:
    assert tape.autocast is not None, "only autocast casts weights"
    return products.weight_cast(tape, weight, tape.autocast)


def _second_chunk(tape: Tape, chunk: tuple[Size, Size], first: Tensor) -> Tensor:
    """The second chunk's gradient of the head beside the first's, when the first chunk's logits are gone."""
    num_bytes = tape.meter.size(chunk[0] * chunk[1] * BYTES_PER_VALUE[first.dtype])
    gone = [Storage(tape.meter, -num_bytes, TEMPORARY)]
    second = tape.new(first.shape, first.dtype)
    if not tape.on_device:  # summed into a third, when the second chunk's logits are gone as well
        gone.append(Storage(tape.meter, -num_bytes, TEMPORARY))
        first = tape.new(first.shape, first.dtype)
    del second, gone
    return first


def _cross_entropy(tape: Tape, logits: Tensor, chunk: tuple[Size, Size], *, joins: bool = False) -> Tensor:
    """Cross-entropy of each chunk: keeps the log-softmax of all; in backward each one's gradient takes its place.

    With `joins` the chunks are views of one tensor, whose gradient is put together at the end.
    """
    needs = tape.needs_grad(logits)
    log_probabilities = tape.new(logits.shape, "fp32")
    loss = tape.new((1,), "fp32")
    if not needs:
        return loss
    kept, shape = tape.keep(log_probabilities, "log-softmax"), logits.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        assert held is not None, "the loss stands outside checkpoints"
        of_loss, of_softmax = tape.new(chunk, "fp32"), tape.new(chunk, "fp32")
        del of_loss, of_softmax
        chunks = Tensor(held.storage, shape, "fp32")
        return (tape.new(shape, "fp32"),) if joins else (chunks,)

    return tape.record(loss, (logits,), run)
