"""Levers after which the same run learns the same, up to rounding: other kernels, recomputing, smaller pieces."""

from __future__ import annotations

from memplan.architecture.linear_parts import StateMixer
from memplan.catalog import Device
from memplan.choice_titles import choice_title
from memplan.chosen_model import chosen_model
from memplan.errors import MemplanError
from memplan.levers.lever import (
    ALWAYS,
    Changes,
    Lever,
    device_in,
    micro_batch_words,
    never,
    no_fewer_sequences,
    setting,
)
from memplan.levers.placing import recomputes_every_layer
from memplan.number_style import number
from memplan.plan.scenario import Scenario
from memplan.plan.training import Optimizer
from memplan.translation import tr

_FUSED: tuple[Optimizer, ...] = ("adamw", "sgd", "sgd_momentum", "adagrad")
"""PyTorch has a fused kernel for these (torch.optim, argument `fused`)."""
_MOST_ACCUMULATION = 1_000_000
_BEFORE_AMPERE = ("Pascal", "Volta", "Turing")


def _fused_why_not(scenario: Scenario) -> str | None:
    training = scenario.training
    if training.optimizer not in _FUSED:
        return tr("{optimizer} has no fused form in PyTorch").format(
            optimizer=choice_title("optimizer", training.optimizer)
        )
    return tr("MLX has one implementation of each optimizer") if training.kernels == "mlx" else None


def _fused_loss_why_not(scenario: Scenario) -> str | None:
    kernels = scenario.training.kernels
    if kernels == "liger":
        return tr("Liger's loss is fused already")
    return tr("Liger's kernels do not run under MLX") if kernels == "mlx" else None


def _chunked_loss_why_not(scenario: Scenario) -> str | None:
    fused = scenario.training.loss == "fused" or scenario.training.kernels == "liger"
    return tr("the fused loss never holds the logits whole") if fused else None


def _needs_flash(scenario: Scenario) -> bool:
    """Whether the model's attention has sinks, which no kernel of sdpa takes."""
    try:
        kinds = chosen_model(scenario.model).architecture.kinds
    except MemplanError:
        return False
    return any(not isinstance(layer.attention, StateMixer) and layer.attention.sinks for layer in kinds)


def has_flash(device: Device | None) -> bool:
    """Whether flash-attn has kernels for a device."""
    return device is not None and device.vendor in ("NVIDIA", "AMD") and device.architecture not in _BEFORE_AMPERE


def _flash(scenario: Scenario) -> Changes:
    return {"training.attention": "flash" if has_flash(device_in(scenario)) else "sdpa"}


def _flash_is_on(scenario: Scenario) -> bool:
    attention = scenario.training.attention
    return attention == "flash" or (
        attention == "sdpa" and not (_needs_flash(scenario) and has_flash(device_in(scenario)))
    )


