"""What makes an estimate an extrapolation: settings that follow rules, or relatives, that no truth was held against."""

from __future__ import annotations

from collections.abc import Iterator

from memplan.architecture.expert_parts import Experts
from memplan.architecture.parts import Architecture
from memplan.architecture.stacks import is_run_by
from memplan.catalog import Device
from memplan.choice_titles import choice_title
from memplan.memory.optimizers import RULES
from memplan.memory.setup import Setup, names_module
from memplan.memory.sharding import (
    CASTS_WEIGHTS,
    CUTS_TENSORS,
    SHARDS_STATES,
    data_parallel_devices,
    expert_parallel_of,
    gradients_leave,
    offloads_all,
)
from memplan.memory.stack import version_of
from memplan.memory.states import saved_modules, trained_dtype
from memplan.plan.hardware import Strategy
from memplan.plan.scenario import Scenario
from memplan.plan.training import Kernels
from memplan.result import Advice
from memplan.translation import tr, tr_later, translated

_KERNELS: dict[Kernels, str] = {
    "liger": tr_later(
        "Liger's fused loss is counted; its norms, rotary positions and gated products, which keep less, are not."
    ),
    "unsloth": tr_later(
        "Unsloth's modules are counted as transformers', which keep more. Its own loss takes chunks of logits as large "
        "as half of what is free, 4 GiB at most: that is not counted as needed."
    ),
    "torchtitan": tr_later(
        "torchtitan's modules are counted as transformers', which keep more: its norms keep their input alone, and "
        "its loss drops the 16-bit logits before backward."
    ),
    "mlx": tr_later(
        "Attention and update are counted as MLX runs them; backward with two layers and all gradients more, as MLX "
        "orders it itself: too much rather than too little. Small runs of mlx-lm took up to a third less."
    ),
}
_BUCKETS: dict[Strategy, str] = {
    "zero1": "States are divided; a reduce bucket and the update's copies of gradients are counted, as DeepSpeed's.",
    "zero2": "States and gradients are divided; a reduce bucket and the update's copies are counted, as DeepSpeed's.",
    "zero3": "All is divided; buckets, prefetched and reused weights are counted by DeepSpeed's documented sizes.",
    "megatron": "States are divided; gradients have a buffer of their own that stays whole.",
}


_TRACED_IN_SHARDS = ("adamw", "sgd", "sgd_momentum")
"""Optimizers whose steps over FSDP's shards were traced or measured."""

_ON_ONE_DEVICE = (
    "DeepSpeed's buckets and the update's copies of gradients, counted by its source, are there all the same."
)
"""DeepSpeed 0.19, runtime/zero/stage3.py and stage_1_and_2.py: buffers of reduce_bucket_size, whatever the devices."""


def extrapolations(scenario: Scenario, architecture: Architecture, device: Device) -> Iterator[Advice]:
    """One word for each setting that was held against nothing."""
    if device.vendor not in ("NVIDIA", "AMD"):
        words = tr(
            "PyTorch's kernels for {vendor} devices have not been held against truth: CUDA's are counted."
        ).format(vendor=device.vendor)
        yield Advice("hardware.device", words)
    yield from _about_kernels(scenario, architecture)
    yield from _about_training(scenario, architecture)
    yield from _about_adapters(scenario, architecture)
    yield from _about_sharding(scenario)
    yield from _about_parallelism(scenario, architecture)
    yield from _about_offload(scenario)


