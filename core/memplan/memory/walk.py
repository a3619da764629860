"""Walks of single modules on a tape: a layer of one kind, and what stands before and after the layers.

Equal layers keep equal tensors, so each kind is walked once; `step` puts the walks together into a training step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from memplan.architecture.parts import Architecture, Layer
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.layers import layer as layer_block
from memplan.memory.blocks.model import embed, finish, positions_and_masks
from memplan.memory.setup import Setup
from memplan.memory.tape import GRADIENTS, TEMPORARY, Kept, Meter, Size, Storage, Tape, Tensor


@dataclass(frozen=True, slots=True)
class Peak:
    """The fullest moment of a walk: bytes, and how they divide (activations, logits, temporary, gradients)."""

    total: Size
    tally: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class LayerWalk:
    """One layer's forward and backward pass, by itself."""

    forward: Peak
    """With the layer's input, which is alive when it starts."""
    kept: Size
    """Held from forward to backward, the input included if it is."""
    keeps_input: bool
    cached: Size
    """Held until the forward pass is over: autocast's copies of weights that nothing else holds."""
    input_bytes: Size
    output_bytes: Size
    output_dtype: str
    output_needs_grad: bool
    backward: Peak
    """With everything the layer kept and the gradient of its output."""
    gradients: Size
    """Parameter gradients that stay."""
    ledger: tuple[Kept, ...]
    """What is held from forward to backward."""
    recomputed: tuple[Kept, ...]
    """What a checkpointed layer holds while its backward runs."""


@dataclass(frozen=True, slots=True)
class EndsWalk:
    """Everything outside the layers: embeddings before; final norm, head and loss after."""

    start: Peak
    """Making embeddings, positions and masks; with the ids."""
    held_in_forward: Size
    """Ids, positions, masks and locals of the model's function, without the first layer's input."""
    input_stays: bool
    """The model's function holds the first layer's input until it returns."""
    model_end: Peak
    """Final norm, on top of what the layers kept."""
    loss: Peak
    """Head and loss, on top of what the layers kept."""
    forward_end: Peak
    """Alive when forward is over, on top of what the layers kept."""
    loss_backward: Peak
    """Backward through loss, head and final norm, on top of what the layers kept."""
    held_in_backward: Peak
    """Alive from then until the layers are through, gradients included."""
    embedding_backward: Peak
    """The last step, with the gradients of the ends but not of the layers."""
    gradients: Size
    """Parameter gradients of the ends that stay."""
    backward_end: Size
    """Ids and whatever else stays, without gradients."""
    ledger: tuple[Kept, ...]


def _peak(meter: Meter) -> Peak:
    return Peak(meter.peak, meter.peak_tally)


def _now(meter: Meter) -> Peak:
    return Peak(meter.now, tuple(meter.tally))


def _tape(setup: Setup, accumulating: bool) -> Tape:
    tape = Tape(autocast=setup.autocast, on_device=setup.stack.on_device)
    tape.accumulating, tape.trains = accumulating, setup.trains
    return tape


