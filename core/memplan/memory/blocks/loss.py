"""Head and loss: whole logits, logits in chunks, or never any logits at all."""

from __future__ import annotations

from memplan.architecture.parts import Architecture
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks import megatron, torchtune
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.gating import activation
from memplan.memory.blocks.litgpt_loss import litgpt_head_and_loss
from memplan.memory.storage import LOGITS, Size
from memplan.memory.tape import Grads, Parameter, Tensor, given

TORCHTUNE_CHUNKS = 8
"""torchtune's CEWithChunkedOutputLoss cuts the tokens into as many chunks by default."""


def head_and_loss(
    ctx: Context, architecture: Architecture, last: list[Tensor], ids: Tensor, with_loss: bool
) -> tuple[Tensor | None, Tensor | None]:
    """Logits (which the caller holds) and loss of the last hidden states, given as the one reference to them.

    With a cache the next token's logits, and the copy of them that generation reads in the loss's place.
    """
    with ctx.tape.inside(architecture.head.name, LOGITS):
        if ctx.setup.cache != "none":
            return _next_token_logits(ctx, architecture, last[0])
        if ctx.setup.stack.kernels == "litgpt" and ctx.setup.loss != "fused":
            return litgpt_head_and_loss(ctx, architecture, last, _head_weights(ctx, architecture), with_loss)
        if ctx.setup.stack.kernels == "megatron" and ctx.setup.loss == "plain":
            return megatron.head_and_loss(ctx, architecture, last, _head_weights(ctx, architecture), with_loss)
        if ctx.setup.stack.kernels == "torchtune" and ctx.setup.loss != "fused":
            return torchtune.head_and_loss(ctx, architecture, last, _head_weights(ctx, architecture), with_loss)
        read = _scaled(ctx, architecture, last[0])  # a name of the function's own, held until it returns
        if with_loss and ctx.setup.loss == "fused":
            return None, _fused_loss(ctx, architecture, _transformed(ctx, architecture, read))
        if with_loss and ctx.setup.loss == "chunked":
            return None, _chunked_loss(ctx, architecture, _transformed(ctx, architecture, read))
        logits = _logits(ctx, architecture, _transformed(ctx, architecture, read))
        narrow = architecture.loss_was_narrow and ctx.setup.stack.copies_shifted_logits and ctx.tape.autocast is None
        return logits, causal_lm_loss(ctx, logits, ids, upcasts=not narrow) if with_loss else None


def _scaled(ctx: Context, architecture: Architecture, x: Tensor) -> Tensor:
    return op.times(ctx.tape, x) if architecture.scales_head_input else x


def _transformed(ctx: Context, architecture: Architecture, x: Tensor) -> Tensor:
    """What the head's product reads, where a matrix, an activation and a norm stand before it."""
    spec = architecture.head_transform
    if spec is None:
        return x
    for weight in spec.weights():
        ctx.parameter(weight.name, weight.shape, trains=ctx.setup.head_trains)
    x = activation(ctx.tape, ctx.linear(spec.dense, x, spec.name), spec.activation)
    return ctx.norm(spec.norm, x, spec.name)


def _head_weights(ctx: Context, architecture: Architecture) -> tuple[Parameter, Parameter | None]:
    table, head = architecture.tokens, architecture.head
    setup = ctx.setup
    # Where one of two tied modules is a copy that trains, they are two tensors.
    tied = architecture.tied and not (setup.saves(head.name) or setup.saves(table.name))
    name, trains = table.name if tied else head.name, setup.head_trains or setup.saves(head.name)
    weight = ctx.parameter(f"{name}.weight", (head.outputs, head.inputs), trains=trains)
    bias = ctx.parameter(f"{head.name}.bias", (head.outputs,), trains=trains) if head.bias else None
    return weight, bias


def _logits(ctx: Context, architecture: Architecture, x: Tensor) -> Tensor:
    tape = ctx.tape
    weight, bias = _head_weights(ctx, architecture)
    x = op.to(tape, x, weight.dtype) if architecture.wide_logits else x
    logits = products.linear(tape, x, weight, bias)
    logits = ctx.with_adapter(architecture.head, x, logits, architecture.head.name)
    if architecture.logits_scale:
        logits = op.times(tape, logits)
    if architecture.logits_softcap:
        logits = op.times(tape, logits)
        logits = op.pointwise_by_output(tape, logits, "capped logits")
        logits = op.times(tape, logits)
    upcasts = ctx.setup.stack.upcasts_in_model and not architecture.loss_was_narrow
    return op.to(tape, logits, "fp32") if upcasts or architecture.wide_logits else logits


