"""What each optimizer keeps for a tensor, and what its step holds for a moment."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from memplan.memory.states import NESTED_BLOCK, HeldTensor, has_master
from memplan.memory.storage import rounded
from memplan.number_formats import BYTES_PER_VALUE
from memplan.plan.training import Training

MIN_8BIT_VALUES = 4096
"""bitsandbytes keeps smaller tensors' states in fp32 (min_8bit_size); torchao leaves them alone as well."""
MIN_PAGED_VALUES = 100_000
"""bitsandbytes pages the moments of tensors from here on; smaller ones, block scales and maps stay on the device."""


@dataclass(frozen=True, slots=True)
class Rule:
    """States of one optimizer: how many values per parameter, in which format, and where they live."""

    title: str
    moments: int
    format: str = "dtype"
    """dtype: PyTorch's own, in the parameters' or a chosen dtype; fp32; 8bit; 4bit; factored: rows and columns."""
    counts_steps: bool = True
    """Whether PyTorch keeps an fp32 step counter for each tensor."""
    paged: bool = False
    """States live in the host's memory and come by pages."""
    two_d_only: bool = False
    source: str = "PyTorch 2.13, torch.optim"


RULES: dict[str, Rule] = {
    "adamw": Rule("AdamW", 2),
    "sgd": Rule("SGD", 0, counts_steps=False),
    "sgd_momentum": Rule("SGD with momentum", 1, counts_steps=False),
    "adafactor": Rule("Adafactor", 0, "factored"),
    "adagrad": Rule("Adagrad", 1),
    "rmsprop": Rule("RMSprop", 1),
    "lion": Rule("Lion", 1, "fp32", counts_steps=False, source="bitsandbytes 0.50.2, Lion32bit"),
    "muon": Rule("Muon", 1, counts_steps=False, two_d_only=True),
    "adamw_8bit": Rule("8-bit AdamW", 2, "8bit", counts_steps=False, source="bitsandbytes 0.50.2, AdamW8bit"),
    "adamw_4bit": Rule("4-bit AdamW", 2, "4bit", source="torchao, AdamW4bit"),
    "lion_8bit": Rule("8-bit Lion", 1, "8bit", counts_steps=False, source="bitsandbytes 0.50.2, Lion8bit"),
    "paged_adamw_8bit": Rule(
        "paged 8-bit AdamW", 2, "8bit", counts_steps=False, paged=True, source="bitsandbytes 0.50.2, PagedAdamW8bit"
    ),
    "paged_adamw_32bit": Rule(
        "paged AdamW", 2, "fp32", counts_steps=False, paged=True, source="bitsandbytes 0.50.2, PagedAdamW32bit"
    ),
    "galore": Rule("GaLore AdamW", 2, "low_rank", source="GaLore paper, rank 128"),
}
GALORE_RANK = 128


def state_dtype(tensor: HeldTensor, training: Training) -> str:
    """What a tensor's states are held in: the parameter's dtype (PyTorch), or the one chosen."""
    if training.optimizer_state_dtype != "weights":
        return training.optimizer_state_dtype
    return "fp32" if has_master(tensor, training) else tensor.dtype


