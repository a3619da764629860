"""What each optimizer keeps for a tensor. What its step holds for a moment stands in optimizer_steps."""

from __future__ import annotations

from dataclasses import dataclass

from memplan.memory.states import NESTED_BLOCK, HeldTensor, has_master
from memplan.memory.storage import rounded
from memplan.number_formats import BYTES_PER_VALUE
from memplan.plan.training import Training

MIN_8BIT_VALUES = 4096
"""bitsandbytes keeps smaller tensors' states in fp32 (min_8bit_size), torchao in the parameter's own dtype."""
MIN_PAGED_VALUES = 100_000
"""bitsandbytes pages the moments of tensors from here on; smaller ones, block scales and maps stay on the device."""


@dataclass(frozen=True, slots=True)
class Rule:
    """States of one optimizer: how many values per parameter, in which format, and where they live."""

    title: str
    moments: int
    format: str = "dtype"
    """dtype: PyTorch's own, in the parameters' or a chosen dtype; fp32; 8bit; 4bit; fp8; factored: rows and columns;
    low_rank: moments of projected gradients.
    """
    counts_steps: bool = True
    """Whether PyTorch keeps an fp32 step counter for each tensor."""
    paged: bool = False
    """States live in the host's memory and come by pages."""
    hidden_only: bool = False
    """It updates the layers' matrices; AdamW does the embeddings, the head, vectors and 3-D experts beside it."""
    source: str = "PyTorch 2.13, torch.optim"

    @property
    def in_blocks(self) -> bool:
        """Whether torchao packs its states, where whole blocks fill a tensor."""
        return self.format in ("4bit", "fp8")


RULES: dict[str, Rule] = {
    "adamw": Rule("AdamW", 2),
    "sgd": Rule("SGD", 0, counts_steps=False),
    "sgd_momentum": Rule("SGD with momentum", 1, counts_steps=False),
    "adafactor": Rule("Adafactor", 0, "factored"),
    "adagrad": Rule("Adagrad", 1),
    "rmsprop": Rule("RMSprop", 1),
    "lion": Rule("Lion", 1, "fp32", counts_steps=False, source="bitsandbytes 0.50.2, Lion32bit"),
    "muon": Rule("Muon", 1, counts_steps=False, hidden_only=True),
    "adamw_8bit": Rule("8-bit AdamW", 2, "8bit", counts_steps=False, source="bitsandbytes 0.50.2, AdamW8bit"),
    "adamw_4bit": Rule("4-bit AdamW", 2, "4bit", source="torchao, AdamW4bit"),
    "lion_8bit": Rule("8-bit Lion", 1, "8bit", counts_steps=False, source="bitsandbytes 0.50.2, Lion8bit"),
    "paged_adamw_8bit": Rule(
        "paged 8-bit AdamW", 2, "8bit", counts_steps=False, paged=True, source="bitsandbytes 0.50.2, PagedAdamW8bit"
    ),
    "paged_adamw_32bit": Rule(
        "paged AdamW", 2, "fp32", counts_steps=False, paged=True, source="bitsandbytes 0.50.2, PagedAdamW32bit"
    ),
    "galore": Rule(
        "GaLore AdamW", 2, "low_rank", counts_steps=False, hidden_only=True, source="galore-torch 1.0, AdamW, rank 128"
    ),
    "apollo": Rule(
        "APOLLO", 2, "low_rank", counts_steps=False, hidden_only=True, source="apollo-torch 1.0, AdamW, rank 128"
    ),
    "adamw_fp8": Rule("fp8 AdamW", 2, "fp8", source="torchao, AdamWFp8"),
    "ademamix": Rule("AdEMAMix", 3, "fp32", counts_steps=False, source="bitsandbytes 0.50.2, AdEMAMix32bit"),
    "ademamix_8bit": Rule("8-bit AdEMAMix", 3, "8bit", counts_steps=False, source="bitsandbytes 0.50.2, AdEMAMix8bit"),
    "schedule_free_adamw": Rule(
        "schedule-free AdamW", 2, counts_steps=False, source="schedulefree 1.4, AdamWScheduleFree: z and second moment"
    ),
}
PROJECTED_RANK = 128
"""Rank of projected gradients: the Trainer's default for GaLore and APOLLO."""
_OF_HIDDEN = ("attention", "mlp", "experts", "")
"""Components whose matrices such optimizers take; adapters have none."""
_BLOCKS = {"8bit": 256, "fp8": 256, "4bit": 128}
"""Values that share one fp32 scale."""


def is_hidden_matrix(tensor: HeldTensor) -> bool:
    """Whether Muon, GaLore or APOLLO take it as their own.

    Source: transformers 5.24, _setup_low_rank_optimizer (linear modules of the layers); torch.optim.Muon (2-D only).
    """
    return len(tensor.shape) == 2 and tensor.component in _OF_HIDDEN


