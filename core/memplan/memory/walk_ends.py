"""The walk of what stands outside the layers: embeddings before; final norm, head and loss after.

A stage of a pipeline may have neither: it receives the first layer's input, and sends the last one's output on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from memplan.architecture.parts import Architecture
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.model import LossState, embed, finish, given_ids, positions_and_masks
from memplan.memory.blocks.sharing import beginning, cuts_prompts, held_heads, layer_inputs
from memplan.memory.blocks.streams import begun, several
from memplan.memory.peak import Peak, now_of, peak_of, tape_for, way_back_from
from memplan.memory.recording import Ledger, Reading, Recordings
from memplan.memory.setup import Setup
from memplan.memory.storage import GRADIENTS, Meter, Size
from memplan.memory.tape import Tape, Tensor


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
    casts: Size
    """Autocast's copies of weights."""
    backward_end: Size
    """Ids and whatever else stays, without gradients."""
    masks: dict[int | None, Size]
    """Masks by window that checkpoints hold until the first layer that reads them is through."""
    ledger: Ledger
    places: tuple[str, str, str] = ("embeddings", "final norm", "loss")
    """What stands before the layers, behind them, and where backward begins, in words."""


@lru_cache(maxsize=512)
def walk_ends(
    architecture: Architecture,
    setup: Setup,
    batch: Size,
    sequence: Size,
    last_dtype: str,
    last_needs_grad: bool,
    accumulating: bool,
    with_loss: bool,
) -> EndsWalk:
    """Walk what stands before and after the layers, forward and backward."""
    recordings = _recordings(architecture, setup, last_dtype, last_needs_grad, accumulating, with_loss)
    return recordings.at(batch, sequence)


def _read(walk: EndsWalk, reading: Reading) -> EndsWalk:
    """A recorded walk in bytes."""
    return EndsWalk(
        start=reading.peak(walk.start),
        held_in_forward=reading.amount(walk.held_in_forward),
        input_stays=walk.input_stays,
        model_end=reading.peak(walk.model_end),
        loss=reading.peak(walk.loss),
        forward_end=reading.peak(walk.forward_end),
        loss_backward=reading.peak(walk.loss_backward),
        held_in_backward=reading.peak(walk.held_in_backward),
        embedding_backward=reading.peak(walk.embedding_backward),
        gradients=reading.amount(walk.gradients),
        casts=reading.amount(walk.casts),
        backward_end=reading.amount(walk.backward_end),
        masks={window: reading.amount(mask) for window, mask in walk.masks.items()},
        ledger=walk.ledger.read(reading),
        places=walk.places,
    )


@lru_cache(maxsize=256)
def _recordings(
    architecture: Architecture,
    setup: Setup,
    last_dtype: str,
    last_needs_grad: bool,
    accumulating: bool,
    with_loss: bool,
) -> Recordings[EndsWalk]:
    """The walks of the ends, whatever batch and sequence."""

    def walk(meter: Meter, batch: Size, sequence: Size) -> EndsWalk:
        tape: Tape = tape_for(setup, accumulating, meter)
        return walk_ends_on(tape, architecture, setup, batch, sequence, last_dtype, last_needs_grad, with_loss)

    return Recordings(walk, _read)


