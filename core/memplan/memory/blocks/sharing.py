"""What layers share beside the residual stream: inputs made for each of them, keys and values of an earlier layer.

A layer that reads something of the whole model's gives it a gradient, which waits for those of earlier layers and is
added to them: it is alive from the last layer's backward that makes one to where the thing was made.
"""

from __future__ import annotations

from memplan.architecture.parts import Architecture, Attention, Layer
from memplan.architecture.shared_parts import LayerInput, LayerInputs
from memplan.memory import operations as op
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.gating import activation
from memplan.memory.blocks.joining import sliced
from memplan.memory.setup import Setup
from memplan.memory.storage import TEMPORARY, Storage
from memplan.memory.tape import Grads, Tape, Tensor, given


def layer_inputs(ctx: Context, spec: LayerInputs, ids: Tensor, embedded: Tensor) -> Tensor:
    """The inputs of all layers: rows of their table, scaled, and the embeddings' projection, normed; scaled again.

    Source: transformers 5.24, modeling_gemma4.py (get_per_layer_inputs, project_per_layer_inputs).
    """
    tape, table = ctx.tape, spec.table
    trains = ctx.setup.embeddings_train
    ctx.parameter(f"{table.name}.weight", (table.rows, table.width), trains=trains or ctx.setup.saves(table.name))
    for weight in (*spec.projection.weights(), *spec.norm.weights()):
        ctx.parameter(weight.name, weight.shape, trains=trains and not ctx.setup.adapts(spec.projection))
    if _kept_by_first_layer(ctx, embedded):
        uncounted = Tape().new(embedded.shape, embedded.dtype).storage
        embedded = Tensor(uncounted, embedded.shape, embedded.dtype, embedded.node, embedded.slot)
    if spec.in_place:
        ids = tape.new(ids.shape, ids.dtype)
    looked_up = op.mul_by_constant(tape, ctx.embed(table, ids), tape.new((1,), ctx.setup.unpacked_dtype), "scale")
    of_each = (ctx.batch, ctx.sequence, spec.layers, spec.width)
    projected = ctx.linear(spec.projection, embedded, "")
    projected = times_in_place(tape, projected) if spec.in_place else op.times(tape, projected)
    projected = ctx.norm(spec.norm, op.view(projected, of_each))
    return op.times(tape, op.add(tape, projected, op.view(looked_up, of_each)))


def _kept_by_first_layer(ctx: Context, x: Tensor) -> bool:
    """Whether the first layer keeps its input, and counts it."""
    setup = ctx.setup
    norm_keeps = x.dtype == "fp32" and (setup.base_trains or x.node is not None)
    return setup.trains and (setup.checkpointing or norm_keeps)


def beginning(ctx: Context, x: Tensor) -> Tensor:
    """Where the layers' backward leads to: the first one's input, and the inputs of all, whose gradient waited."""
    inputs = ctx.layer_inputs
    if inputs is None or inputs.node is None:
        return x
    if x.node is None:
        return inputs
    both, shape, dtype = Tensor(x.storage, x.shape, x.dtype), inputs.shape, inputs.dtype
    return ctx.tape.record(both, (x, inputs), lambda grads: (grads[0], ctx.tape.new(shape, dtype)))


def with_own_input(ctx: Context, spec: LayerInput, x: Tensor) -> Tensor:
    """x + norm(projection(act(gate(x)) * input))."""
    return op.add(ctx.tape, x, by_own_input(ctx, spec, x))


def by_own_input(ctx: Context, spec: LayerInput, x: Tensor) -> Tensor:
    """norm(projection(act(gate(x)) * input))."""
    tape = ctx.tape
    gated = activation(tape, ctx.linear(spec.gate, x, ""), spec.activation)
    gated = op.mul(tape, gated, _own_input(ctx, spec), role_a="gated", role_b="the layers' inputs")
    return ctx.norm(spec.norm, ctx.linear(spec.projection, gated, ""))


def times_in_place(tape: Tape, x: Tensor) -> Tensor:
    """x *= a buffer of one value, which is kept: no tensor is made but the gradient."""
    output = Tensor(x.storage, x.shape, x.dtype)
    if not tape.needs_grad(x):
        return output
    tape.keep_weight()

    def run(grads: list[Tensor | None]) -> Grads:
        grad = given(grads)
        return (tape.new(grad.shape, grad.dtype),)

    return tape.record(output, (x,), run)


def _own_input(ctx: Context, spec: LayerInput) -> Tensor:
    """The layer's part of what was made for all: its gradient is put into a tensor of zeros for all of them."""
    made, setup = spec.made_by, ctx.setup
    plain = setup.unpacked_dtype
    dtype = op.promoted(plain, setup.autocast or plain)
    shape = (ctx.batch, ctx.sequence, made.layers, made.width)
    whole = Tape().leaf(shape, dtype, needs_grad=_inputs_need_gradients(setup, made))
    return sliced(ctx.tape, met(ctx, whole, "inputs", waits=spec.waits), (ctx.batch, ctx.sequence, made.width))


