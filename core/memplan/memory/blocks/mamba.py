"""Mamba's mixer as transformers runs it without fused kernels: a state for each position, made one after the other.

Source: transformers 5.24, models/mamba/modeling_mamba.py (mamba_selective_scan), the same in every family that has it.
"""

from __future__ import annotations

from memplan.architecture.linear_parts import Mamba
from memplan.memory import operations as op
from memplan.memory.blocks.caching import state
from memplan.memory.blocks.context import Context
from memplan.memory.blocks.convolution import as_weights_and_back, causal_convolution, exponential_of
from memplan.memory.blocks.gating import activation
from memplan.memory.blocks.joining import split
from memplan.memory.blocks.state_space import state_space
from memplan.memory.norms import as_tensor
from memplan.memory.products import linear
from memplan.memory.storage import Size
from memplan.memory.tape import Grads, Tape, Tensor


def mamba(ctx: Context, spec: Mamba, x: Tensor) -> Tensor:
    """The module as a trace runs it. On a device fused kernels are walked in its place."""
    tape, rows = ctx.tape, (ctx.batch, ctx.sequence)
    if ctx.past or tape.on_device:
        return state_space(ctx, spec, x)
    with tape.inside(spec.name):
        whole = ctx.linear(spec.inputs[0], x, spec.name)
        rate = op.times(tape, exponential_of(tape, ctx.parameter(f"{spec.name}.A_log", (spec.width, spec.state_size))))
        value, gate = split(tape, whole, [(*rows, spec.width)] * 2, reordered=ctx.batch > 1)
        state(ctx, ((ctx.batch, spec.width, spec.kernel), value.dtype))
        value = causal_convolution(
            ctx,
            f"{spec.name}.conv1d",
            as_weights_and_back(ctx, value),
            spec.width,
            spec.kernel,
            in_order=True,
            biased=spec.conv_bias,
        )
        steps, b, c, held = _read(ctx, spec, value)
        scanned = _scan(ctx, spec, (value, steps, b, c), rate, gate)
        state(ctx, ((ctx.batch, spec.state), spec.state_dtype or x.dtype))
        output = op.to(tape, scanned, x.dtype)
        del scanned, held
        return ctx.linear(spec.output, _in_rows(ctx, output), spec.name)


def _in_rows(ctx: Context, x: Tensor) -> Tensor:
    """What stands channel by channel, put in order by a product that reads several sequences."""
    return op.copied(ctx.tape, x) if ctx.batch > 1 else x