def walk_ends_on(
    tape: Tape,
    architecture: Architecture,
    setup: Setup,
    batch: Size,
    sequence: Size,
    last_dtype: str,
    last_needs_grad: bool,
    with_loss: bool,
) -> EndsWalk:
    """Walk what stands before and after the layers on a tape of the caller's."""
    ctx, meter = Context(tape, setup.outside, batch, sequence), tape.meter
    ids, so_far = given_ids(ctx, architecture.vocab_size)
    hidden = (*several(architecture.streams), batch, ctx.rows, architecture.hidden_size)
    x, embed_locals, input_stays = (
        _embedded(ctx, architecture, ids)
        if architecture.starts
        else (tape.leaf(hidden, last_dtype, needs_grad=setup.trains), [], True)
    )
    model_locals = positions_and_masks(ctx, list(architecture.kinds), tape) + held_heads(ctx, architecture)
    held = ctx.masks.items() if setup.checkpointing and last_needs_grad else ()
    masks = {window: mask.storage.num_bytes for window, mask in held if mask is not None}
    start, way_back = _noted(meter), way_back_from(meter, beginning(ctx, x))
    del x
    held_in_forward = meter.now
    last = [tape.leaf(_behind_layers(architecture, setup, hidden), last_dtype, needs_grad=last_needs_grad)]
    state = finish(ctx, architecture, last, ids, embed_locals, model_locals, with_loss, lambda: _noted(meter))
    loss_peak = peak_of(meter)
    casts, forward_end = _forward_over(ctx, so_far)
    if setup.stack.releases_outputs:
        state.logits = None
    loss_backward, held_in_backward, embedding_backward = _backward(ctx, state, way_back, with_loss)
    way_back = state.logits = None
    return EndsWalk(
        start=start,
        held_in_forward=held_in_forward,
        input_stays=input_stays,
        model_end=state.model_end,
        loss=loss_peak,
        forward_end=forward_end,
        loss_backward=loss_backward,
        held_in_backward=held_in_backward,
        embedding_backward=embedding_backward,
        gradients=meter.tally[GRADIENTS],
        casts=casts,
        backward_end=meter.now - meter.tally[GRADIENTS],
        masks=masks,
        ledger=Ledger(tuple(tape.kept)),
        places=_places(architecture),
    )


def _behind_layers(architecture: Architecture, setup: Setup, hidden: tuple[Size, ...]) -> tuple[Size, ...]:
    """The shape of the last layer's output: one row of a prompt where the last layers read no more."""
    return (*hidden[:-2], 1, hidden[-1]) if cuts_prompts(architecture, setup) else hidden


def _embedded(ctx: Context, architecture: Architecture, ids: Tensor) -> tuple[Tensor, list[Tensor], bool]:
    """What `embed` gives; and the inputs of all layers are made of it where there are some."""
    x, held, input_stays = embed(ctx, architecture, ids)
    if architecture.layer_inputs is None:
        return x, held, input_stays
    if ctx.setup.first_input_is_bare(architecture.tokens, architecture.tied) and architecture.streams is not None:
        ctx.tape.bare_input = x.storage
    ctx.layer_inputs = layer_inputs(ctx, architecture.layer_inputs, ids, x)
    if architecture.streams is None:
        return x, held, not x.storage.kept
    held.append(x)
    return begun(ctx, architecture.streams, x, held), held, False


def _forward_over(ctx: Context, so_far: list[Tensor]) -> tuple[Size, Peak]:
    """Autocast's copies of weights, and what is alive when forward is over.

    Where text is generated the copies stay, and the new token's logits take the place of the last one's.
    """
    casts = ctx.tape.cast_bytes()
    if ctx.setup.cache == "none":
        ctx.tape.release_casts()
    del so_far[-1:]
    end = now_of(ctx.tape.meter)
    so_far.clear()
    return casts, end


def _backward(
    ctx: Context, state: LossState[Peak], way_back: Tensor | None, with_loss: bool
) -> tuple[Peak, Peak, Peak]:
    """Through the loss, what is alive while the layers run back, and through the embeddings."""
    tape, meter = ctx.tape, ctx.tape.meter
    meter.restart()
    if state.loss is not None and state.loss.needs_grad:
        tape.backward(state.loss)
    state.loss = None
    loss_backward, held_in_backward = _noted(meter), now_of(meter)
    ctx.release_shared()  # the layers are through, and with them whatever held these
    if way_back is not None and with_loss:
        tape.backward(way_back)
    return loss_backward, held_in_backward, peak_of(meter)


def _places(architecture: Architecture) -> tuple[str, str, str]:
    """What stands before the layers, behind them, and where backward begins."""
    first = "embeddings" if architecture.starts else "stage's input"
    return (first, "final norm", "loss") if architecture.ends else (first, "stage's output", "stage's output")


def _noted(meter: Meter) -> Peak:
    """The peak until now; the next one starts from what is alive."""
    peak = peak_of(meter)
    meter.restart()
    return peak
