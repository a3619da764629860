"""The levers that there are, least costly first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memplan.levers.lever import Lever, setting
from memplan.plan.scenario import Scenario
from memplan.plan.training import Optimizer

_FUSED: tuple[Optimizer, ...] = ("adamw", "sgd", "sgd_momentum", "adagrad")
"""PyTorch has a fused kernel for these (torch.optim, argument `fused`)."""


def _fused_why_not(scenario: Scenario) -> str | None:
    training = scenario.training
    if training.optimizer not in _FUSED:
        return f"{training.optimizer} has no fused form in PyTorch"
    return "MLX has one implementation of each optimizer" if training.kernels == "mlx" else None


def _loss_why_not(scenario: Scenario) -> str | None:
    kernels = scenario.training.kernels
    if kernels == "liger":
        return "Liger's loss is fused already"
    return "Liger's kernels do not run under MLX" if kernels == "mlx" else None


def _on_cuda_only(scenario: Scenario) -> str | None:
    return "bitsandbytes does not run under MLX" if scenario.training.kernels == "mlx" else None


def _has_4bit_format(scenario: Scenario) -> bool:
    return scenario.training.quantization.format != "int8"


def _4bit_base(scenario: Scenario) -> Mapping[str, Any]:
    changes = {"training.method": "qlora"}
    if scenario.training.kernels == "mlx":
        return {**changes, "training.quantization.format": "mlx_int4"}
    return changes if _has_4bit_format(scenario) else {**changes, "training.quantization.format": "nf4"}


def _smaller_batch(scenario: Scenario) -> Mapping[str, Any]:
    """The largest micro-batch of at most half the size that divides the batch of one optimizer step."""
    training = scenario.training
    whole = training.micro_batch * training.gradient_accumulation
    micro_batch = next(size for size in range(training.micro_batch // 2, 0, -1) if whole % size == 0)
    return {"training.micro_batch": micro_batch, "training.gradient_accumulation": whole // micro_batch}


def _smaller_batch_why_not(scenario: Scenario) -> str | None:
    training = scenario.training
    if training.micro_batch == 1:
        return "the micro-batch is 1 already"
    if training.micro_batch * training.gradient_accumulation > 1_000_000:
        return "gradient accumulation would pass 1,000,000"
    return "the optimizer in backward rules out accumulation" if training.optimizer_in_backward else None


LEVERS: tuple[Lever, ...] = (
    setting(
        "fused_optimizer",
        "Fused optimizer",
        "Costs nothing: the same update in one kernel, without the copy that foreach makes.",
        "PyTorch documentation, torch.optim: foreach takes about the parameters' size more at the peak, fused does not",
        on={"training.optimizer_impl": "fused"},
        off={"training.optimizer_impl": "foreach"},
        why_not=_fused_why_not,
    ),
    setting(
        "fused_loss",
        "Fused loss",
        "Costs next to nothing: head and loss in one kernel, a chunk of the logits at a time; needs Liger's kernels.",
        "Hsu et al. 2024, arXiv:2410.10989",
        on={"training.loss": "fused"},
        off={"training.loss": "plain"},
        why_not=_loss_why_not,
    ),
    setting(
        "checkpointing",
        "Checkpointing",
        "About a third more compute: forward runs a second time during backward.",
        "Chen et al. 2016, arXiv:1604.06174; Korthikanti et al. 2022, arXiv:2205.05198",
        on={"training.checkpointing": "full"},
        off={"training.checkpointing": "none"},
    ),
    Lever(
        "smaller_batch",
        "Smaller batch",
        "The same batch in more and smaller pieces that accumulate: devices are used less well, so steps take longer.",
        "arithmetic: the micro-batch times the accumulation stays the same",
        on=_smaller_batch,
        off={},
        why_not=_smaller_batch_why_not,
        is_on=lambda scenario: False,
    ),
    setting(
        "optimizer_8bit",
        "8-bit optimizer",
        "States are rounded to 8 bits in blocks; needs bitsandbytes, results are close to those of 32-bit AdamW.",
        "Dettmers et al. 2021, arXiv:2110.02861",
        on={"training.optimizer": "adamw_8bit"},
        off={"training.optimizer": "adamw"},
        why_not=_on_cuda_only,
        is_on=lambda scenario: scenario.training.optimizer in ("adamw_8bit", "paged_adamw_8bit", "lion_8bit"),
    ),
    setting(
        "lora",
        "LoRA",
        "Trains low-rank adapters beside the linear layers, not the weights: it learns less than full fine-tuning.",
        "Hu et al. 2021, arXiv:2106.09685; Biderman et al. 2024, arXiv:2405.09673",
        on={"training.method": "lora"},  # Rank and targets stay as they are set: 16 and all-linear unless changed.
        off={"training.method": "full"},
        is_on=lambda scenario: scenario.training.method in ("lora", "qlora"),
    ),
    Lever(
        "base_4bit",
        "4-bit base",
        "LoRA on weights rounded to 4 bits (QLoRA): every use unpacks them, so steps take longer.",
        "Dettmers et al. 2023, arXiv:2305.14314",
        on=_4bit_base,
        off={"training.method": "lora"},
        is_on=lambda scenario: scenario.training.method == "qlora" and _has_4bit_format(scenario),
        why_not=lambda scenario: None,
    ),
    setting(
        "sgd",
        "SGD",
        "Another optimizer, without states: wants its own learning rate, and trains transformers worse than AdamW.",
        "Zhang et al. 2020, arXiv:1912.03194",
        on={"training.optimizer": "sgd"},
        off={"training.optimizer": "adamw"},
    ),
)
"""The levers, least costly first."""
