"""Norms over the last axis as each family writes them, operation by operation."""

from __future__ import annotations

from memplan.architecture.parts import NormKind
from memplan.memory import operations as op
from memplan.memory.tape import Parameter, Tape, Tensor


def norm(tape: Tape, kind: NormKind, x: Tensor, weight: Parameter | None, bias: Parameter | None) -> Tensor:
    """A norm of any kind."""
    if kind in ("layer", "fused"):
        return op.layer_norm(tape, x, weight, bias)
    if kind == "fp32_layer":
        return op.to(tape, op.layer_norm(tape, op.to(tape, x, "fp32"), weight, bias), x.dtype)
    if kind == "power_rms":
        return _power_rms_norm(tape, x, weight)
    if kind == "rms":
        return _rms_norm(tape, x, weight, late=False)
    assert weight is not None, "the other kinds have a gain"
    if kind == "layer_1p":
        return _layer_norm_1p(tape, x, weight, bias)
    if kind == "centred":
        return _centred_norm(tape, x, weight)
    if kind == "gemma_rms":
        return _gemma_rms_norm(tape, x, weight)
    if kind == "litgpt_rms":
        return _litgpt_rms_norm(tape, x, weight)
    assert kind == "late_rms", "it is the last one"
    return _rms_norm(tape, x, weight, late=True)


def _rms_norm(tape: Tape, x: Tensor, weight: Parameter | None, *, late: bool) -> Tensor:
    """LlamaRMSNorm: in fp32, back to the input's dtype, then the gain, if any; OLMo 2 has it in fp32 as well."""
    dtype = x.dtype
    x = op.to(tape, x, "fp32")
    variance = op.square_mean(tape, x)
    x = op.mul_by_row_scalar(tape, x, op.rsqrt(tape, op.plus_constant(tape, variance)))
    if weight is None:
        return op.to(tape, x, dtype)
    if late:
        return op.to(tape, op.scale(tape, x, weight), dtype)
    return op.scale(tape, op.to(tape, x, dtype), weight)


def unit_length(tape: Tape, x: Tensor) -> Tensor:
    """x over its root mean square, in fp32 and back (Llama 4's L2 norm)."""
    wide = op.to(tape, x, "fp32")
    inverse = op.rsqrt(tape, op.plus_constant(tape, op.square_mean(tape, wide)))
    return op.to(tape, op.mul_by_row_scalar(tape, wide, inverse), x.dtype)


def _gemma_rms_norm(tape: Tape, x: Tensor, weight: Parameter) -> Tensor:
    """Gemma2RMSNorm: the gain (1 + weight) is applied in fp32, then back to the input's dtype."""
    dtype = x.dtype
    x = op.to(tape, x, "fp32")
    x = op.mul_by_row_scalar(tape, x, op.rsqrt(tape, op.plus_constant(tape, op.square_mean(tape, x))))
    return op.to(tape, op.scale(tape, x, as_tensor(tape, weight, "fp32")), dtype)


def _power_rms_norm(tape: Tape, x: Tensor, weight: Parameter | None) -> Tensor:
    """Gemma4RMSNorm: (mean square + epsilon) ** -0.5, a power, which keeps what it is of; the gain in fp32, if any."""
    dtype = x.dtype
    x = op.to(tape, x, "fp32")
    mean = op.plus_constant(tape, op.square_mean(tape, x))
    x = op.mul_by_row_scalar(tape, x, op.square(tape, mean, "mean square"))
    if weight is not None:
        x = op.scale(tape, x, weight if weight.dtype == "fp32" else as_tensor(tape, weight, "fp32"), weight_first=False)
    return op.to(tape, x, dtype)


def _litgpt_rms_norm(tape: Tape, x: Tensor, weight: Parameter) -> Tensor:
    """litgpt's RMSNorm: x * x for the square, the gain in fp32, then back to the input's dtype."""
    dtype = x.dtype
    x = op.to(tape, x, "fp32")
    variance = op.mean(tape, op.mul(tape, x, x, role_a="input in fp32", role_b="input in fp32"))
    normed = op.mul_by_row_scalar(tape, x, op.rsqrt(tape, op.plus_constant(tape, variance)))
    gain = weight if weight.dtype == "fp32" else as_tensor(tape, weight, "fp32")
    return op.to(tape, op.scale(tape, normed, gain), dtype)


def _layer_norm_1p(tape: Tape, x: Tensor, weight: Parameter, bias: Parameter | None) -> Tensor:
    """NemotronLayerNorm1P: a layer norm whose gain is 1 + weight; in 16 bit under a device's autocast."""
    dtype = (tape.autocast if tape.on_device else None) or x.dtype
    gain = op.to(tape, as_tensor(tape, weight, weight.dtype), dtype)
    shift = bias if bias is None or bias.dtype == dtype else op.to(tape, as_tensor(tape, bias, bias.dtype), dtype)
    x = op.to(tape, x, dtype)
    with tape.no_autocast():
        return op.layer_norm(tape, x, gain, shift)


def _centred_norm(tape: Tape, x: Tensor, weight: Parameter) -> Tensor:
    """CohereLayerNorm: mean and variance by single operations in fp32."""
    dtype = x.dtype
    x = op.to(tape, x, "fp32")
    mean = op.mean(tape, x)
    variance = op.square_mean(tape, op.minus_row_scalar(tape, x, mean))
    x = op.mul_by_row_scalar(tape, op.minus_row_scalar(tape, x, mean), op.rsqrt(tape, op.plus_constant(tape, variance)))
    gain = weight if weight.dtype == "fp32" else as_tensor(tape, weight, "fp32")
    return op.to(tape, op.scale(tape, x, gain), dtype)


def as_tensor(tape: Tape, weight: Parameter, dtype: str) -> Tensor:
    """A tensor made of a weight alone (1 + weight, a cast): the gradient passes."""
    made = tape.new(weight.shape, dtype)
    return tape.record(made, (weight,), lambda grads: (grads[0],)) if tape.needs_grad(weight) else made