def _about_kernels(scenario: Scenario, architecture: Architecture) -> Iterator[Advice]:
    kernels, loss = scenario.training.kernels, scenario.training.loss
    named = choice_title("kernels", kernels)
    if scenario.training.caches_keys:
        if kernels != "transformers":
            words = tr(
                "Text is generated as transformers does it: {named} may set aside its cache for more tokens."
            ).format(named=named)
            yield Advice("training.kernels", words)
        elif version_of(scenario.training.kernels_version) < (5, 0):
            words = tr(
                "Generation before transformers 5 is counted by its source: keys and values of every head are cached."
            )
            yield Advice("training.kernels_version", words)
        return
    if not is_run_by(architecture, kernels):
        words = tr("{named}'s modules are counted as transformers', which may keep more or less.").format(named=named)
        yield Advice("training.kernels", translated(_KERNELS.get(kernels, words)))
    elif kernels == "megatron":
        if loss != "plain":
            yield Advice(
                "training.loss", tr("Megatron has no {loss} loss: another stack's is counted.").format(loss=loss)
            )
        if scenario.training.method != "full":
            words = tr(
                "Megatron's modules are counted as published for full training, the rest as transformers does it."
            )
            yield Advice("training.method", words)
    elif kernels in ("litgpt", "torchtune"):
        if loss == "fused":
            yield Advice("training.loss", tr("{named} has no fused loss: Liger's is counted.").format(named=named))
        if kernels == "torchtune" and scenario.training.method == "qlora":
            yield Advice("training.kernels", tr("torchtune's own 4-bit products are not walked: a 16-bit base's are."))


def _about_training(scenario: Scenario, architecture: Architecture) -> Iterator[Advice]:
    training = scenario.training
    if training.optimizer_in_backward:
        yield Advice("training.optimizer_in_backward", tr("Gradients are counted as gone once their layer is through."))
    if training.optimizer == "galore":
        words = tr(
            "The decomposition of the largest gradient is counted without the workspace that cuSOLVER takes for it."
        )
        yield Advice("training.optimizer", words)
    if training.checkpointing == "selective" and not is_run_by(architecture, "megatron"):
        words = tr("What is recomputed of each layer is counted as kept: too much rather than too little.")
        yield Advice("training.checkpointing", words)
    if training.checkpointing == "offload":
        yield Advice("training.checkpointing", tr("Checkpoints are counted as wholly on the host until they are used."))


def _about_adapters(scenario: Scenario, architecture: Architecture) -> Iterator[Advice]:
    training = scenario.training
    if training.method == "qlora" and training.quantization.format not in ("nf4", "fp4"):
        words = tr("Products of {format} are walked as those of nf4.").format(format=training.quantization.format)
        yield Advice("training.quantization.format", words)
    if training.method not in ("lora", "qlora"):
        return
    if not training.lora.modules_to_save:
        return
    names = saved_modules(architecture, Setup.of(training))
    for saved in dict.fromkeys(training.lora.modules_to_save):
        if not any(names_module(saved, name) for name in names):
            words = tr('"{saved}" is left out: only {names} are counted when they are trained whole.').format(
                saved=saved, names=", ".join(names)
            )
            yield Advice("training.lora.modules_to_save", words)


def _about_sharding(scenario: Scenario) -> Iterator[Advice]:
    training, hardware = scenario.training, scenario.hardware
    strategy = hardware.sharding.strategy
    if data_parallel_devices(hardware) == 1:
        if strategy.startswith("zero"):
            offloads = hardware.offload.optimizer or hardware.offload.parameters
            alone = f"One device has nothing to divide with: it holds everything{' that is not offloaded' * offloads}."
            whole = alone if hardware.devices == 1 else "Nothing is divided."
            yield Advice(
                "hardware.sharding.strategy",
                tr("{whole} {ON_ONE_DEVICE}").format(whole=whole, ON_ONE_DEVICE=_ON_ONE_DEVICE),
            )
        return
    if RULES[training.optimizer].hidden_only and strategy in CUTS_TENSORS:
        name = RULES[training.optimizer].title
        yield Advice(
            "training.optimizer",
            tr("{name} needs whole matrices; gathering them for it is not counted.").format(name=name),
        )
    elif strategy in CASTS_WEIGHTS and training.method != "inference":
        yield from _about_shards(scenario)
    if strategy == "fsdp1" and training.method not in ("full", "lora"):
        words = tr("FSDP1 is traced around full training and LoRA; around a 4-bit base some 3% more was measured.")
        yield Advice("hardware.sharding.strategy", words)
    elif strategy in _BUCKETS:
        yield Advice("hardware.sharding.strategy", _BUCKETS[strategy])
    elif strategy == "fsdp2" and training.method not in ("full", "lora"):
        what = {"freeze": "frozen layers", "inference": "inference"}.get(training.method, "adapters")
        words = tr("Sharding of {what} has not been held against traces yet.").format(what=what)
        if training.method == "qlora":
            words += " Packed values are cut evenly; their scales are counted whole on each device."
        yield Advice("hardware.sharding.strategy", words)
    elif strategy not in SHARDS_STATES and training.method != "inference":  # whose devices know nothing of each other
        beside = (
            "gradients are views of their buckets"
            if hardware.sharding.gradient_as_bucket_view
            else ("communication buckets as large as the gradients")
        )
        words = tr("Each device holds everything; {beside}.").format(beside=beside)
        yield Advice("hardware.devices", words)


