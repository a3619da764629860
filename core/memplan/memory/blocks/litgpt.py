"""litgpt's block: one product for queries, keys and values, positions in fp32, LoRA beside the whole product.

Source: litgpt 0.5.13, model.py (Block, CausalSelfAttention, LLaMAMLP, GptNeoxMLP, apply_rope), lora.py (LoRALinear,
LoRAQKVLinear); the order and the names of local variables are theirs, as they decide what lives how long.
"""

from __future__ import annotations

from memplan.architecture.parts import Attention, Layer, Linear, Mlp
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.gating import activation
from memplan.memory.blocks.joining import joined, sliced, split
from memplan.memory.tape import Grads, Parameter, Tape, Tensor, given


def layer(ctx: Context, spec: Layer, x: Tensor) -> Tensor:
    """Hidden states in, hidden states out."""
    assert isinstance(spec.attention, Attention), "litgpt's compositions have no other attention"
    assert isinstance(spec.mlp, Mlp), "litgpt's compositions have no other feed-forward block"
    normed = ctx.norm(spec.attention_norm, x)
    attended = ctx.norm(spec.attention_out_norm, _attention(ctx, spec.attention, normed))
    if spec.parallel:
        normed = ctx.norm(spec.mlp_norm, x) if spec.mlp_norm is not None else normed
        x = op.add(ctx.tape, attended, x)
    else:
        x = op.add(ctx.tape, attended, x)
        normed = ctx.norm(spec.mlp_norm, x)
    return op.add(ctx.tape, ctx.norm(spec.mlp_out_norm, _mlp(ctx, spec.mlp, normed)), x)


def _attention(ctx: Context, spec: Attention, x: Tensor) -> Tensor:
    tape = ctx.tape
    with tape.inside(spec.name):
        fused = _linear(ctx, spec.inputs[0], x, spec.name)
        counts = (spec.heads, spec.kv_heads, spec.kv_heads)
        parts = split(tape, fused, [(ctx.batch, ctx.sequence, count * spec.head_dim) for count in counts])
        shapes = [(ctx.batch, count, ctx.sequence, spec.head_dim) for count in counts]
        q, k = (op.view_with_copied_gradient(tape, *one) for one in zip(parts[:2], shapes[:2], strict=True))
        v = op.view(parts[2], shapes[2])
        q, k = ctx.norm(spec.query_norm, q, spec.name), ctx.norm(spec.key_norm, k, spec.name)
        turned_q, turned_k = _turned(ctx, spec, q), _turned(ctx, spec, k)
        q, k = _with_rest(tape, spec, turned_q, q), _with_rest(tape, spec, turned_k, k)
        if spec.kv_heads != spec.heads:
            k, v = op.copied(tape, k, q.shape), op.copied(tape, v, q.shape)
        # Queries lie head by head once joined, so the kernel's answer does as well, on a device too.
        y = op.copied(tape, products.flash_attention(tape, q, k, v))
        y = op.view(y, (ctx.batch, ctx.sequence, spec.heads * spec.head_dim))
        return _linear(ctx, spec.output, y, spec.name)


def _turned(ctx: Context, spec: Attention, x: Tensor) -> Tensor:
    """apply_rope: products with fp32 tables, then back to the heads' dtype."""
    tape, cos, sin = ctx.tape, ctx.cos, ctx.sin
    assert cos is not None, "the walk makes positions first"
    assert sin is not None, "the walk makes positions first"
    part = sliced(tape, x, (*x.shape[:-1], spec.rotary_dim))
    crossed = op.rotate_half(tape, part)
    straight = op.mul_by_constant(tape, part, cos, "cosines")
    return op.to(tape, op.add(tape, straight, op.mul_by_constant(tape, crossed, sin, "sines")), x.dtype)


def _with_rest(tape: Tape, spec: Attention, turned: Tensor, x: Tensor) -> Tensor:
    rest = sliced(tape, x, (*x.shape[:-1], spec.head_dim - spec.rotary_dim))
    return joined(tape, (turned, rest))


def _mlp(ctx: Context, spec: Mlp, x: Tensor) -> Tensor:
    if spec.gate is None:
        x = _linear(ctx, spec.up, x, spec.name)
        with ctx.tape.inside(f"{spec.name}.act"):
            x = activation(ctx.tape, x, spec.activation)
        return _linear(ctx, spec.down, x, spec.name)
    gate = _linear(ctx, spec.gate, x, spec.name)
    up = _linear(ctx, spec.up, x, spec.name)
    with ctx.tape.inside(f"{spec.name}.act"):
        acted = activation(ctx.tape, gate, spec.activation)
        x = op.mul(ctx.tape, acted, up, role_a="act(gate)", role_b="up")
        del acted
    return _linear(ctx, spec.down, x, spec.name)


