"""litgpt's head and loss: logits whole or in chunks of tokens, turned to fp32 as they leave the model.

Source: litgpt 0.5.13, model.py (GPT.forward), utils.py (chunked_cross_entropy), finetune/lora.py and finetune/full.py;
lightning 2.6, fabric/plugins/precision (convert_output).
"""

from __future__ import annotations

from memplan.architecture.parts import Architecture
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.chunked_head import logits_in_chunks
from memplan.memory.blocks.context import Context
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Parameter, Tape, Tensor

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
        rows = ctx.batch * tokens
        logits = logits_in_chunks(ctx, last.pop(), weights, rows, _chunks_of_head, widened=True)
        if not with_loss:
            return logits, None
        # Without its last token the last chunk of several sequences is copied.
        short = ctx.counted(_tokens_of_copied_chunk)
        copy = ctx.tape.new((short, vocabulary), "fp32")
        loss = _cross_entropy(ctx.tape, logits, (rows, vocabulary))
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