def _read(ctx: Context, spec: Mamba, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Time steps, inputs and outputs of the state, read off the convolved values; and a local of the function."""
    tape, rows, size = ctx.tape, (ctx.batch, ctx.sequence), spec.state_size
    reads, steps = spec.inner
    small = ctx.linear(reads, _in_rows(ctx, x), spec.name)
    parts = split(tape, small, [(*rows, width) for width in (steps.inputs, size, size)])
    low, b, c = (_normed(ctx, spec, one, name) for one, name in zip(parts, ("dt", "b", "c"), strict=True))
    weight = ctx.parameter(f"{spec.name}.{steps.name}.weight", (steps.outputs, steps.inputs))
    made = op.copied(tape, linear(tape, low, weight))
    bias = as_tensor(tape, ctx.parameter(f"{spec.name}.{steps.name}.bias", (steps.outputs,)), "fp32")
    shifted = op.plus_row(tape, made, op.to(tape, bias, made.dtype))
    if tape.autocast is not None:
        shifted = op.to(tape, shifted, "fp32")
    return op.pointwise(tape, shifted, "softplus input"), b, c, made


def _normed(ctx: Context, spec: Mamba, x: Tensor, name: str) -> Tensor:
    if spec.norms == "no":
        return x
    gains = {norm.name.partition("_")[0]: norm for norm in spec.read_norms}
    if spec.norms == "with_gain":
        return ctx.norm(gains[name], x, spec.name)
    tape, wide = ctx.tape, op.to(ctx.tape, x, "fp32")
    inverse = op.rsqrt(tape, op.plus_constant(tape, op.square_mean(tape, wide)))
    return op.to(tape, op.mul_by_row_scalar(tape, wide, inverse), x.dtype)


def _scan(ctx: Context, spec: Mamba, parts: tuple[Tensor, ...], rate: Tensor, gate: Tensor) -> Tensor:
    """Decays and inputs of all positions at once, then a state for each; skip and gate in fp32."""
    tape, (value, steps, b, c) = ctx.tape, parts
    full = (ctx.batch, ctx.sequence, spec.width, spec.state_size)
    decays = op.pointwise_by_output(tape, _spread_product(tape, rate, steps, full, ("rate", "time steps")), "decay")
    inputs = _spread_product(tape, steps, op.to(tape, b, "fp32"), full, ("time steps", "B"))
    fed = _spread_product(tape, inputs, op.to(tape, value, "fp32"), full, ("inputs of the state", "values"))
    found, outputs = _states(ctx, decays, fed, c)
    skip = as_tensor(tape, ctx.parameter(f"{spec.name}.D", (spec.width,)), "fp32")
    skipped = op.add(tape, found, op.scale(tape, value, skip, weight_first=False))
    opened = activation(tape, gate, "silu")
    result = op.mul(tape, skipped, opened, role_a="scanned", role_b="gate")
    del outputs, fed, inputs, decays
    return result


def _spread_product(tape: Tape, a: Tensor, b: Tensor, shape: tuple[Size, ...], roles: tuple[str, str]) -> Tensor:
    """a * b, each spread out to a shape; keeps both. Full gradients are made of both, then summed."""
    a_needs, b_needs = tape.needs_grad(a), tape.needs_grad(b)
    kept = (tape.keep(a, roles[0]) if b_needs else None, tape.keep(b, roles[1]) if a_needs else None)
    output = tape.new(shape, "fp32")
    if not (a_needs or b_needs):
        return output
    narrow = tuple(None if one.shape == shape else one.shape for one in (a, b))

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        results = [tape.new(shape, "fp32") if needs else None for needs in (a_needs, b_needs)]
        for index, one in enumerate(narrow):
            if results[index] is not None and one is not None:
                results[index] = tape.new(one, "fp32")
        del held
        return tuple(results)

    return tape.record(output, (a, b), run)


def _states(ctx: Context, decays: Tensor, fed: Tensor, c: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """One step here, however many positions: each keeps its state, and a 16-bit copy that C reads.

    Returns the outputs side by side, and what is held until the scan is over: those of each position, the last state.
    """
    tape, dtype = ctx.tape, c.dtype
    one, whole = (ctx.batch, decays.shape[2], decays.shape[3]), decays.shape
    needs = tape.needs_grad(decays, fed, c)
    first = tape.new(one, dtype)
    passing = [tape.new(one, "fp32") for _ in range(2)]
    last = tape.new(one, "fp32")
    del passing
    before = (whole[0], whole[1] - 1, *whole[2:])
    states, casts = tape.new(before if tape.holding and needs else one, "fp32"), None
    if dtype != "fp32":
        casts = tape.new(whole if tape.holding and needs else one, dtype)
    outputs = tape.new((ctx.sequence, ctx.batch, decays.shape[2]), dtype)
    found = tape.new((ctx.batch, ctx.sequence, decays.shape[2]), dtype)
    if not needs:
        return found, (outputs, last)
    read = [tape.keep(part, "of the walk over positions") for part in (decays, first, states, c)]
    read.append(tape.keep(casts, "states in 16 bit") if casts is not None else None)
    del first, states, casts
    c_shape = c.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held = read
        results = [tape.new(whole, "fp32") for _ in range(2)]
        grad_c = tape.new(c_shape, dtype)
        adding = [tape.new(whole, "fp32") for _ in range(2)]  # a position's gradient in zeros, and the new sum
        del adding, held
        return (*results, grad_c)

    return tape.record(found, (decays, fed, c), run), (outputs, last)
