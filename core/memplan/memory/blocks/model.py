"""What stands around the layers: ids, embeddings, positions, masks before; final norm, head and loss after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from memplan.architecture.latent_parts import LatentAttention
from memplan.architecture.linear_parts import Beside, StateMixer
from memplan.architecture.parts import Architecture, Attention, Layer, Table
from memplan.architecture.positions import rotary_tables
from memplan.memory import operations as op
from memplan.memory.blocks.attention import is_fused
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.loss import head_and_loss
from memplan.memory.blocks.streams import ended
from memplan.memory.storage import LOGITS
from memplan.memory.tape import Grads, Tape, Tensor, given

P = TypeVar("P")


def given_ids(ctx: Context, vocabulary: int) -> tuple[Tensor, list[Tensor]]:
    """Ids of the tokens of this pass; and what generation holds of the tokens so far: their ids, the last one's logits
    in fp32 and the choice made of them.
    """
    ids = ctx.tape.new((ctx.batch, ctx.sequence), "int64")
    if not ctx.past:
        return ids, []
    with ctx.tape.inside("", LOGITS):
        logits = ctx.tape.new((ctx.batch, vocabulary), "fp32")
    return ids, [ctx.tape.new((ctx.batch, ctx.past + 1), "int64"), ctx.tape.new((ctx.batch,), "int64"), logits]


def embed(ctx: Context, architecture: Architecture, ids: Tensor) -> tuple[Tensor, list[Tensor], bool]:
    """The first layer's input, the locals that the model's function holds, and whether the input is one of them."""
    tape = ctx.tape
    setup, table = ctx.setup, architecture.tokens
    saved = setup.saves(table.name)
    trains = saved or setup.table_trains(architecture.tied)
    weight = ctx.parameter(f"{table.name}.weight", (table.rows, table.width), trains=trains)
    weight.shared = architecture.tied and not saved
    x = ctx.embed(table, ids)
    x = _scaled_inside(tape, architecture, x)
    embedded = x
    if setup.makes_inputs_need_gradients and not x.needs_grad:
        # enable_input_require_grads: without it a checkpointed frozen model has nothing to walk back to.
        x.node = tape.leaf((1,), x.dtype, needs_grad=True).node
    model_locals: list[Tensor] = []
    stays = True
    if architecture.embedding_norm is not None:
        model_locals.append(x)
        x, stays = ctx.norm(architecture.embedding_norm, x), False
    if architecture.embedding_scale == "number":
        if setup.makes_inputs_need_gradients and not trains:
            ctx.held_by_checkpoints.append(x)  # its gradient's node holds it until backward is over
        x = op.times(tape, x)
    if architecture.projections:
        x = ctx.linear(architecture.projections[0], x, "")
    if architecture.positions is not None:
        rows = ctx.batch if architecture.position_ids_per_row else 1
        where = tape.new((rows, ctx.sequence), "int64")
        positions = architecture.positions
        ctx.parameter(f"{positions.name}.weight", (positions.rows, positions.width), trains=setup.embeddings_train)
        learned = ctx.embed(positions, where)
        model_locals += [x, learned, where]
        if architecture.position_ids_per_row:
            model_locals.append(tape.new((rows, ctx.sequence), "fp32"))
        x = _add_positions(tape, x, learned, broadcast=not architecture.position_ids_per_row)
        stays = False
    if architecture.fixed_positions is not None:
        x, stays = _with_fixed_positions(ctx, architecture.fixed_positions, x, model_locals), False
    if architecture.embedding_dropout:
        if architecture.positions is None and architecture.fixed_positions is None:
            model_locals.append(x)  # the function's own name for the embeddings
        x = op.dropout(tape, x, architecture.embedding_dropout)
        stays = False
    if setup.makes_inputs_need_gradients and not trains and x is not embedded:
        ctx.held_by_checkpoints.append(embedded)  # its gradient's node holds it until backward is over
    return ctx.part(x), model_locals, stays


def _with_fixed_positions(ctx: Context, table: Table, x: Tensor, model_locals: list[Tensor]) -> Tensor:
    """x plus rows of a table that never trains."""
    where, rows = ctx.tape.new((1, ctx.sequence), "int64"), ctx.tape.new((1, ctx.sequence, table.width), x.dtype)
    model_locals += [x, where]
    result = op.plus_constant(ctx.tape, x)
    del rows
    return result


def _scaled_inside(tape: Tape, architecture: Architecture, x: Tensor) -> Tensor:
    """What the embeddings' own module makes of the table's rows."""
    if architecture.embedding_scale == "buffer":
        return op.mul_by_constant(tape, x, tape.new((1,), x.dtype), "embedding scale")
    return op.times(tape, x) if architecture.embedding_scale == "number_inside" else x


def _add_positions(tape: Tape, x: Tensor, learned: Tensor, *, broadcast: bool) -> Tensor:
    if not broadcast:
        return op.add(tape, x, learned)
    output = tape.new(x.shape, op.promoted(x.dtype, learned.dtype))
    if not tape.needs_grad(x, learned):
        return output
    shape = learned.shape

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        return grad, tape.new(shape, grad.dtype)

    return tape.record(output, (x, learned), run)


def positions_and_masks(ctx: Context, layers: Sequence[Layer], tape: Tape) -> list[Tensor]:
    """Make what all layers read, on a tape of the caller's choice; returns the locals that the model holds."""
    held: list[Tensor] = []
    dtype = ctx.setup.unpacked_dtype
    tables = rotary_tables(layers)
    if tables and not any(layer.attention.rotary.buffered for layer in layers):
        held.append(tape.new((1, ctx.sequence), "int64"))
    for _, width in tables:
        if ctx.cos is not None and ctx.sin is not None:
            ctx.other_positions += [ctx.cos, ctx.sin]
        of_table = "fp32" if any(layer.attention.rotary.fp32_tables for layer in layers) else dtype
        form = next(layer.attention.rotary.form for layer in layers if layer.attention.rotary_dim)
        rows = ctx.batch if any(layer.attention.rotary.per_row for layer in layers) else 1
        shape = (rows, ctx.sequence, width // 2 if form == "half_cosines" else width)
        if any(layer.attention.rotary.buffered for layer in layers):
            ctx.cos, ctx.sin = tape.new(shape, "fp32"), tape.new(shape, "fp32")  # there before the step, and after it
            continue
        angles = tape.new(shape, "fp32")
        ctx.cos = op.to(tape, tape.new(shape, "fp32"), "fp32" if form == "complex" else of_table)
        ctx.sin = op.to(tape, tape.new(shape, "fp32"), of_table) if form != "complex" else ctx.cos
        del angles
        if any(layer.attention.rotary.spread != "no" for layer in layers):
            held += [ctx.cos, ctx.sin]
    own = next((one.attention for one in layers if isinstance(one.attention, Attention)), None)
    held += _biases_by_distance(ctx, own, tape, dtype) if own is not None else []
    for window in {layer.attention.window for layer in layers}:
        ctx.masks[window] = _mask(ctx, layers, window, tape, dtype)
        if (mask := ctx.masks[window]) is not None:
            held.append(mask)
    return held


def _biases_by_distance(ctx: Context, spec: Attention, tape: Tape, dtype: str) -> list[Tensor]:
    """Biases by distance of each head; Falcon makes positions beside them, which no layer reads."""
    if spec.bias_distances:
        return [tape.new((spec.heads, 1, spec.bias_distances), "fp32")]
    if not (spec.alibi or spec.scores == "bloom"):
        return []
    held = [tape.new((ctx.batch * spec.heads, 1, ctx.keys(None)), dtype)]
    if spec.alibi:
        held.append(tape.new((1, ctx.sequence), "int64"))
        held += [tape.new((1, ctx.sequence, spec.head_dim), dtype) for _ in range(2)]
    return held


def _mask(ctx: Context, layers: Sequence[Layer], window: int | None, tape: Tape, dtype: str) -> Tensor | None:
    """A mask where the kernel can not work it out: eager attention always, sdpa from a full sliding window on."""
    if all(isinstance(layer.attention, StateMixer) and not isinstance(layer.attention, Beside) for layer in layers):
        return None
    own, square = {layer.attention.scores for layer in layers}, (ctx.sequence, ctx.keys(window))
    for layer in layers:
        if isinstance(layer.attention, Attention) and layer.attention.alibi:
            return tape.new((ctx.batch, layer.attention.heads, *square), dtype)
    if "mpt" in own:
        return tape.new((ctx.batch, 1, *square), "bool")
    eager = any(not is_fused(ctx.setup.attention, layer.attention) for layer in layers)
    if eager:
        return tape.new((ctx.batch, 1, *square), dtype)
    if any(isinstance(layer.attention, LatentAttention) and layer.attention.selects for layer in layers):
        return tape.new((1, 1, *square), "bool")
    if "falcon" not in own and (ctx.setup.attention == "flash" or window is None or ctx.sequence < window):
        return None
    chunked = any(layer.attention.chunked and layer.attention.window == window for layer in layers)
    return tape.new((ctx.batch if chunked else 1, 1, *square), "bool")


class LossState(Generic[P]):
    """What forward leaves: logits that the caller holds, the loss, and what was noted when the model returned."""

    def __init__(self, logits: Tensor | None, loss: Tensor | None, model_end: P) -> None:
        self.logits, self.loss, self.model_end = logits, loss, model_end


def finish(
    ctx: Context,
    architecture: Architecture,
    last: list[Tensor],
    ids: Tensor,
    embed_locals: list[Tensor],
    model_locals: list[Tensor],
    with_loss: bool,
    at_model_end: Callable[[], P],
) -> LossState[P]:
    """Final norm, head and loss, as transformers' ForCausalLM classes run them. Takes the last output out of `last`.

    A stage without them sends the last output on, and holds it until its gradient is back.
    """
    tape = ctx.tape
    hidden = last.pop()
    norm = architecture.final_norm if architecture.ends else None
    if norm is not None:
        trains = ctx.setup.head_trains or ctx.setup.saves(norm.name)
        for part in ("weight", "bias"):
            ctx.parameter(f"{norm.name}.{part}", (norm.size,), dtype=ctx.setup.norms_dtype or None, trains=trains)
    nothing_held = not hidden.needs_grad  # no layer holds what all of them read
    if architecture.streams is not None and architecture.ends:
        hidden = ended(ctx, architecture.streams, hidden)
    x = ctx.norm(norm, hidden)
    if architecture.ends and len(architecture.projections) > 1:
        x = ctx.linear(architecture.projections[1], x, "")
    del hidden
    model_end = at_model_end()
    ctx.layer_locals.clear()
    if ctx.setup.checkpointing:
        ctx.held_by_checkpoints += model_locals  # positions and masks are arguments of every checkpoint
    model_locals.clear()
    embed_locals.clear()
    plain = ctx.setup.attention == "eager" or ctx.setup.autocast is not None
    kinds = architecture.kinds
    if not any((layer.attention.alibi and not plain) or layer.attention.scores == "mpt" for layer in kinds):
        ctx.masks.clear()  # others keep what they make of it
    if nothing_held:
        ctx.release_shared()
    tape.meter.restart()
    if any(layer.attention.rotary.spread != "no" for layer in architecture.kinds):
        ctx.cos = ctx.sin = None  # layers keep what they spread out, not these
    if not architecture.ends:
        return LossState(None, x, model_end)
    # The last hidden state stays a local until forward returns, which may be before the loss.
    result = [ctx.whole(x)]
    del x
    logits, loss = head_and_loss(ctx, architecture, result, ids, with_loss)
    return LossState(logits, loss, model_end)