def _next_token_logits(ctx: Context, architecture: Architecture, x: Tensor) -> tuple[Tensor, Tensor]:
    """Logits of the last position alone, and the fp32 copy of them that the next token is chosen by.

    Source: transformers since 4.45 (logits_to_keep), generation/utils.py (_sample).
    """
    x = _scaled(ctx, architecture, op.view(x, (ctx.batch, 1, x.shape[-1])))
    logits = _logits(ctx, architecture, _transformed(ctx, architecture, x))
    return logits, ctx.tape.new(logits.shape, "fp32")


def causal_lm_loss(ctx: Context, logits: Tensor, ids: Tensor, *, upcasts: bool = True) -> Tensor:
    """transformers' ForCausalLMLoss: logits in fp32, targets moved by one, cross-entropy."""
    tape = ctx.tape
    with tape.inside("loss", LOGITS):
        upcast = op.to(tape, logits, "fp32") if upcasts else logits
        # Moved by one, a copy; the logits that it is made of stay the caller's.
        scored = op.copied(tape, upcast) if ctx.setup.stack.copies_shifted_logits else upcast
        padded = tape.new((ctx.batch, ctx.sequence + 1), "int64")
        targets = tape.new((ctx.batch, ctx.sequence), "int64")
        loss = products.cross_entropy(tape, scored, targets)
        del padded  # the function's own name for the targets
        return loss


def chunk_rows(batch: int, sequence: int, vocabulary: int, hidden: int) -> int:
    """Tokens that Liger's fused linear cross-entropy takes at once.

    Equation: the next power of two of ⌈tokens / ⌈vocabulary / hidden⌉⌉, so that a chunk of logits is about as large as
    the hidden states; no more than there are. Source: liger-kernel 0.3.1, ops/fused_linear_cross_entropy.py.

    >>> chunk_rows(2, 2048, 128_256, 4096), chunk_rows(1, 3, 32_000, 32_000)
    (128, 3)
    """
    tokens = batch * sequence
    last = -(-tokens // -(-vocabulary // hidden)) - 1
    for shift in (1, 2, 4, 8, 16, 32):
        last |= last >> shift  # all ones below the next power of two; of arrays each number
    return (tokens + last + 1 - abs(tokens - last - 1)) // 2  # the smaller of the two


def chunk_of_equal(batch: int, sequence: int, chunks: int) -> int:
    """Tokens of the largest of equal chunks.

    >>> chunk_of_equal(1, 2049, 8)
    257
    """
    return -(-batch * sequence // chunks)


def _fused_loss(ctx: Context, architecture: Architecture, x: Tensor) -> Tensor:
    """Liger's: a chunk of logits at a time, turned into its gradient in place; all gradients are made in forward."""
    tape, (weight, bias) = ctx.tape, _head_weights(ctx, architecture)
    tokens = ctx.batch * ctx.sequence
    rows = ctx.counted(chunk_rows, architecture.vocab_size, architecture.head.inputs)
    needs, trains = tape.needs_grad(x), tape.needs_grad(weight)
    grad_x = tape.new(x.shape, x.dtype) if needs else None
    grad_w = tape.new(weight.shape, weight.dtype) if trains else None
    grad_b = tape.new(bias.shape, bias.dtype) if bias is not None and trains else None
    chunk = tape.new((rows, architecture.vocab_size), x.dtype)
    product = tape.new((rows, architecture.head.inputs), x.dtype)
    del chunk, product
    loss = tape.new((tokens,), "fp32")
    if not (needs or trains):
        return loss
    made = (grad_x, grad_w, grad_b)
    kept = tuple(tape.keep(one, "gradient made in forward") if one is not None else None for one in made)
    return tape.record(loss, (x, weight, bias), lambda grads: kept)


def _chunked_loss(ctx: Context, architecture: Architecture, x: Tensor) -> Tensor:
    """Logits in 16 bit, cut along the tokens; one chunk at a time is turned into fp32, forward and backward."""
    tape = ctx.tape
    logits = _logits(ctx, architecture, x)
    part: tuple[Size, ...] = (ctx.counted(chunk_of_equal, TORCHTUNE_CHUNKS), architecture.vocab_size)
    kept = tape.keep(logits, "logits") if tape.needs_grad(logits) else None
    upcast, log_probabilities = tape.new(part, "fp32"), tape.new(part, "fp32")
    del upcast, log_probabilities
    loss = tape.new((1,), "fp32")
    if kept is None:
        return loss
    shape, dtype = logits.shape, logits.dtype

    def run(grads: list[Tensor | None]) -> Grads:
        held, of_loss = kept, given(grads).dtype
        chunks = [tape.new(part, of_loss) for _ in range(3)]
        # Chunk by chunk the gradient takes the place of the logits.
        result = Tensor(held.storage, shape, dtype)
        del chunks, held
        return (result,)

    return tape.record(loss, (logits,), run)