def state_tensors(tensor: HeldTensor, training: Training) -> list[int]:
    """Bytes of each state tensor of one parameter tensor, unrounded, step counter first.

    Equation, by format (n values): dtype: moments × n × bytes; 8-bit: moments × (n + 4 ⌈n / 256⌉) + two fp32 maps of
    256 entries, fp32 below 4096 values; 4-bit: moments × (n / 2 + 4 ⌈n / 128⌉); factored: rows + columns.

    >>> from memplan.plan.training import Training
    >>> state_tensors(HeldTensor("w", (100, 100), 1, "bf16", True), Training())
    [4, 20000, 20000]
    """
    rule, n = RULES[training.optimizer], tensor.values
    if not tensor.trains:
        return []
    steps = [4] if rule.counts_steps else []
    if rule.format in ("8bit", "4bit") and n < MIN_8BIT_VALUES:
        return steps + [4 * n] * rule.moments
    if rule.format == "8bit":
        maps = [1024, 1024] if rule.moments == 2 else [1024]
        return [*steps, *[n, 4 * -(-n // NESTED_BLOCK)] * rule.moments, *maps]
    if rule.format == "4bit":
        return [*steps, *[n // 2, 4 * -(-n // 128)] * rule.moments]
    dtype = "fp32" if rule.format == "fp32" else state_dtype(tensor, training)
    if rule.format == "factored":
        factors = (n // tensor.shape[-1], n // tensor.shape[-2]) if len(tensor.shape) > 1 else (n,)
        return [*steps, *[BYTES_PER_VALUE[dtype] * size for size in factors]]
    if rule.format == "low_rank" and len(tensor.shape) == 2:
        small, large = sorted(tensor.shape)
        rank = min(GALORE_RANK, small)
        return [*steps, *[BYTES_PER_VALUE[dtype] * rank * large] * 2, BYTES_PER_VALUE[dtype] * small * rank]
    moments = 0 if rule.two_d_only and len(tensor.shape) != 2 else rule.moments
    return steps + [BYTES_PER_VALUE[dtype] * n] * moments


def paged_tensors(tensor: HeldTensor, training: Training) -> list[int]:
    """Bytes of each of those state tensors that live in the host's memory and come by pages.

    Source: bitsandbytes 0.50.2, optim/optimizer.py, Optimizer8bit.get_state_buffer.

    >>> paged = Training(optimizer="paged_adamw_8bit")
    >>> paged_tensors(HeldTensor("w", (1000, 1000), 1, "bf16", True), paged)
    [1000000, 1000000]
    >>> paged_tensors(HeldTensor("lora_A", (16, 4096), 1, "fp32", True), paged)
    []
    """
    rule = RULES[training.optimizer]
    if not (rule.paged and tensor.trains) or tensor.values < MIN_PAGED_VALUES:
        return []
    return [tensor.values * (4 if rule.format == "fp32" else 1)] * rule.moments


def state_bytes(tensor: HeldTensor, training: Training) -> int:
    """Bytes of a tensor's states on the device, each rounded up to whole blocks."""
    whole = sum(int(rounded(size)) for size in state_tensors(tensor, training))
    return tensor.count * (whole - sum(int(rounded(size)) for size in paged_tensors(tensor, training)))


def step_temporary_bytes(tensors: tuple[HeldTensor, ...], training: Training) -> int:
    """What `optimizer.step()` holds on top of weights, gradients and states.

    foreach: one more tensor of the size of every moment at once (`_foreach_sqrt` of the second moments; Adafactor's
    updates); for_loop: two tensors of the size of the parameter at hand (Adafactor: one), while the one before it is
    still referred to; fused, 8-bit and plain SGD: none. Source: torch/optim/adamw.py, _adafactor.py, traced.

    MLX makes new states beside the old ones, all at once: measured, 12 bytes a parameter in bf16 with AdamW.
    """
    if training.kernels == "mlx":
        return sum(state_bytes(t, training) for t in tensors if t.trains)
    rule = RULES[training.optimizer]
    factored = rule.format == "factored"
    plain = rule.moments > 0 and rule.format == "dtype" and training.optimizer not in ("sgd_momentum", "muon")
    if not (factored or plain):
        return 0
    sizes = [(int(rounded(t.values * BYTES_PER_VALUE[state_dtype(t, training)])), t.count) for t in tensors if t.trains]
    if not sizes or (training.optimizer_impl == "fused" and not factored):
        return 0
    if training.optimizer_impl == "foreach":
        return sum(size * count for size, count in sizes)
    own = 1 if factored else 2
    return max(before + own * size for (before, _), (size, _) in pairwise([(0, 1), *sizes]))
