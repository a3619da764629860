"""Feed-forward blocks, mixtures of experts, and the decoder layer around them."""

from __future__ import annotations

from memplan.architecture.expert_parts import Experts
from memplan.architecture.latent_parts import LatentAttention
from memplan.architecture.linear_parts import (
    Beside,
    GatedDelta,
    KimiDelta,
    Mamba,
    Mamba2,
    Nothing,
    ShortConvolution,
    StateMixer,
    StateSpace,
)
from memplan.architecture.parts import Attention, Layer, Mlp
from memplan.architecture.shared_parts import Streams
from memplan.memory import operations as op
from memplan.memory.blocks import litgpt, megatron, torchtune
from memplan.memory.blocks.attention import attention
from memplan.memory.blocks.beside_mlp import experts_beside_mlp
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.delta import gated_delta
from memplan.memory.blocks.experts import experts
from memplan.memory.blocks.gating import activation
from memplan.memory.blocks.kimi_delta import kimi_delta
from memplan.memory.blocks.latent import latent_attention
from memplan.memory.blocks.mamba import mamba
from memplan.memory.blocks.mamba2 import mamba2
from memplan.memory.blocks.mlp import mlp
from memplan.memory.blocks.sharing import by_own_input, times_in_place, with_own_input
from memplan.memory.blocks.state_space import short_convolution, state_space
from memplan.memory.blocks.streams import (
    active,
    added_to_others,
    corrected,
    corrected_scale,
    predicted,
    with_laurel,
)
from memplan.memory.tape import Tensor


def layer(ctx: Context, spec: Layer, x: Tensor) -> Tensor:
    """One decoder layer: hidden states in, hidden states out."""
    if spec.modules_of == "litgpt":
        return litgpt.layer(ctx, spec, x)
    if spec.modules_of == "megatron":
        return megatron.layer(ctx, spec, x)
    if spec.modules_of == "torchtune":
        return torchtune.layer(ctx, spec, x)
    before = _weights_of_the_layer_before(ctx, spec.attention)
    if spec.streams is not None:
        y = _layer_of_streams(ctx, spec, spec.streams, x)
    else:
        y = _parallel_layer(ctx, spec, x) if spec.parallel else _serial_layer(ctx, spec, x)
    if spec.layer_input is not None and spec.streams is None:
        y = with_own_input(ctx, spec.layer_input, y)
    if spec.scaled_in_place:
        y = times_in_place(ctx.tape, y)
    ctx.returned_weights = None
    ctx.layer_locals.clear()
    del before
    return y


def _weights_of_the_layer_before(ctx: Context, spec: object) -> Tensor | None:
    """Families with scores of their own return weights, which the model's loop holds until the next layer is over.

    Without checkpoints they are kept for backward anyway.
    """
    held_anyway = ctx.tape.holding and ctx.setup.trains
    if not isinstance(spec, Attention) or spec.scores in ("kernel", "gpt", "granite_swa", "xglm") or held_anyway:
        return None
    if spec.scores == "falcon" and ctx.setup.attention != "eager":
        return None
    dtype = ctx.setup.unpacked_dtype if ctx.setup.packed else ctx.tape.autocast or ctx.setup.unpacked_dtype
    return ctx.tape.new((ctx.batch, spec.heads, ctx.sequence, ctx.keys(spec.window)), dtype)


def _serial_layer(ctx: Context, spec: Layer, x: Tensor) -> Tensor:
    tape = ctx.tape
    if isinstance(spec.attention, Nothing):
        return op.add(tape, x, feed_forward(ctx, spec.mlp, ctx.norm(spec.mlp_norm, x)))
    if spec.mlp is None:
        return _mixer_alone(ctx, spec, x)
    residual = x
    x = ctx.norm(None if spec.post_norm else spec.attention_norm, x)
    normed = x if spec.holds_norm != "no" else None
    x = op.dropout(tape, mixer(ctx, spec.attention, x), spec.dropout if spec.drops_attention else 0.0)
    x = ctx.norm(spec.attention_out_norm, x)
    attended = x if spec.holds_attention else None
    x = _added(ctx, spec, residual, x)
    ctx.attention_locals.clear()
    x = ctx.norm(spec.attention_norm if spec.post_norm else None, x)
    residual = x
    x = ctx.norm(None if spec.post_norm else spec.mlp_norm, x)
    normed = normed if spec.holds_norm == "until_end" else None
    given = [x]
    del x
    if isinstance(spec.mlp, Experts) and spec.mlp.beside is not None:
        x = experts_beside_mlp(ctx, spec.mlp, given, residual)
    else:
        x = op.dropout(tape, _fed(ctx, spec.mlp, given), spec.dropout)
    x = ctx.norm(spec.mlp_out_norm, x)
    x = _added(ctx, spec, residual, x)
    del attended, normed
    return ctx.norm(spec.mlp_norm if spec.post_norm else None, x)


def _mixer_alone(ctx: Context, spec: Layer, x: Tensor) -> Tensor:
    """A layer without a feed-forward block. Mamba's residual is in fp32, and its norm reads a cast of it."""
    tape, mixed = ctx.tape, spec.attention
    if not (isinstance(mixed, StateSpace) and mixed.wide_residual):
        return op.add(tape, x, mixer(ctx, mixed, ctx.norm(spec.attention_norm, x)))
    normed = ctx.norm(spec.attention_norm, op.to(tape, x, ctx.setup.norms_dtype or ctx.setup.unpacked_dtype))
    return op.add(tape, op.to(tape, x, "fp32"), mixer(ctx, mixed, normed))