def _smaller_batch(scenario: Scenario) -> Changes:
    """The largest micro-batch of at most half the size that divides the batch of one optimizer step."""
    training = scenario.training
    whole = training.micro_batch * training.gradient_accumulation
    micro_batch = next(size for size in range(training.micro_batch // 2, 0, -1) if whole % size == 0)
    return {"training.micro_batch": micro_batch, "training.gradient_accumulation": whole // micro_batch}


def _smaller_batch_why_not(scenario: Scenario) -> str | None:
    training = scenario.training
    if (reason := no_fewer_sequences(scenario)) is not None:
        return reason
    if training.micro_batch * training.gradient_accumulation > _MOST_ACCUMULATION:
        return tr("gradient accumulation would pass {count}").format(count=number(1_000_000))
    return tr("the optimizer in backward rules out accumulation") if training.optimizer_in_backward else None


def _in_backward_why_not(scenario: Scenario) -> str | None:
    training, hardware = scenario.training, scenario.hardware
    if training.gradient_accumulation > 1:
        return tr("gradients that are applied as they come can not be accumulated")
    if training.master_weights:
        return tr("the optimizer that keeps master weights steps once for all of them")
    if hardware.offload.optimizer:
        return tr("the host applies all gradients together")
    if hardware.devices > 1 and hardware.sharding.strategy in ("none", "ddp", "zero1", "zero2", "megatron"):
        return tr("gradients are summed over devices in buckets before they are applied")
    return None


SAME_RESULT: tuple[Lever, ...] = (
    setting(
        id="fused_optimizer",
        title="Fused optimizer",
        short="Costs nothing",
        price="Costs nothing: the same update in one kernel, without the copy that foreach makes.",
        does="Takes away the copy of what trains that the foreach step holds for a moment.",
        idle="The peak stands elsewhere than at the optimizer step, or few parameters train.",
        source="PyTorch documentation, torch.optim: foreach takes about the parameters' size more at the peak, "
        "fused does not",
        group="implementation",
        on={"training.optimizer_impl": "fused"},
        off={"training.optimizer_impl": "foreach"},
        is_on=lambda scenario: scenario.training.optimizer_impl == "fused" and _fused_why_not(scenario) is None,
        why_not=_fused_why_not,
        counts_as=0.001,
    ),
    setting(
        id="fused_loss",
        title="Fused loss",
        short="Needs Liger",
        price="Costs next to nothing: head and loss in one kernel, a chunk of the logits at a time; needs Liger's "
        "kernels.",
        does="Logits are never held whole, nor is their gradient: a chunk of them at a time.",
        idle="The peak is neither at the loss nor where backward begins, or few tokens meet a small vocabulary.",
        source="Hsu et al. 2024, arXiv:2410.10989",
        group="loss",
        on={"training.loss": "fused"},
        off={"training.loss": "plain"},
        why_not=_fused_loss_why_not,
        counts_as=0.005,
    ),
    setting(
        id="chunked_loss",
        title="Chunked loss",
        short="Needs its trainer",
        price="The logits of a chunk of tokens at a time, in plain PyTorch; needs a trainer that has it, such as "
        "torchtune.",
        does="Logits are held a chunk of tokens at a time, as is their gradient.",
        idle="The peak is neither at the loss nor where backward begins, or few tokens meet a small vocabulary.",
        source="torchtune documentation, CEWithChunkedOutputLoss",
        group="loss",
        on={"training.loss": "chunked"},
        off={"training.loss": "plain"},
        why_not=_chunked_loss_why_not,
        counts_as=0.01,
    ),
    Lever(
        id="flash_attention",
        title="Flash attention",
        short="Costs nothing",
        price="Costs nothing, and is faster: scores are never written out. sdpa uses such kernels by itself.",
        does="Attention keeps no scores: memory grows with the length of a sequence, not with its square.",
        idle="SDPA runs already, which picks such a kernel by itself.",
        source="Dao et al. 2022, arXiv:2205.14135",
        group="attention",
        on=_flash,
        off={"training.attention": "eager"},
        is_on=_flash_is_on,
        why_not=lambda scenario: None,
        counts_as=0.002,
        serves=ALWAYS,
    ),
    setting(
        id="checkpointing",
        title="Checkpointing",
        short="Recomputes forward",
        price="Forward runs a second time during backward.",
        does="Each layer keeps its input alone; the rest is made again when backward comes to it.",
        idle="The peak is at the optimizer step or at the loss, or sequences are so short that activations are small.",
        source="Chen et al. 2016, arXiv:1604.06174; Korthikanti et al. 2022, arXiv:2205.05198",
        group="checkpointing",
        on={"training.checkpointing": "full", "training.checkpoint_every": 1},
        off={"training.checkpointing": "none"},
        is_on=recomputes_every_layer,
        counts_as=0.002,
    ),
    Lever(
        id="smaller_batch",
        title="Smaller batch",
        short="Smaller pieces",
        price="The same batch in more and smaller pieces that accumulate: weights are read once more for each.",
        does="Halves what grows with the micro-batch: activations, logits, buffers of the layers.",
        idle="The micro-batch is 1, or gradients that pile up from piece to piece take what is saved.",
        source="arithmetic: the micro-batch times the accumulation stays the same",
        group="batch",
        on=_smaller_batch,
        off={},
        is_on=never,
        why_not=_smaller_batch_why_not,
        counts_as=0.003,
        times=20,
        comes_to=micro_batch_words,
    ),
    setting(
        id="optimizer_in_backward",
        title="Optimizer in backward",
        short="No accumulation",
        price="Each gradient is applied and freed as it comes: no accumulation, and no clipping of all gradients "
        "together.",
        does="Gradients never stand together: each goes as soon as it is applied.",
        idle="Gradients are small, as those of adapters are, or the peak is at the loss.",
        source="PyTorch tutorial, optimizer step in backward; torchtune documentation, optimizer_in_bwd",
        group="in_backward",
        on={"training.optimizer_in_backward": True},
        off={"training.optimizer_in_backward": False},
        why_not=_in_backward_why_not,
        counts_as=0.1,
    ),
)
"""Least costly first."""
