"""Matrix products, attention, embedding and loss: what each makes, keeps for backward, and makes in backward."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.memory.operations import copied, to
from memplan.memory.storage import Size, Storage
from memplan.memory.tape import CAST, Gathered, Grads, Parameter, Tape, Tensor, given


def weight_cast(tape: Tape, weight: Parameter, dtype: str, *, caches: bool = True) -> Tensor | Parameter:
    """Autocast's 16-bit copy of a weight: cached until autocast ends when it trains, made at each use when frozen."""
    if weight.dtype == dtype:
        return weight
    if weight.cast is not None:
        return weight.cast
    if caches and tape.has_casts:
        return Tensor(Storage(tape.meter, 0, tape.kind), weight.shape, dtype)
    output = tape.new(weight.shape, dtype)
    if tape.needs_grad(weight):
        tape.record(output, (weight,), lambda grads: (tape.new(given(grads).shape, weight.dtype),))
    if caches and (weight.trainable or not tape.trains):
        weight.cast = output
        tape.casts.append(weight)
    return output


def input_cast(tape: Tape, x: Tensor, dtype: str) -> Tensor:
    """Autocast's 16-bit copy of a product's input: made at each use, but of a bare input cached as a weight's is."""
    if tape.bare_input is not x.storage or x.dtype != "fp32":
        return to(tape, x, dtype)
    if tape.bare_cast is None:
        tape.bare_cast = to(tape, x, dtype)
    return tape.bare_cast


def linear(
    tape: Tape, x: Tensor, weight: Parameter, bias: Parameter | None = None, *, caches_cast: bool = True
) -> Tensor:
    """x @ weight.T + bias. Keeps x when the weight trains, and the weight when x needs a gradient."""
    if tape.autocast is not None and tape.recasts_weights:
        return _recast_linear(tape, x, weight, bias, tape.autocast)
    w: Tensor | Parameter = weight
    b: Tensor | Parameter | None = bias
    if tape.autocast is not None:
        b = weight_cast(tape, bias, tape.autocast) if bias is not None else None
        w = weight_cast(tape, weight, tape.autocast, caches=caches_cast)
        x = input_cast(tape, x, tape.autocast)
    weight_trains, input_needs = tape.needs_grad(w), tape.needs_grad(x)
    bias_trains = b is not None and tape.needs_grad(b)
    kept_x = tape.keep(x, "input") if weight_trains else None
    kept_w = None
    if input_needs and isinstance(w, Tensor):
        kept_w = tape.keep(w, CAST)
    elif input_needs:
        tape.keep_weight()
    output = tape.new((*x.shape[:-1], weight.shape[0]), x.dtype)
    if not (weight_trains or input_needs or bias_trains):
        return output
    x_shape, w_shape, has_bias = x.shape, weight.shape, b is not None
    gathers_again = weight_trains and x.__class__ is Gathered

    def run(grads: list[Tensor | None]) -> Grads:
        # mm makes the weight's gradient first, addmm the input's; both stay until the step is over.
        dtype = given(grads).dtype
        held = (kept_x, kept_w, tape.new(x_shape, dtype) if gathers_again else None)
        if not has_bias:
            grad_w = tape.new(w_shape, dtype) if weight_trains else None
            grad_x = tape.new(x_shape, dtype) if input_needs else None
            del held
            return grad_x, grad_w
        grad_x = tape.new(x_shape, dtype) if input_needs else None
        grad_w = tape.new(w_shape, dtype) if weight_trains else None
        grad_b = tape.new(w_shape[:1], dtype) if bias_trains else None
        del held
        return grad_x, grad_w, grad_b

    return tape.record(output, (x, w, b) if has_bias else (x, w), run)


def _recast_linear(tape: Tape, x: Tensor, weight: Parameter, bias: Parameter | None, dtype: str) -> Tensor:
    """The same by ZeRO-3's own function under autocast: what it keeps is not cast, and each product casts again.

    The product reads the weight's transpose, a view, whose cast autocast does not remember; backward makes a stretch of
    autocast for each module. Source: DeepSpeed 0.19, runtime/zero/linear.py (LinearFunctionForZeroStage3), which takes
    the place of torch.nn.functional.linear unless memory_efficient_linear is off; PyTorch 2.13, autocast_mode.cpp
    (cached_cast: leaves that are no views). Seen on a CPU: of four weights' casts none is alive after forward.
    """
    inputs = (x, weight, bias) if bias is not None else (x, weight)
    x_dtype, x_shape, w_shape, recorded = x.dtype, x.shape, weight.shape, tape.needs_grad(*inputs)
    kept_x = tape.keep(x, "input") if recorded else None
    for _ in inputs[1:]:
        if recorded:
            tape.keep_weight()

    def cast(shape: tuple[Size, ...], of: str) -> Tensor | None:
        return tape.new(shape, dtype) if of != dtype else None

    casts = [cast(x_shape, x_dtype), cast(w_shape, weight.dtype)]
    output = tape.new((*x_shape[:-1], w_shape[0]), dtype)
    casts.clear()
    if not recorded:
        return output
    input_needs, weight_trains, num_inputs = tape.needs_grad(x), weight.trainable, len(inputs)
    bias_trains = bias is not None and bias.trainable

    def run(grads: list[Tensor | None]) -> Grads:
        made, held_w = given(grads).dtype, cast(w_shape, weight.dtype) if input_needs else None
        grad_x = tape.new(x_shape, made) if input_needs else None
        held_x = (kept_x, cast(x_shape, x_dtype) if weight_trains else None)
        grad_w = tape.new(w_shape, made) if weight_trains else None
        del held_x, held_w
        grad_b = tape.new(w_shape[:1], made) if bias_trains else None
        return (grad_x, grad_w, grad_b)[:num_inputs]

    return tape.record(output, inputs, run)


