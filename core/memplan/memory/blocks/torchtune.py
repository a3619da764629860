"""torchtune's layer and losses: positions and norms in fp32, keys and values repeated, logits that go before backward.

Source: torchtune 0.6.1, modules/transformer.py, attention.py, position_embeddings.py, rms_norm.py, feed_forward.py,
peft/lora.py, loss/ce_chunked_output_loss.py, and the recipes' _loss_step.
"""

from __future__ import annotations

from memplan.architecture.parts import Architecture, Attention, Layer, Linear, Mlp
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.chunked_head import logits_in_chunks
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.gating import activation
from memplan.memory.blocks.joining import joined, sliced
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Parameter, Tensor

CHUNKS = 8
"""CEWithChunkedOutputLoss cuts each sequence into as many chunks."""


def layer(ctx: Context, spec: Layer, x: Tensor) -> Tensor:
    """Hidden states in, hidden states out."""
    assert isinstance(spec.attention, Attention), "torchtune's compositions have no other attention"
    assert isinstance(spec.mlp, Mlp), "torchtune's compositions have no other feed-forward block"
    h = ctx.norm(spec.attention_norm, x)
    attended = _attention(ctx, spec.attention, h)
    h = op.add(ctx.tape, attended, x)
    y = op.add(ctx.tape, h, _mlp(ctx, spec.mlp, ctx.norm(spec.mlp_norm, h)))
    del attended
    return y


def _attention(ctx: Context, spec: Attention, x: Tensor) -> Tensor:
    tape = ctx.tape
    with tape.inside(spec.name):
        shapes = [(ctx.batch, ctx.sequence, count, spec.head_dim) for count in (spec.heads, spec.kv_heads)]
        q = op.view(_linear(ctx, spec.inputs[0], x, spec.name), shapes[0])
        q = _turned(ctx, q)
        k = op.view(_linear(ctx, spec.inputs[1], x, spec.name), shapes[1])
        v = op.view(_linear(ctx, spec.inputs[2], x, spec.name), shapes[1])
        k = _turned(ctx, k)
        by_head = (ctx.batch, spec.heads, ctx.sequence, spec.head_dim)
        q = op.view(q, by_head)
        if spec.kv_heads != spec.heads:
            k, v = op.copied(tape, k, by_head), op.copied(tape, v, by_head)
        else:
            k, v = op.view(k, by_head), op.view(v, by_head)
        y = products.flash_attention(tape, q, k, v)
        y = op.view(y, (ctx.batch, ctx.sequence, spec.heads * spec.head_dim))
        return _linear(ctx, spec.output, y, spec.name)


def _turned(ctx: Context, x: Tensor) -> Tensor:
    """Neighbours of each head turned in fp32, put side by side again, and cast back."""
    tape, cos, sin = ctx.tape, ctx.cos, ctx.sin
    assert cos is not None, "the walk makes positions first"
    assert sin is not None, "the walk makes positions first"
    wide, half = op.to(tape, x, "fp32"), (*x.shape[:-1], x.shape[-1] // 2)

    def by(table: Tensor) -> Tensor:
        return op.mul_by_constant(tape, sliced(tape, wide, half), table, "positions")

    first = op.subtract(tape, by(cos), by(sin))
    second = op.add(tape, by(cos), by(sin))
    whole = joined(tape, (first, second))
    del first, second
    return op.to(tape, whole, x.dtype)


def _mlp(ctx: Context, spec: Mlp, x: Tensor) -> Tensor:
    assert spec.gate is not None, "torchtune's compositions are gated"
    h = _linear(ctx, spec.gate, x, spec.name)
    with ctx.tape.inside(f"{spec.name}.act"):
        h = activation(ctx.tape, h, spec.activation)
    up = _linear(ctx, spec.up, x, spec.name)
    with ctx.tape.inside(f"{spec.name}.act"):
        h = op.mul(ctx.tape, h, up, role_a="act(gate)", role_b="up")
    del up
    return _linear(ctx, spec.down, h, spec.name)


def _linear(ctx: Context, spec: Linear, x: Tensor, module: str) -> Tensor:
    """A linear module, and its adapter's product beside it, in the dtype that comes."""
    name, tape, setup = f"{module}.{spec.name}", ctx.tape, ctx.setup
    with tape.inside(name):
        weight = ctx.parameter(f"{name}.weight", (spec.outputs, spec.inputs))
        bias = ctx.parameter(f"{name}.bias", (spec.outputs,)) if spec.bias else None
        whole = products.linear(tape, x, weight, bias)
        if not setup.adapts(spec):
            return whole
        shapes, dtype = ((setup.rank, spec.inputs), (spec.outputs, setup.rank)), setup.adapter_dtype
        a, b = (
            ctx.parameter(f"{name}.{part}", shape, dtype=dtype, trains=True)
            for part, shape in zip(("lora_A", "lora_B"), shapes, strict=True)
        )
        low = products.linear(tape, op.dropout(tape, x, setup.dropout), a)
        low = op.times(tape, products.linear(tape, low, b))
        return op.add(tape, whole, low)


def head_and_loss(
    ctx: Context,
    architecture: Architecture,
    last: list[Tensor],
    weights: tuple[Parameter, Parameter | None],
    with_loss: bool,
) -> tuple[Tensor | None, Tensor | None]:
    """The loss alone: the recipes drop the logits before backward."""
    tape, vocabulary = ctx.tape, architecture.vocab_size
    if ctx.setup.loss == "chunked" and with_loss:
        rows = ctx.counted(_rows_of_chunk)
        logits = logits_in_chunks(ctx, last.pop(), weights, rows, _number_of_chunks)
        return None, _chunked_loss(ctx, logits, (rows, vocabulary))
    logits = op.to(tape, products.linear(tape, last.pop(), *weights), "fp32")
    if not with_loss:
        return logits, None
    targets = tape.new((ctx.batch, ctx.sequence), "int64")
    return None, products.cross_entropy(tape, logits, targets)


def _rows_of_chunk(batch: int, sequence: int) -> int:
    return batch * -(-sequence // CHUNKS)


def _number_of_chunks(batch: int, sequence: int) -> int:
    return -(-sequence // -(-sequence // CHUNKS))


def _chunked_loss(ctx: Context, logits: Tensor, chunk: tuple[Size, Size]) -> Tensor:
    """One chunk at a time in fp32, of which each keeps its log-softmax; gradients come back in the logits' dtype."""
    tape, shape, dtype = ctx.tape, logits.shape, logits.dtype
    needs = tape.needs_grad(logits)
    log_probabilities = tape.new(shape, "fp32")
    upcast = tape.new(chunk, "fp32") if dtype != "fp32" else None
    loss = tape.new((1,), "fp32")
    del upcast
    if not needs:
        return loss
    targets = tape.keep(tape.new((ctx.batch, ctx.sequence), "int64"), "targets")
    held = [tape.keep(log_probabilities, "log-softmax")]

    def run(grads: list[Tensor | None]) -> Grads:
        kept = held.pop(), targets
        of_loss, of_softmax = tape.new(chunk, "fp32"), tape.new(chunk, "fp32")
        del of_loss, of_softmax, kept
        return (tape.new(shape, dtype),)  # chunk by chunk, as each log-softmax goes

    del log_probabilities
    return tape.record(loss, (logits,), run)