def _about_shards(scenario: Scenario) -> Iterator[Advice]:
    """What is updated in FSDP's shards otherwise than in any trace."""
    training = scenario.training
    if training.optimizer not in _TRACED_IN_SHARDS:
        words = tr(
            "{name} over FSDP's shards was held against nothing: each device is counted to keep for its shards what "
            "one device keeps for whole tensors."
        ).format(name=choice_title("optimizer", training.optimizer))
        yield Advice("training.optimizer", words)
    if training.master_weights and trained_dtype(training) != "fp32":
        words = tr(
            "FSDP keeps no fp32 copy beside 16-bit weights, so none was traced: each device is counted to hold one of "
            "its shards. Accelerate and torchtitan run fp32 weights under FSDP's mixed precision."
        )
        yield Advice("training.master_weights", words)


def _about_parallelism(scenario: Scenario, architecture: Architecture) -> Iterator[Advice]:
    hardware = scenario.hardware
    if hardware.tensor_parallel > 1:
        along = "divided along the sequence" if hardware.sequence_parallel else "counted whole"
        words = tr(
            "Heads, feed-forward widths and the vocabulary are divided; norms and residuals are {along}."
        ).format(along=along)
        yield Advice("hardware.tensor_parallel", words)
        if hardware.sequence_parallel:
            words = tr(
                "Each device keeps its part; the whole sequence is gathered for products, in backward once more."
            )
            yield Advice("hardware.sequence_parallel", words)
    if hardware.pipeline_parallel > 1:
        words = tr(
            "The fullest stage is counted: embeddings on the first, head and loss on the last, one forward and one "
            "backward in turn ({schedule})."
        ).format(schedule="1F1B" if hardware.virtual_stages == 1 else tr("interleaved 1F1B"))
        yield Advice("hardware.pipeline_parallel", words)
    if hardware.context_parallel > 1:
        words = tr("The sequence is divided; each attention gathers the keys and values of all devices for a moment.")
        if scenario.training.attention == "eager":
            # PyTorch 2.13, tensor/experimental/_context_parallel, _attention.py: it replaces SDPA's kernels alone.
            words += " Eager attention does not: its scores are of a device's own part, and so is what it finds."
        yield Advice("hardware.context_parallel", words)
    if expert_parallel_of(hardware) > 1 and any(isinstance(layer.mlp, Experts) for layer in architecture.kinds):
        words = tr(
            "Experts are divided; tokens are taken to spread evenly, and one more copy of them travels each way."
        )
        yield Advice("hardware.expert_parallel", words)


def _about_offload(scenario: Scenario) -> Iterator[Advice]:
    offload = scenario.hardware.offload
    if offload.optimizer:
        leave = gradients_leave(scenario.training, scenario.hardware)
        where = "States, fp32 master weights, gradients and the update are counted on the host."
        words = where if leave else "States, fp32 master weights and the update are on the host, gradients on both."
        yield Advice("hardware.offload.optimizer", words)
    if offload.parameters:
        whole = "Weights, gradients and states are" if offloads_all(scenario.hardware) else "Weights are"
        words = tr("{whole} counted on the host; each layer comes when it runs; embeddings and head stay.").format(
            whole=whole
        )
        yield Advice("hardware.offload.parameters", words)
    if offload.activations:
        words = tr("What a layer keeps is counted on the host from its forward to its backward.")
        yield Advice("hardware.offload.activations", words)
