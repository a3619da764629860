"""The walk of one layer, forward and backward. Equal layers keep equal tensors, so each kind is walked once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from memplan.architecture.parts import Layer
from memplan.memory.blocks.caching import Left, as_before, in_cache
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.layers import layer as layer_block
from memplan.memory.blocks.model import positions_and_masks
from memplan.memory.blocks.sharing import shares_its_heads, wait
from memplan.memory.blocks.streams import several
from memplan.memory.peak import Peak, peak_of, tape_for, way_back_from
from memplan.memory.recording import Ledger, Reading, Recordings
from memplan.memory.setup import Setup
from memplan.memory.storage import CACHED, GRADIENTS, TEMPORARY, Meter, Size, Storage
from memplan.memory.tape import Kept, Tape, Tensor


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
    casts: Size
    """All of autocast's copies of weights, those that backward needs as well."""
    input_bytes: Size
    output_bytes: Size
    output_dtype: str
    output_needs_grad: bool
    backward: Peak
    """With everything the layer kept and the gradient of its output."""
    stays: Size
    """Held from then on until all layers are through: what shared keys and values were made of once more."""
    gradients: Size
    """Parameter gradients that stay."""
    cache: Size
    """Keys and values that stay cached once the layer is through."""
    cached_before: Size
    """Those of earlier tokens, which are there when it starts, and within `forward`."""
    ledger: Ledger
    """What is held from forward to backward."""
    cache_ledger: Ledger
    """What is cached once the layer is through."""
    recomputed: Ledger
    """What a checkpointed layer holds while its backward runs."""
    cast_ledger: Ledger
    """Autocast's copies that nothing else holds."""


@lru_cache(maxsize=1024)
def walk_layer(
    spec: Layer,
    setup: Setup,
    batch: Size,
    sequence: Size,
    input_dtype: str,
    input_needs_grad: bool,
    accumulating: bool,
    input_is_bare: bool = False,
) -> LayerWalk:
    """Walk one layer forward and backward. A bare input was told to need a gradient without having been made."""
    recordings = _recordings(spec, setup, input_dtype, input_needs_grad, accumulating, input_is_bare)
    return recordings.at(batch, sequence)


def _read(walk: LayerWalk, reading: Reading) -> LayerWalk:
    """A recorded walk in bytes."""
    return LayerWalk(
        forward=reading.peak(walk.forward),
        kept=reading.amount(walk.kept),
        keeps_input=walk.keeps_input,
        cached=reading.amount(walk.cached),
        casts=reading.amount(walk.casts),
        input_bytes=reading.amount(walk.input_bytes),
        output_bytes=reading.amount(walk.output_bytes),
        output_dtype=walk.output_dtype,
        output_needs_grad=walk.output_needs_grad,
        backward=reading.peak(walk.backward),
        stays=reading.amount(walk.stays),
        gradients=reading.amount(walk.gradients),
        cache=reading.amount(walk.cache),
        cached_before=reading.amount(walk.cached_before),
        ledger=walk.ledger.read(reading),
        cache_ledger=walk.cache_ledger.read(reading),
        recomputed=walk.recomputed.read(reading),
        cast_ledger=walk.cast_ledger.read(reading),
    )


@lru_cache(maxsize=256)
def _recordings(
    spec: Layer, setup: Setup, input_dtype: str, input_needs_grad: bool, accumulating: bool, input_is_bare: bool
) -> Recordings[LayerWalk]:
    """The walks of a layer, whatever batch and sequence."""

    def walk(meter: Meter, batch: Size, sequence: Size) -> LayerWalk:
        tape: Tape = tape_for(setup, accumulating, meter)
        return walk_layer_on(tape, spec, setup, batch, sequence, input_dtype, input_needs_grad, input_is_bare)

    return Recordings(walk, _read)