def _inputs_need_gradients(setup: Setup, made: LayerInputs) -> bool:
    if not setup.trains:
        return False
    trains = setup.embeddings_train or setup.saves(made.table.name) or setup.outside.adapts(made.projection)
    return trains or setup.first_input(made.tokens, made.tied)[1]


def met(ctx: Context, x: Tensor, name: str, *, waits: bool) -> Tensor:
    """The same values; the gradient is added to what waits, a third tensor where nothing is added in place."""
    tape = ctx.tape
    if not waits or x.node is None:
        return x
    ctx.awaited[name] = x.shape, x.dtype

    def run(grads: list[Tensor | None]) -> Grads:
        waiting, grad = ctx.waiting.pop(name, None), given(grads)
        if waiting is None or tape.on_device:
            return (grad,)
        return (tape.new(grad.shape, grad.dtype),)

    return tape.record(Tensor(x.storage, x.shape, x.dtype), (x,), run)


def taken_heads(ctx: Context, spec: Attention, x: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values of the layer that gave them. Their storage is counted with the layer, or with the model."""
    value = ctx.tape.autocast or x.dtype
    shape = (ctx.batch, spec.kv_heads, ctx.keys(spec.window), spec.head_dim)
    needs = x.node is not None
    k = Tape().leaf(shape, op.promoted(value, ctx.setup.unpacked_dtype), needs_grad=needs)
    return given_heads(ctx, spec, k, Tape().leaf(shape, value, needs_grad=needs))


def given_heads(ctx: Context, spec: Attention, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values that other layers read as well.

    Where a checkpoint runs again, they take the place of those that the model held, with all that they are made of.
    """
    if ctx.behind:
        replaced = Storage(ctx.tape.meter, -k.storage.num_bytes - v.storage.num_bytes, TEMPORARY)
        ctx.behind += [k.detached(), v.detached(), Tensor(replaced, (), k.dtype)]
    return met(ctx, k, "keys", waits=spec.waits), met(ctx, v, "values", waits=spec.waits)


def wait(ctx: Context, spec: Layer) -> None:
    """Have the gradients that later layers left when the layer's backward begins."""
    tape, plain = ctx.tape, ctx.setup.unpacked_dtype
    for name, (shape, dtype) in ctx.awaited.items():
        ctx.waiting[name] = tape.new(shape, dtype)
    for index, (heads, width) in enumerate(spec.waiting):
        for part in ("keys", "values"):
            shape = (ctx.batch, heads, ctx.sequence, width)
            ctx.waiting[f"{part} {index}"] = tape.new(shape, ctx.setup.autocast or plain)


def shares_its_heads(spec: Layer) -> bool:
    """Whether the layer makes keys and values that later layers may read."""
    return isinstance(spec.attention, Attention) and spec.attention.shares == "gives"


def takes_heads(spec: Layer) -> bool:
    """Whether the layer reads keys and values that an earlier one made."""
    return isinstance(spec.attention, Attention) and spec.attention.shares == "takes"


def cuts_prompts(architecture: Architecture, setup: Setup) -> bool:
    """Whether layers that take keys and values read a prompt's last token alone, as nothing reads theirs.

    Source: transformers 5.24, modeling_gemma4.py (_maybe_slice_kv_shared_inputs); flash's kernels take no cut mask.
    """
    inputs = architecture.layer_inputs
    return setup.cache == "prefill" and setup.attention != "flash" and inputs is not None and inputs.cuts_prompts


def held_heads(ctx: Context, architecture: Architecture) -> list[Tensor]:
    """Shared keys and values that the model's function holds, where the layers that gave them do not keep them."""
    held: list[Tensor] = []
    for layer in architecture.kinds:
        spec = layer.attention
        if isinstance(spec, Attention) and spec.shares == "gives" and not _keeps_heads(ctx, spec):
            plain, setup = ctx.setup.unpacked_dtype, ctx.setup
            for dtype in (plain, setup.autocast or plain):
                shape = (ctx.batch, spec.kv_heads, ctx.keys(spec.window), spec.head_dim)
                held.append(ctx.tape.new(shape, dtype))
    return held


def _keeps_heads(ctx: Context, spec: Attention) -> bool:
    """Whether a layer's own attention holds its keys and values for backward, not copies for each query head."""
    if ctx.setup.cache != "none":
        return True  # they are the cache
    repeats = spec.kv_heads != spec.heads and (ctx.setup.attention == "eager" or ctx.masks.get(spec.window) is not None)
    return ctx.setup.trains and not ctx.setup.checkpointing and not repeats