def matmul(
    tape: Tape,
    a: Tensor,
    b: Tensor,
    shape: tuple[Size, ...],
    role_a: str,
    role_b: str,
    *,
    copies: tuple[bool, bool] = (False, False),
    scaled: bool = False,
) -> Tensor:
    """A batched product of two activations; keeps both. `copies` names those in an order that it must first undo.

    A product that is scaled in the same operation scales its gradients after their products.
    """
    if tape.autocast is not None:
        b, a = to(tape, b, tape.autocast), to(tape, a, tape.autocast)
    arguments = a, b  # alive until the product is made
    if copies[0]:
        a = copied(tape, a)
    if copies[1]:
        b = copied(tape, b)
    a_needs, b_needs = tape.needs_grad(a), tape.needs_grad(b)
    kept_a = tape.keep(a, role_a) if b_needs else None
    kept_b = tape.keep(b, role_b) if a_needs else None
    output = tape.new(shape, a.dtype)
    del arguments
    if not (a_needs or b_needs):
        return output
    a_shape, b_shape = a.shape, b.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = (kept_a, kept_b), given(grads).dtype
        grad_b = tape.new(b_shape, dtype) if b_needs else None
        if scaled and grad_b is not None:
            grad_b = tape.new(b_shape, dtype)
        grad_a = tape.new(a_shape, dtype) if a_needs else None
        if scaled and grad_a is not None:
            grad_a = tape.new(a_shape, dtype)
        del held
        return grad_a, grad_b

    return tape.record(output, (a, b), run)


def softmax(tape: Tape, x: Tensor, dtype: str) -> Tensor:
    """Softmax in a dtype; keeps its output.

    A device's kernel reads fp16 scores as they are and makes `gradient * output` in its backward; others cast first.
    """
    if not (tape.on_device and x.dtype == "fp16"):
        x = to(tape, x, dtype)
    needs = tape.needs_grad(x)
    output = tape.new(x.shape, dtype)
    if not needs:
        return output
    kept, before = tape.keep(output, "softmax"), x.dtype

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        grad = given(grads)
        product = tape.new(grad.shape, grad.dtype) if tape.on_device else None
        result = tape.new(grad.shape, before)
        del held, product
        return (result,)

    return tape.record(output, (x,), run)


def flash_attention(
    tape: Tape, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, context_parts: int = 1
) -> Tensor:
    """Attention by a fused kernel: keeps q, k, v, its output, one fp32 log-sum-exp a row, a mask; never the scores.

    Where devices divide the sequence, all their keys and values are gathered for the call, and again in backward.
    Source: PyTorch 2.13, tensor/experimental/_context_parallel, _AllGatherRotater (the default way round).
    """
    if tape.autocast is not None:
        v, k, q = (to(tape, one, tape.autocast) for one in (v, k, q))
    needs = tape.needs_grad(q, k, v)
    kept = (tape.keep(q, "queries"), tape.keep(k, "keys"), tape.keep(v, "values")) if needs else None
    kept_mask = tape.keep(mask, "mask") if needs and mask is not None else None
    others = _of_all(tape, (k, v), context_parts)
    output = tape.new((*q.shape[:-1], v.shape[-1]), q.dtype)
    sums = tape.new(q.shape[:-1], "fp32")
    del others
    if not needs:
        return output
    kept_out = (tape.keep(output, "attention output"), tape.keep(sums, "log-sum-exp"))
    shapes = q.shape, k.shape, v.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held, dtype = (kept, kept_out, kept_mask), given(grads).dtype
        others = _of_all(tape, kept[1:], context_parts) if kept else None
        results = tuple(tape.new(shape, dtype) for shape in shapes)
        del held, others
        return results

    return tape.record(output, (q, k, v), run)


def _of_all(tape: Tape, parts: Sequence[Tensor | None], devices: int) -> list[Tensor]:
    """As much as all devices have of these, together."""
    if devices == 1:
        return []
    return [tape.new((devices, *part.shape), part.dtype) for part in parts if part is not None]


def embedding(tape: Tape, ids: Tensor, weight: Parameter) -> Tensor:
    """Rows of a table; keeps the ids. Its gradient is as large as the table."""
    trains = tape.needs_grad(weight)
    kept = tape.keep(ids, "ids") if trains else None
    output = tape.new((*ids.shape, weight.shape[1]), weight.dtype)
    if not trains:
        return output

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept
        result = tape.new(weight.shape, given(grads).dtype)
        del held
        return (result,)

    return tape.record(output, (weight,), run)


def cross_entropy(tape: Tape, logits: Tensor, targets: Tensor) -> Tensor:
    """log-softmax and negative log-likelihood over fp32 logits: keeps the log-softmax and the targets."""
    log_probabilities = tape.new(logits.shape, logits.dtype)
    if tape.needs_grad(logits):
        kept = tape.keep(log_probabilities, "log-softmax")

        def run_softmax(grads: list[Tensor | None]) -> Grads:
            held = kept
            grad = given(grads)
            result = tape.new(grad.shape, grad.dtype)
            del held
            return (result,)

        tape.record(log_probabilities, (logits,), run_softmax)
    needs = tape.needs_grad(log_probabilities)
    kept_in = (tape.keep(log_probabilities, "log-softmax"), tape.keep(targets, "targets")) if needs else None
    loss = tape.new((1,), "fp32")
    weight = tape.new((1,), "fp32")
    if not needs:
        return loss
    kept_weight = tape.keep(weight, "number of targets")
    shape = logits.shape

    def run(grads: list[Tensor | None]) -> Grads:
        held = kept_in, kept_weight
        result = tape.new(shape, given(grads).dtype)
        del held
        return (result,)

    return tape.record(loss, (log_probabilities,), run)
