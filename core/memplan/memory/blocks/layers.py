"""Feed-forward blocks, mixtures of experts, and the decoder layer around them."""

from __future__ import annotations

from memplan.architecture.parts import Activation, Experts, Layer, Mlp
from memplan.memory import operations as op
from memplan.memory.blocks.attention import attention
from memplan.memory.blocks.context import Context
from memplan.memory.tape import Grads, Tape, Tensor


def layer(ctx: Context, spec: Layer, x: Tensor) -> Tensor:
    """One decoder layer: hidden states in, hidden states out."""
    if spec.parallel:
        return _parallel_layer(ctx, spec, x)
    tape = ctx.tape
    residual = x
    x = ctx.norm(None if spec.post_norm else spec.attention_norm, x)
    x = op.dropout(tape, attention(ctx, spec.attention, x), spec.dropout)
    x = ctx.norm(spec.attention_out_norm, x)
    x = op.add(tape, residual, x)
    x = ctx.norm(spec.attention_norm if spec.post_norm else None, x)
    residual = x
    x = ctx.norm(None if spec.post_norm else spec.mlp_norm, x)
    x = op.dropout(tape, feed_forward(ctx, spec.mlp, x), spec.dropout)
    x = ctx.norm(spec.mlp_out_norm, x)
    x = op.add(tape, residual, x)
    return ctx.norm(spec.mlp_norm if spec.post_norm else None, x)


def _parallel_layer(ctx: Context, spec: Layer, x: Tensor) -> Tensor:
    tape = ctx.tape
    attended = op.dropout(tape, attention(ctx, spec.attention, ctx.norm(spec.attention_norm, x)), spec.dropout)
    fed = op.dropout(tape, feed_forward(ctx, spec.mlp, ctx.norm(spec.mlp_norm, x)), spec.dropout)
    return op.add(tape, op.add(tape, fed, attended), x)


def feed_forward(ctx: Context, spec: Mlp | Experts, x: Tensor) -> Tensor:
    """The layer's feed-forward block."""
    if isinstance(spec, Experts):
        return _experts(ctx, spec, x)
    tape, name = ctx.tape, spec.name
    if spec.fused:
        gate, up = _halves(tape, ctx.linear(spec.up, x, name))
        del x
        with tape.inside(f"{name}.act"):
            gate = activation(tape, gate, spec.activation)
            up = op.mul(tape, up, gate, role_a="up", role_b="act(gate)")
        return ctx.linear(spec.down, up, name)
    if spec.gate is None:
        x = ctx.linear(spec.up, x, name)
        with tape.inside(f"{name}.act"):
            x = activation(tape, x, spec.activation)
        return ctx.linear(spec.down, x, name)
    gate = ctx.linear(spec.gate, x, name)
    with tape.inside(f"{name}.act"):
        gate = activation(tape, gate, spec.activation)
    up = ctx.linear(spec.up, x, name)
    with tape.inside(f"{name}.act"):
        product = op.mul(tape, gate, up, role_a="act(gate)", role_b="up")
    del gate, up
    return ctx.linear(spec.down, product, name)


def activation(tape: Tape, x: Tensor, kind: Activation) -> Tensor:
    """silu, gelu and its variants, relu."""
    if kind == "relu":
        return op.pointwise_by_output(tape, x, "relu")
    if kind == "gelu_new":
        return _gelu_new(tape, x)
    return op.pointwise(tape, x, "activation input")


def _gelu_new(tape: Tape, x: Tensor) -> Tensor:
    """0.5 * x * (1 + tanh(c * (x + 0.044715 * x**3))), step by step; the power runs in fp32 under autocast."""
    half = op.times(tape, x)
    cube = op.times(tape, _cube(tape, op.to(tape, x, "fp32") if tape.autocast else x))
    inner = op.times(tape, op.add(tape, x, cube))
    del cube
    outer = op.plus_constant(tape, op.pointwise_by_output(tape, inner, "tanh"))
    del inner
    return op.mul(tape, half, outer, role_a="x / 2", role_b="1 + tanh")


def _cube(tape: Tape, x: Tensor) -> Tensor:
    """x ** 3; keeps x."""
    needs = tape.needs_grad(x)
    kept = tape.keep(x, "activation input") if needs else None
    output = tape.new(x.shape, x.dtype)
    if not needs:
        return output
    shape, dtype = x.shape, x.dtype

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        square = tape.new(shape, dtype)
        tripled = tape.new(shape, dtype)
        del square
        result = tape.new(shape, dtype)
        del tripled, held
        return (result,)

    return tape.record(output, (x,), run)


def _halves(tape: Tape, fused: Tensor) -> tuple[Tensor, Tensor]:
    """gate and up as views of one product; their gradients are joined in a tensor of its size."""
    half, whole = (*fused.shape[:-1], fused.shape[-1] // 2), fused.shape
    views = Tensor(fused.storage, half, fused.dtype), Tensor(fused.storage, half, fused.dtype)
    if tape.needs_grad(fused):

        def run(grads: list[Tensor | None]) -> Grads:
            dtype = next(grad.dtype for grad in grads if grad is not None)
            return (tape.new(whole, dtype),)

        node = tape.node((fused,), run, num_outputs=2)
        for slot, one in enumerate(views):
            one.node, one.slot = node, slot
    return views


def _experts(ctx: Context, spec: Experts, x: Tensor) -> Tensor:
    """Experts as one gated block over the tokens that they are sent: per_token copies of each."""
    raise NotImplementedError