def walk_layer_on(
    tape: Tape,
    spec: Layer,
    setup: Setup,
    batch: Size,
    sequence: Size,
    input_dtype: str,
    input_needs_grad: bool,
    input_is_bare: bool = False,
) -> LayerWalk:
    """Walk one layer on a tape of the caller's: one that tells what it sees, say."""
    ctx = Context(tape, setup.of_layer(spec), batch, sequence)
    meter = tape.meter
    positions_and_masks(ctx, [spec], Tape())  # the model's; they count once, with the ends
    hidden = spec.attention.output.outputs
    if setup.cache == "decode":
        as_before(ctx, spec.attention.window, _left_by_a_token(spec, replace(setup, cache="prefill"), input_dtype))
    cached_before = meter.now
    given = [_input(ctx, (*several(spec.streams), batch), sequence, hidden, input_dtype, input_needs_grad)]
    tape.bare_input = given[0].storage if input_is_bare else None
    done = _forward(ctx, spec, given)
    cache = meter.tally[CACHED]
    kept, num_kept = meter.now - cache, len(tape.kept)
    meter.restart()
    if done.way_back is not None:
        _backward(ctx, spec, done)
    backward, at_end = peak_of(meter), meter.now
    ctx.behind.clear()
    return LayerWalk(
        forward=done.peak,
        kept=kept,
        keeps_input=done.keeps_input,
        cached=done.cached,
        casts=done.casts,
        input_bytes=done.input_bytes,
        output_bytes=done.output_bytes,
        output_dtype=done.output_dtype,
        output_needs_grad=done.needs_grad,
        backward=backward,
        stays=at_end - meter.now,
        gradients=meter.tally[GRADIENTS] - cache,
        cache=cache,
        cached_before=cached_before,
        ledger=Ledger(tuple(tape.kept[:num_kept])),
        cache_ledger=Ledger(tuple(in_cache(ctx, spec.attention))),
        recomputed=Ledger(tuple(tape.kept[num_kept:])),
        cast_ledger=Ledger(done.cast_rows),
    )


def _input(ctx: Context, of: tuple[Size, ...], sequence: Size, hidden: int, dtype: str, needs_grad: bool) -> Tensor:
    """The layer's input; of a prompt that is cut before it, a view of the last row."""
    if ctx.setup.cache == "cut":
        return Tensor(ctx.tape.new((*of, sequence, hidden), dtype).storage, (*of, 1, hidden), dtype)
    return ctx.tape.leaf((*of, ctx.rows, hidden), dtype, needs_grad=needs_grad)


@lru_cache(maxsize=256)
def _left_by_a_token(spec: Layer, setup: Setup, input_dtype: str) -> Left:
    """What a prompt of one token leaves in the layer's cache."""
    tape: Tape = tape_for(setup, False, Meter())
    ctx = Context(tape, setup, 1, 1)
    positions_and_masks(ctx, [spec], tape)
    layer_block(ctx, spec, tape.new((1, 1, spec.attention.output.outputs), input_dtype))
    return Left.of(ctx)


@dataclass(slots=True)
class _Forward:
    """What a layer's forward pass leaves."""

    peak: Peak
    input_bytes: Size
    keeps_input: bool
    output_bytes: Size
    output_dtype: str
    needs_grad: bool
    cached: Size
    casts: Size
    cast_rows: tuple[Kept, ...]
    way_back: Tensor | None
    checkpoint: Tensor | None
    num_packs: int


def _forward(ctx: Context, spec: Layer, given: list[Tensor]) -> _Forward:
    """Run the layer on the one input given. Its caller's reference goes when the layer is over, as the model's does."""
    tape, meter = ctx.tape, ctx.tape.meter
    x = given.pop()
    input_bytes, num_packs = x.storage.num_bytes, 0
    checkpoint = None
    if ctx.setup.checkpointing:
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
    peak, needs_grad = peak_of(meter), y.needs_grad
    way_back, output_bytes, output_dtype = way_back_from(meter, y), y.storage.num_bytes, y.dtype
    del y
    with_cache = meter.now
    casts, cast_rows = tape.cast_bytes(), tuple(tape.only_cached())
    tape.release_casts()
    return _Forward(
        peak=peak,
        input_bytes=input_bytes,
        keeps_input=keeps_input,
        output_bytes=output_bytes,
        output_dtype=output_dtype,
        needs_grad=needs_grad,
        cached=with_cache - meter.now,
        casts=casts,
        cast_rows=cast_rows,
        way_back=way_back,
        checkpoint=checkpoint,
        num_packs=num_packs,
    )


def _backward(ctx: Context, spec: Layer, done: _Forward) -> None:
    """Walk back through the layer, running it again first when it was checkpointed."""
    tape, meter = ctx.tape, ctx.tape.meter
    wait(ctx, spec)
    before = meter.now
    root, done.way_back = done.way_back, None
    assert root is not None, "an output that needs a gradient has a way back"
    again: Tensor | None = None
    if done.checkpoint is not None:
        # The layer is run again when the first step asks for a value; gradients made up to there are alive.
        reentrant = ctx.setup.stack.reentrant
        alive = before + done.output_bytes if reentrant else tape.backward(root, until_held=True)
        arrived = Storage(meter, alive - before, TEMPORARY)
        tape.watched = [] if shares_its_heads(spec) and not reentrant else None
        with tape.recomputing(-1 if reentrant else done.num_packs):
            output = layer_block(ctx, spec, done.checkpoint)
        tape.release_casts()
        root = way_back_from(meter, output)
        assert root is not None, "what needed a gradient needs it again"
        again = output if reentrant else None
        del arrived, output
    tape.backward(root)
    ctx.waiting.clear()
    del again
    done.checkpoint = None  # the checkpoint's own reference to its input outlives the layer's backward steps