@lru_cache(maxsize=1024)
def walk_layer(
    spec: Layer,
    setup: Setup,
    batch: int,
    sequence: int,
    input_dtype: str,
    input_needs_grad: bool,
    accumulating: bool,
) -> LayerWalk:
    """Walk one layer forward and backward."""
    ctx = Context(_tape(setup, accumulating), setup, batch, sequence)
    tape, meter = ctx.tape, ctx.tape.meter
    positions_and_masks(ctx, [spec], Tape())  # the model's; they count once, with the ends
    hidden = spec.attention.output.outputs
    x: Tensor | None = tape.leaf((batch, sequence, hidden), input_dtype, needs_grad=input_needs_grad)
    assert x is not None, "made the line before"
    input_storage_bytes = x.storage.num_bytes
    checkpoint, root, num_packs = None, None, 0
    if setup.checkpointing:
        with tape.checkpointed() as told:
            y = layer_block(ctx, spec, x)
        num_packs = told[0]
        if y.needs_grad:
            checkpoint = x
            with tape.inside("layer"):
                tape.keep(x, "checkpointed input")
    else:
        y = layer_block(ctx, spec, x)
    keeps_input = x.storage.kept
    del x
    forward = _peak(meter)
    shape, output_bytes, dtype, needs = y.shape, y.storage.num_bytes, y.dtype, y.needs_grad
    if needs:
        root = Tensor(Storage(meter, 0, TEMPORARY), shape, dtype, y.node, y.slot)
    del y
    with_cache = meter.now
    tape.release_casts()
    kept, num_kept = meter.now, len(tape.kept)
    meter.restart()
    if needs:
        again: Tensor | None = None
        assert root is not None, "an output that needs a gradient has a way back"
        if checkpoint is not None:
            # The layer is run again when the first step asks for a value; gradients made up to there are alive.
            reentrant = setup.stack.reentrant
            alive = kept + output_bytes if reentrant else tape.backward(root, until_held=True)
            arrived = Storage(meter, alive - kept, TEMPORARY)
            with tape.recomputing(-1 if reentrant else num_packs):
                root = layer_block(ctx, spec, checkpoint)
            tape.release_casts()
            again = root if reentrant else None
            root = Tensor(Storage(meter, 0, TEMPORARY), shape, dtype, root.node, root.slot)
            del arrived
        tape.backward(root)
        del again
        del checkpoint  # the checkpoint's own reference to its input outlives the layer's backward steps
    return LayerWalk(
        forward=forward,
        kept=kept,
        keeps_input=keeps_input,
        cached=with_cache - kept,
        input_bytes=input_storage_bytes,
        output_bytes=output_bytes,
        output_dtype=dtype,
        output_needs_grad=needs,
        backward=_peak(meter),
        gradients=meter.tally[GRADIENTS],
        ledger=tuple(tape.kept[:num_kept]),
        recomputed=tuple(tape.kept[num_kept:]),
    )


@lru_cache(maxsize=512)
def walk_ends(
    architecture: Architecture,
    setup: Setup,
    batch: int,
    sequence: int,
    last_dtype: str,
    last_needs_grad: bool,
    accumulating: bool,
    with_loss: bool,
) -> EndsWalk:
    """Walk what stands before and after the layers, forward and backward."""
    ctx = Context(_tape(setup, accumulating), setup, batch, sequence)
    tape, meter = ctx.tape, ctx.tape.meter
    ids = tape.new((batch, sequence), "int64")
    x, embed_locals, input_stays = embed(ctx, architecture, ids)
    model_locals = positions_and_masks(ctx, list(architecture.kinds), tape)
    start = _peak(meter)
    input_dtype, input_shape = x.dtype, x.shape
    way_back = Tensor(Storage(meter, 0, TEMPORARY), input_shape, input_dtype, x.node, x.slot) if x.node else None
    del x
    held_in_forward = meter.now

    meter.restart()
    last = [tape.leaf((batch, sequence, architecture.hidden_size), last_dtype, needs_grad=last_needs_grad)]
    state = finish(ctx, architecture, last, ids, embed_locals, model_locals, with_loss, lambda: _end_of_model(meter))
    model_end, loss_peak = state.model_end, _peak(meter)
    tape.release_casts()
    forward_end = _now(meter)
    if setup.stack.releases_outputs:
        state.logits = None

    meter.restart()
    if state.loss is not None and state.loss.needs_grad:
        tape.backward(state.loss)
    state.loss = None
    loss_backward, held_in_backward = _peak(meter), _now(meter)

    meter.restart()
    if way_back is not None and way_back.node is not None and with_loss:
        tape.backward(way_back)
    way_back = None
    embedding_backward = _peak(meter)
    state.logits = None
    ctx.cos = ctx.sin = None
    ctx.other_positions.clear()
    ctx.masks.clear()
    ctx.held_by_checkpoints.clear()
    gradients = meter.tally[GRADIENTS]
    return EndsWalk(
        start=start,
        held_in_forward=held_in_forward,
        input_stays=input_stays,
        model_end=model_end,
        loss=loss_peak,
        forward_end=forward_end,
        loss_backward=loss_backward,
        held_in_backward=held_in_backward,
        embedding_backward=embedding_backward,
        gradients=gradients,
        backward_end=meter.now - gradients,
        ledger=tuple(tape.kept),
    )


def _end_of_model(meter: Meter) -> Peak:
    peak = _peak(meter)
    meter.restart()
    return peak