def follows_shapes(training: Training) -> bool:
    """Whether states follow the shapes of tensors and the parts they belong to, not the count alone."""
    rule = RULES[training.optimizer]
    kept = rule.format == "8bit" and training.trainer != "none"
    return rule.format == "factored" or rule.hidden_only or kept


def is_kept_from_8_bit(tensor: HeldTensor, training: Training) -> bool:
    """Whether 8-bit states of bitsandbytes are fp32 for it: small ones, and under the Trainer every embedding.

    Flat partitions are of no module that an override could be for.
    Source: transformers 5.24, Trainer.create_optimizer, register_module_override(module, "weight", optim_bits 32);
    bitsandbytes 0.50, optim/optimizer.py, check_overrides.
    """
    embedding = training.trainer != "none" and tensor.component == "embeddings" and not tensor.in_partition
    return tensor.values < MIN_8BIT_VALUES or embedding


def state_dtype(tensor: HeldTensor, training: Training) -> str:
    """What a tensor's states are held in: the parameter's dtype (PyTorch), or the one chosen."""
    if training.optimizer_state_dtype != "weights":
        return training.optimizer_state_dtype
    return "fp32" if has_master(tensor, training) else tensor.dtype


def state_tensors(tensor: HeldTensor, training: Training) -> list[int]:
    """Bytes of each state tensor of one parameter tensor, unrounded, step counter first.

    Equation, by format (n values): dtype: moments × n × bytes; 8-bit: moments × (n + 4 ⌈n / 256⌉) + an fp32 map of
    256 entries for each; fp8: moments × (n + 4 n / 256); 4-bit: moments × (n / 2 + 4 n / 128) + maps of 16 entries;
    factored: rows + columns; low rank r of an m × n matrix, m ≤ n: 2 r n moments + m r of the projection.
    Below 4096 values bitsandbytes keeps fp32; torchao keeps the parameter's dtype there and where blocks do not divide.

    >>> from memplan.plan.training import Training
    >>> state_tensors(HeldTensor("w", (100, 100), 1, "bf16", True), Training())
    [4, 20000, 20000]
    >>> one = HeldTensor("w", (4096, 4096), 1, "bf16", True)
    >>> sum(state_tensors(one, Training(optimizer="ademamix_8bit"))) / one.values
    3.04705810546875
    """
    rule, n = RULES[training.optimizer], tensor.values
    if not tensor.trains:
        return []
    steps = [4] if rule.counts_steps else []
    if rule.format == "8bit":
        if is_kept_from_8_bit(tensor, training):
            return [4 * n] * rule.moments
        return [*[n, 4 * -(-n // NESTED_BLOCK)] * rule.moments, *[1024] * rule.moments]
    if rule.in_blocks:
        return steps + _torchao_states(tensor, training)
    dtype = "fp32" if rule.format == "fp32" else state_dtype(tensor, training)
    size = BYTES_PER_VALUE[dtype]
    if rule.format == "factored":
        factors = (n // tensor.shape[-1], n // tensor.shape[-2]) if len(tensor.shape) > 1 else (n,)
        return [*steps, *[size * factor for factor in factors]]
    if rule.hidden_only and not is_hidden_matrix(tensor):
        return [size * n] * 2
    if rule.format == "low_rank":
        small, large = sorted(tensor.shape)
        rank = min(PROJECTED_RANK, small)
        return [*[size * rank * large] * 2, size * small * rank]
    return steps + [size * n] * rule.moments


def _torchao_states(tensor: HeldTensor, training: Training) -> list[int]:
    """Source: torchao, optim/adam.py, _new_buffer; subclass_4bit.py and subclass_fp8.py, zeros."""
    rule, n = RULES[training.optimizer], tensor.values
    block = _BLOCKS[rule.format]
    if n < MIN_8BIT_VALUES or n % block:
        return [BYTES_PER_VALUE[tensor.dtype] * n] * rule.moments
    if rule.format == "fp8":
        return [n, 4 * n // block] * rule.moments
    return [n // 2, 4 * n // block, 64] * rule.moments


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
    in_fp32 = rule.format == "fp32" or is_kept_from_8_bit(tensor, training)
    return [tensor.values * (4 if in_fp32 else 1)] * rule.moments


def state_bytes(tensor: HeldTensor, training: Training) -> int:
    """Bytes of a tensor's states on the device, each rounded up to whole blocks."""
    whole = sum(int(rounded(size)) for size in state_tensors(tensor, training))
    return tensor.count * (whole - sum(int(rounded(size)) for size in paged_tensors(tensor, training)))
