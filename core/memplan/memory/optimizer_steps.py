"""What an optimizer's step holds for a moment, on top of weights, gradients and states."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from memplan.memory.optimizers import PROJECTED_RANK, RULES, is_hidden_matrix, state_bytes, state_dtype
from memplan.memory.states import HeldTensor, gradient_bytes, has_master
from memplan.memory.storage import rounded
from memplan.number_formats import BYTES_PER_VALUE
from memplan.plan.training import Training

_COPIES_AT_ONCE = {"adagrad": 2}
"""Tensors of the size of all parameters that a foreach step makes, where it is not one."""
_NEVER_FUSED = ("adafactor", "rmsprop", "schedule_free_adamw")
"""Optimizers whose step has no fused kernel on a device: they run as without."""
_IN_PLACE = ("sgd", "sgd_momentum")


def step_temporary_bytes(tensors: tuple[HeldTensor, ...], training: Training) -> int:
    """What `optimizer.step()` holds for a moment.

    foreach: one more tensor of the size of every moment at once (`_foreach_sqrt` of the second moments; Adafactor's
    updates; Adagrad two); for_loop: two tensors of the size of the parameter at hand (Adafactor: one), while the one
    before it is still referred to; fused, plain SGD, and bitsandbytes' and torchao's kernels: none.
    Source: torch 2.13, torch/optim, traced; schedulefree 1.4 on real tensors.

    MLX makes new states beside the old ones, all at once: measured, 12 bytes a parameter in bf16 with AdamW. Gradients
    of earlier micro-batches are held until the update is through (mlx-lm 0.32.2, tuner/trainer.py, step).

    >>> one = HeldTensor("w", (1024, 1024), 1, "bf16", True)
    >>> [step_temporary_bytes((one,), Training(optimizer=name)) >> 20 for name in ("adamw", "adagrad", "adamw_8bit")]
    [2, 4, 0]
    """
    trained = [tensor for tensor in tensors if tensor.trains]
    rule = RULES[training.optimizer]
    if training.kernels == "mlx":
        earlier = sum(gradient_bytes(one, training) for one in trained) if training.gradient_accumulation > 1 else 0
        return sum(state_bytes(tensor, training) for tensor in trained) + earlier
    if training.optimizer == "adafactor" and training.trainer != "none":
        flat = sum(tensor.total_values for tensor in trained if tensor.in_partition)  # one tensor, in fp32
        seen = [HeldTensor("partition", (flat,), 1, "fp32", trains=True)] if flat else trained
        return max((_transformers_adafactor(tensor, training) for tensor in seen), default=0)
    if rule.hidden_only:
        own = [tensor for tensor in trained if is_hidden_matrix(tensor)]
        rest = [tensor for tensor in trained if not is_hidden_matrix(tensor)]
        beside = _torch_step(rest, training, "adamw") if training.optimizer == "muon" else _loop(rest, training, 2)
        return max((beside, *(_of_hidden_matrix(tensor, training) for tensor in own)))
    if rule.format not in ("dtype", "factored") or training.optimizer in _IN_PLACE:
        return 0
    return _torch_step(trained, training, training.optimizer)


def _torch_step(tensors: Sequence[HeldTensor], training: Training, optimizer: str) -> int:
    """A step of PyTorch's own, in the implementation that the plan names."""
    if training.optimizer_impl == "fused" and optimizer not in _NEVER_FUSED:
        return 0
    factored = RULES[optimizer].format == "factored"
    at_once = training.optimizer_impl == "foreach" or (training.optimizer_impl == "fused" and not factored)
    if at_once:
        return _COPIES_AT_ONCE.get(optimizer, 1) * sum(_size(t, training) * t.count for t in tensors)
    return _loop(tensors, training, 1 if factored else 2)


def _loop(tensors: Sequence[HeldTensor], training: Training, own: int) -> int:
    """So many tensors of the size of each parameter in turn, while the last of the one before is still referred to."""
    sizes = [(_size(tensor, training), tensor.count) for tensor in tensors]
    return max((before + own * size for (before, _), (size, _) in pairwise([(0, 1), *sizes])), default=0)


def _size(tensor: HeldTensor, training: Training) -> int:
    return int(rounded(tensor.values * BYTES_PER_VALUE[state_dtype(tensor, training)]))


def _transformers_adafactor(tensor: HeldTensor, training: Training) -> int:
    """Adafactor under the Trainer goes tensor by tensor: gradient and weight in fp32, the square, and the update.

    Source: transformers 5.24, optimization.py, Adafactor.step; on real tensors, 16 bytes a value of the largest one in
    bf16, 8 in fp32, whose gradient and weight are taken as they are.

    >>> table = HeldTensor("embed_tokens", (128256, 4096), 1, "bf16", True)
    >>> _transformers_adafactor(table, Training(optimizer="adafactor", trainer="accelerate")) / 2**30
    7.828125
    """
    in_fp32 = tensor.dtype == "fp32" or has_master(tensor, training)
    return (2 if in_fp32 else 4) * int(rounded(4 * tensor.values))


def _of_hidden_matrix(tensor: HeldTensor, training: Training) -> int:
    """What Muon, GaLore or APOLLO hold for one m × n matrix, m ≤ n, of b bytes a value.

    Muon: the update b m n, its bf16 iterate and the next 4 m n (in 16 bit the update is the first iterate, and the
    step holds it beside them), and two products of m × m in bf16: 4 m². On real tensors: 7 bytes a value at m = n / 4
    in bf16, 9 in fp32. GaLore: the decomposition of the gradient in fp32, its working copy, and both factors,
    4 (3 m n + m²). APOLLO: two updates, b (2 m n + r n).
    Sources: torch 2.13, torch/optim/_muon.py; galore-torch 1.0, galore_projector.py (read, cuSOLVER's own workspace is
    not in it); apollo-torch 1.0, apollo.py.

    >>> wide = HeldTensor("w", (512, 2048), 1, "bf16", True)
    >>> _of_hidden_matrix(wide, Training(optimizer="muon")) / wide.values
    7.0
    """
    small, large = sorted(tensor.shape)
    n, size = small * large, BYTES_PER_VALUE[state_dtype(tensor, training)]
    if training.optimizer == "muon":
        return (size + 4) * n + 4 * small**2
    if training.optimizer == "galore":
        return 4 * (3 * n + small**2)
    return size * (2 * n + min(PROJECTED_RANK, small) * large)
