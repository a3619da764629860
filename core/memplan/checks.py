"""Advice about a scenario: what is unwise, what contradicts itself, and what the estimate does not model yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memplan.architecture.expert_parts import Experts
from memplan.architecture.parts import Architecture
from memplan.catalog import Device
from memplan.memory.optimizers import RULES
from memplan.memory.setup import Setup
from memplan.memory.sharding import SHARDS_WEIGHTS
from memplan.memory.states import linears, module_linears
from memplan.plan.scenario import Scenario
from memplan.result import Advice

_PLAIN: dict[str, Any] = {
    "training.kernels": "transformers",
    "training.optimizer_in_backward": False,
    "hardware.tensor_parallel": 1,
    "hardware.sequence_parallel": False,
    "hardware.pipeline_parallel": 1,
    "hardware.context_parallel": 1,
    "hardware.expert_parallel": 1,
    "hardware.offload.parameters": False,
    "hardware.offload.activations": False,
    "hardware.offload.optimizer": False,
}
"""Fields that the estimate leaves out when they are set to anything else."""


def not_modelled(scenario: Scenario, architecture: Architecture, device: Device) -> Iterator[Advice]:
    """What makes the estimate an extrapolation."""
    if device.vendor not in ("NVIDIA", "AMD"):
        words = f"PyTorch's kernels for {device.vendor} devices have not been held against truth: CUDA's are counted."
        yield Advice("hardware.device", words)
    for path, plain in _PLAIN.items():
        value: Any = scenario
        for name in path.split("."):
            value = getattr(value, name)
        if value != plain:
            yield Advice(path, f"{path.rpartition('.')[2]} is not modelled yet; the estimate leaves it out.")
    training = scenario.training
    if training.checkpointing in ("selective", "offload"):
        yield Advice("training.checkpointing", f"{training.checkpointing} is counted as full checkpointing.")
    yield from _sharding_not_modelled(scenario)
    if training.lora.modules_to_save and training.method in ("lora", "qlora"):
        yield Advice("training.lora.modules_to_save", "Modules trained in full are not modelled yet.")
    if training.method == "qlora" and training.quantization.format not in ("nf4", "fp4"):
        words = f"Products of {training.quantization.format} are walked as those of nf4."
        yield Advice("training.quantization.format", words)
    if training.method == "freeze" and training.checkpointing != "none":
        yield Advice("training.checkpointing", "Checkpoints of frozen layers are up to 4% short of traces.")


def _sharding_not_modelled(scenario: Scenario) -> Iterator[Advice]:
    training, hardware = scenario.training, scenario.hardware
    strategy = hardware.sharding.strategy
    if strategy in ("fsdp1", "zero3") and hardware.devices > 1:
        words = f"Gathered layers of {strategy} are counted as those of FSDP2."
        yield Advice("hardware.sharding.strategy", words)
    elif strategy in ("zero1", "zero2", "megatron") and hardware.devices > 1:
        yield Advice("hardware.sharding.strategy", "States are divided evenly; buckets are not modelled yet.")
    elif strategy == "fsdp2" and hardware.devices > 1 and training.method != "full":
        yield Advice("hardware.sharding.strategy", "Sharded adapters have not been held against traces yet.")
    elif strategy in ("none", "ddp") and hardware.devices > 1:
        words = "Each device holds everything, and communication buckets as large as the gradients."
        yield Advice("hardware.devices", words)


def advice(scenario: Scenario, setup: Setup, architecture: Architecture, device: Device) -> Iterator[Advice]:
    """What a person who knows would say before starting this run."""
    yield from _about_precision(scenario)
    yield from _about_adapters(scenario, setup, architecture)
    yield from _about_hardware(scenario, device)
    training = scenario.training
    if training.optimizer_in_backward and training.gradient_accumulation > 1:
        words = "Gradients that are applied as they come can not be accumulated."
        yield Advice("training.gradient_accumulation", words)
    if architecture.positions is not None and training.sequence_length > architecture.positions.usable_rows:
        words = f"The model has {architecture.positions.usable_rows} learned positions; longer sequences fail."
        yield Advice("training.sequence_length", words)
    if training.attention != "eager" and any(layer.attention.softcap for layer in architecture.kinds):
        yield Advice("training.attention", "This model caps its scores, which only eager attention does: eager runs.")


def _about_precision(scenario: Scenario) -> Iterator[Advice]:
    training, hardware = scenario.training, scenario.hardware
    casts = hardware.sharding.strategy in SHARDS_WEIGHTS and hardware.sharding.mixed_precision and hardware.devices > 1
    if training.method == "full" and training.weights_dtype == "fp32" and training.autocast == "none" and not casts:
        words = "Everything runs in fp32. bf16 autocast halves the inputs of products; bf16 weights halve the states."
        yield Advice("training.weights_dtype", words)
    if training.method == "full" and training.weights_dtype != "fp32" and not training.master_weights:
        words = (
            f"Weights and states are {training.weights_dtype} alone: small updates can be lost to rounding. "
            "fp32 weights under autocast, or master weights, avoid that for 12 or 16 bytes a parameter."
        )
        yield Advice("training.master_weights", words)
    if training.weights_dtype == "fp16" and training.method == "full":
        yield Advice("training.weights_dtype", "PyTorch's gradient scaler refuses fp16 weights; load fp32 or bf16.")
    if training.master_weights and training.weights_dtype == "fp32":
        yield Advice("training.master_weights", "Weights are fp32 already; there is no second copy to keep.")
    if training.autocast == training.weights_dtype and training.method != "qlora":
        yield Advice(
            "training.autocast", "Weights are in that dtype already; autocast adds fp32 copies at norms and loss."
        )


def _about_adapters(scenario: Scenario, setup: Setup, architecture: Architecture) -> Iterator[Advice]:
    lora = scenario.training.lora
    mixtures = [layer.mlp for layer in architecture.kinds if isinstance(layer.mlp, Experts)]
    if setup.adapted and not setup_targets_match(setup, architecture):
        names = ", ".join(sorted({linear.name for linear, _ in linears(architecture)}))
        yield Advice("training.lora.targets", f"No module has such a name. This model's are {names}.")
    if lora.dropout > 0 and any(setup.adapts_parameter(one, "experts.down_proj") for one in mixtures):
        yield Advice("training.lora.dropout", "PEFT takes no dropout on experts; it refuses this set-up.")
    if setup.packed and any(not setup.expert_modules(one) for one in mixtures):
        words = "4-bit packs linear modules only: with transformers 5 the experts, most of this model, stay in 16 bit."
        yield Advice("training.quantization.format", words)


def _about_hardware(scenario: Scenario, device: Device) -> Iterator[Advice]:
    training, hardware = scenario.training, scenario.hardware
    if device.vendor == "Apple" and RULES[training.optimizer].source.startswith("bitsandbytes"):
        words = "bitsandbytes' optimizers need a platform that it supports; Apple's GPUs are not among them."
        yield Advice("training.optimizer", words)
    if device.vendor == "Apple" and training.method == "qlora" and training.quantization.format != "mlx_int4":
        words = "bitsandbytes' 4-bit weights do not run on Apple's GPUs; MLX has 4-bit weights of its own."
        yield Advice("training.quantization.format", words)
    if hardware.devices % (hardware.tensor_parallel * hardware.pipeline_parallel * hardware.context_parallel):
        yield Advice("hardware.devices", "The parallel sizes do not divide the devices.")


def setup_targets_match(setup: Setup, architecture: Architecture) -> bool:
    """Whether an adapter is put anywhere."""
    if any(setup.adapts(linear) for linear, _ in linears(architecture)):
        return True
    mixtures = [layer.mlp for layer in architecture.kinds if isinstance(layer.mlp, Experts)]
    modules = (linear for one in mixtures for linear, _ in module_linears(one, setup))
    parameters = ((one, weight.name) for one in mixtures for weight in one.weights())
    return any(map(setup.adapts, modules)) or any(setup.adapts_parameter(*parameter) for parameter in parameters)