def _layer_of_streams(ctx: Context, spec: Layer, streams: Streams, x: Tensor) -> Tensor:
    """Gemma 3n's layer, every step of which has a name of its own in the layer's function."""
    tape, named = ctx.tape, ctx.layer_locals
    predictions = predicted(ctx, streams, x)
    one = active(tape, predictions)
    normed = ctx.norm(spec.attention_norm, one)
    beside = with_laurel(ctx, streams, normed)
    named += [predictions, normed, beside]
    attended = ctx.norm(spec.attention_out_norm, mixer(ctx, spec.attention, normed))
    gated = op.add(tape, one, attended)
    both = op.times(tape, op.add(tape, gated, beside))
    read = ctx.norm(spec.mlp_norm, both)
    named += [attended, gated, both, read]
    fed = feed_forward(ctx, spec.mlp, read)
    fed_normed = ctx.norm(spec.mlp_out_norm, fed)
    ran = op.add(tape, both, fed_normed)
    named += [fed, fed_normed, ran]
    result = corrected(ctx, streams, predictions, ran)
    first = corrected_scale(ctx, streams, result)
    if spec.layer_input is not None:
        first = by_own_input(ctx, spec.layer_input, first)
    return added_to_others(tape, result, first)


def _added(ctx: Context, spec: Layer, residual: Tensor, x: Tensor) -> Tensor:
    """residual + x, or residual + x * number."""
    return op.add(ctx.tape, residual, op.times(ctx.tape, x) if spec.residual_scale else x)


def _parallel_layer(ctx: Context, spec: Layer, x: Tensor) -> Tensor:
    tape = ctx.tape
    # With one norm, or names of their own, what norms make are locals until the layer ends.
    holds = spec.mlp_norm is None or spec.holds_norm == "until_end"
    normed = ctx.norm(spec.attention_norm, x) if holds else None
    read = ctx.norm(spec.mlp_norm, x) if holds and spec.mlp_norm is not None else normed
    attended = mixer(ctx, spec.attention, normed or ctx.norm(spec.attention_norm, x))
    attended = op.dropout(tape, attended, spec.dropout)
    fed = feed_forward(ctx, spec.mlp, read or ctx.norm(spec.mlp_norm, x))
    fed = op.dropout(tape, fed, spec.dropout)
    if spec.residual_first:
        return op.add(tape, op.add(tape, x, attended), fed)
    return op.add(tape, op.add(tape, fed, attended), x)


def mixer(ctx: Context, spec: Attention | LatentAttention | StateMixer, x: Tensor) -> Tensor:
    """What mixes the positions of a sequence, which it sees whole."""
    return ctx.part(_mixer(ctx, spec, ctx.whole(x)))


def _mixer(ctx: Context, spec: Attention | LatentAttention | StateMixer, x: Tensor) -> Tensor:
    if isinstance(spec, GatedDelta):
        return gated_delta(ctx, spec, x)
    if isinstance(spec, ShortConvolution):
        return short_convolution(ctx, spec, x)
    if isinstance(spec, Beside):
        return _beside(ctx, spec, x)
    if isinstance(spec, Mamba2):
        return mamba2(ctx, spec, x)
    if isinstance(spec, KimiDelta):
        return kimi_delta(ctx, spec, x)
    if isinstance(spec, Mamba):
        return mamba(ctx, spec, x)
    if isinstance(spec, StateSpace):
        return state_space(ctx, spec, x)
    if isinstance(spec, LatentAttention):
        return latent_attention(ctx, spec, x)
    assert isinstance(spec, Attention), "the other kinds have blocks of their own"
    return attention(ctx, spec, x)


def _beside(ctx: Context, spec: Beside, x: Tensor) -> Tensor:
    """Both are names of the layer's function, and live until it is through."""
    tape = ctx.tape
    states = op.times(tape, mamba2(ctx, spec.states, x))
    attended = op.times(tape, attention(ctx, spec.attention, op.times(tape, x)))
    ctx.layer_locals += [states, attended]
    return op.add(tape, states, attended)


def _fed(ctx: Context, spec: Mlp | Experts | None, given: list[Tensor]) -> Tensor:
    """The feed-forward block of the one input given. Its caller holds that, unless the block is no module of its own:
    lines of the layer's function then give each result the name of the last (OPT).
    """
    if isinstance(spec, Mlp) and not spec.name and spec.gate is None and not spec.fused:
        with ctx.tape.inside("act"):
            x = activation(ctx.tape, ctx.linear(spec.up, ctx.whole(given.pop()), ""), spec.activation)
        return ctx.part(ctx.linear(spec.down, x, ""))
    return feed_forward(ctx, spec, given[0])


def feed_forward(ctx: Context, spec: Mlp | Experts | None, x: Tensor) -> Tensor:
    """The layer's feed-forward block; its matrices are divided, so it sees the whole sequence as well."""
    assert spec is not None, "a layer without one ends before"
    run = experts if isinstance(spec, Experts) else mlp
    return ctx.part(run(ctx, spec, ctx.whole(x)))  # type: ignore[arg-type]  # each takes its own kind