def _linear(ctx: Context, spec: Linear, x: Tensor, module: str) -> Tensor:
    """A linear module, plain or packed, and its adapter's product beside it, in the dtype that comes."""
    name, tape, setup = f"{module}.{spec.name}", ctx.tape, ctx.setup
    with tape.inside(name):
        if setup.packs(spec.component):
            whole = _packed_product(ctx, x, spec)
        else:
            weight = ctx.parameter(f"{name}.weight", (spec.outputs, spec.inputs))
            bias = ctx.parameter(f"{name}.bias", (spec.outputs,)) if spec.bias else None
            whole = products.linear(tape, x, weight, bias)
        if not setup.adapts(spec):
            return whole
        delta = _adapter_by_parts(ctx, spec, x, name) if spec.parts else _adapter(ctx, spec, x, name)
        return op.add(tape, whole, op.times(tape, delta))


def _adapter(ctx: Context, spec: Linear, x: Tensor, name: str) -> Tensor:
    a, b = _matrices(ctx, name, (ctx.setup.rank, spec.inputs), (spec.outputs, ctx.setup.rank))
    return products.linear(ctx.tape, products.linear(ctx.tape, op.dropout(ctx.tape, x, ctx.setup.dropout), a), b)


def _adapter_by_parts(ctx: Context, spec: Linear, x: Tensor, name: str) -> Tensor:
    """LoRAQKVLinear: one product for all parts' A, a convolution in groups for their B, zeros where there is none."""
    tape, rank, heads = ctx.tape, ctx.setup.rank, ctx.setup.adapted_heads(spec)
    width = spec.outputs // sum(each for _, each in spec.parts)
    outputs = sum(heads) * width
    a, b = _matrices(ctx, name, (rank * len(heads), spec.inputs), (outputs, rank))
    low = products.linear(tape, op.dropout(tape, x, ctx.setup.dropout), a)
    high = _convolved(tape, low, b, outputs)
    return high if outputs == spec.outputs else _padded(tape, high, spec.outputs)


def _matrices(
    ctx: Context, name: str, shape_a: tuple[int, int], shape_b: tuple[int, int]
) -> tuple[Parameter, Parameter]:
    dtype = ctx.setup.adapter_dtype
    a = ctx.parameter(f"{name}.lora_A", shape_a, dtype=dtype, trains=True)
    return a, ctx.parameter(f"{name}.lora_B", shape_b, dtype=dtype, trains=True)


def _convolved(tape: Tape, x: Tensor, weight: Parameter, outputs: int) -> Tensor:
    """conv1d over the low-rank values, channels first; its backward puts the gradient in that order."""
    before = x.shape
    if tape.autocast is not None:
        x = op.to(tape, x, tape.autocast)
    kept = tape.keep(x, "low-rank values")
    tape.keep_weight()
    output = tape.new((*before[:-1], outputs), x.dtype)

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        reordered = tape.new((*before[:-1], outputs), dtype)
        grad_x, grad_w = tape.new(before, dtype), tape.new(weight.shape, dtype)
        del held, reordered
        return grad_x, grad_w

    return tape.record(output, (x, weight), run)


def _padded(tape: Tape, x: Tensor, width: int) -> Tensor:
    """Values put among zeros by an index; keeps both. Backward takes them out again, a copy."""
    kept = tape.keep(tape.new((x.shape[-1],), "int64"), "index of adapted outputs"), tape.keep(x, "low-rank product")
    output, shape = tape.new((*x.shape[:-1], width), x.dtype), x.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, result = kept, tape.new(shape, given(grads).dtype)
        del held
        return (result,)

    return tape.record(output, (x,), run)


def _packed_product(ctx: Context, x: Tensor, spec: Linear) -> Tensor:
    """bitsandbytes' 4-bit product: its input is kept by old versions, its weight unpacked in both directions."""
    tape, kept = ctx.tape, None
    needs = tape.needs_grad(x)
    if needs and ctx.setup.stack.keeps_packed_inputs:
        kept = tape.keep(x, "input")
    unpacked = tape.new((spec.outputs, spec.inputs), x.dtype)
    output = tape.new((*x.shape[:-1], spec.outputs), x.dtype)
    del unpacked
    if not needs:
        return output
    tape.keep_weight()
    shape = x.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = kept, given(grads).dtype
        unpacked = tape.new((spec.outputs, spec.inputs), dtype)
        result = tape.new(shape, dtype)
        del unpacked, held
        return (result,)

    return tape.record(output, (x,), run)
